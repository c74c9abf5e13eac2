"""`make bench-check`: index checks beside fetching the same columns by the same paths, and beside pg_amcheck.

ROWS sets the size, RUNS how often each is timed (the best counts), CASES which cases run: names or patterns
("postgres", "mariadb/6 indexes").
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    sys.path[0] = str(ROOT)  # for tests.servers; and no module here hides one of the standard library
    from benchmarks.checking.run import run

    return run(ROOT / "benchmarks" / "results" / "check.json")


if __name__ == "__main__":
    sys.exit(main())
