"""`make bench-move`: copying beside dumps, following beside a bare merge, the consistency levels beside each other,
decoding beside mysql-replication, and lag.

ROWS sets the size of the copied table, CHANGES that of the prepared log, RUNS how often each is timed (the best
counts), CASES which cases run: names or patterns ("copy", "follow/mariadb*", "levels", "lag").
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    sys.path[0] = str(ROOT)  # for tests.servers; and no module here hides one of the standard library
    from benchmarks.moving.run import run

    return run(ROOT / "benchmarks" / "results" / "move.json")


if __name__ == "__main__":
    sys.exit(main())
