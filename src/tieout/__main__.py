"""python -m tieout"""

from __future__ import annotations

import sys

from tieout.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
