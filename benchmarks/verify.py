"""`make bench-verify`: verification beside reladiff, `tieout.compare` beside `exceptAll`, and peak memory.

ROWS sets the size, RUNS how often each is timed (the best counts), MEMORY_ROWS the two sizes whose memory
is compared ("1000000,4000000"), CASES which cases run: names or patterns ("mariadb", "*/equal", "memory").
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    sys.path[0] = str(ROOT)  # for tests.servers; and no module here hides one of the standard library
    from benchmarks.run import run
    from benchmarks.settings import settings_from

    return run(settings_from(), ROOT / "benchmarks" / "results" / "verify.json")


if __name__ == "__main__":
    sys.exit(main())
