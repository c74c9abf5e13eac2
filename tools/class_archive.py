"""Makes an archive of the classes that Spark loads to start and to run a first job: `tools/class_archive.py FILE`.

Java then maps it, instead of reading, checking and linking ten thousand classes one by one: half the time of a start.
The tests start Spark some dozens of times.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(archive: Path) -> int:
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"
    os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1"

    import tieout
    from tieout.spark.session import start_session

    spark = start_session(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    rows = spark.createDataFrame([(1, "a", 1.5), (2, "b", 2.5)], "id int, s string, x double")
    tieout.compare(rows, rows.replace("b", "c"), key="id")
    java = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    spark.stop()
    java.stdin.close()  # which is how it is told to end; it writes the archive then
    return int(java.wait(timeout=300))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
