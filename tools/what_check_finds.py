"""Writes docs/reference/what-check-finds.md: corrupts databases on servers of its own, and checks them.

.venv/bin/python tools/what_check_finds.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> int:
    from tests.corruption.shown import DOCUMENT, document
    from tieout.spark.session import start_session

    spark = start_session(master="local[2]", conf={"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"})
    with tempfile.TemporaryDirectory() as directory:
        DOCUMENT.write_text(document(spark, Path(directory)), encoding="utf-8")
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
