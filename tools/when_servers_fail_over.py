"""Writes the table of docs/how-to/when-servers-fail-over.md from the tests that show it.

.venv/bin/python tools/when_servers_fail_over.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> int:
    from tests.integration.failover.shown import DOCUMENT, document

    DOCUMENT.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
