"""Movers that start at once: each is forked from a process that has imported all that a mover needs, and done nothing.

They share a Spark that outlives them. A line of standard input asks for a mover; two lines of standard output say its
process, and how that ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tieout.model.requests import TableRequest

_NEEDED = (
    "pandas",
    "psycopg",
    "pyarrow",
    "pymysql",
    "pyspark.sql.streaming.query",
    "sqlalchemy.dialects.sqlite",
    "tieout.api",
    "tieout.connectors.mysql.move.target",
    "tieout.connectors.mysql.move.source",
    "tieout.connectors.postgres.move.target",
    "tieout.connectors.postgres.move.source",
    "tieout.connectors.sqlite.move.target",
    "tieout.connectors.sqlite.move.source",
    "tieout.move.job",
    "tieout.spark.session",
)


def main() -> None:
    _die_with_parent()
    for name in _NEEDED:
        import_module(name)
    _answer({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        process = os.fork()
        if process == 0:
            os._exit(_mover(asked))
        _answer({"process": process})
        # Reaped at once: one that is dead and still there would be taken for alive by the next mover.
        _, status = os.waitpid(process, 0)
        _answer({"code": os.waitstatus_to_exitcode(status)})


def _mover(asked: dict[str, Any]) -> int:
    """A mover, in a process group of its own."""
    os.setsid()
    _die_with_parent()
    words = os.open(asked["words"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(words, stream)
    os.environ.update(asked["environment"])
    try:
        if asked["failpoint"]:
            _choose(*asked["failpoint"])
        status = _move(asked)
        with open(asked["result"], "w") as result:
            json.dump(status, result)
        return 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        return 1


def _choose(place: str, times: int) -> None:
    chosen = os.environ["TIEOUT_FAILPOINT"]
    with open(f"{chosen}.new", "w") as file:
        file.write(f"{place} {times} {os.getpid()}")
    os.rename(f"{chosen}.new", chosen)


def _move(asked: dict[str, Any]) -> dict[str, Any]:
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from tieout import api
    from tieout.model.documents import move_status_document
    from tieout.model.requests import MoveOptions, MoveRequest

    gateway = launch_gateway()
    jvm = gateway.jvm
    jsc = jvm.org.apache.spark.api.java.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    spark = SparkSession(SparkContext(gateway=gateway, jsc=jsc, conf=None))
    for query in spark.streams.active:
        query.stop()
    request = MoveRequest(
        asked["task"],
        asked["source"],
        asked["target"],
        tuple(map(table_request, asked["tables"])),
        asked["delivery"],
        asked["consistency"],
        MoveOptions(**asked["options"]),
        target_level=asked.get("target_level"),
    )
    status = api.run_move(request, spark=spark, meta=asked["meta"], until_caught_up=asked["until_caught_up"])
    return move_status_document(status)


def table_request(asked: str | dict[str, Any]) -> TableRequest:
    """A table by its name alone, or with all that the task makes of it."""
    from tieout.model.requests import TableRequest

    if isinstance(asked, str):
        return TableRequest(asked)
    expressions = {name: (source, target) for name, (source, target) in asked["expressions"].items()}
    return TableRequest(**{**asked, "expressions": expressions})


def _answer(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    main()
