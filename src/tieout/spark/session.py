"""The Spark session that Tieout starts when it is not handed one."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import IO, Any

from pyspark.errors import PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from tieout.errors import SparkFailure, UsageError
from tieout.model.defaults import SPARK_MASTER
from tieout.spark.faults import spark_faults
from tieout.spark.launch import launch
from tieout.spark.python import WORKER_PYTHON, worker_python

_WORKER_ENVIRONMENT = {
    # Each Spark task is one thread of work already.
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # A driver that panics is caught; the page it prints helps nobody.
    "RUST_BACKTRACE": "0",
}

_LOGS: list[IO[bytes]] = []

_ANSI = "spark.sql.ansi.enabled"
_ONE_PROCESS = re.compile(r"local(\[.*\])?")
_HIDDEN = "spark.redaction.regex"
_SECRETS = "(?i)secret|passw(or)?d|passphrase|token|credential|(access|account|encryption|private|api)[._-]?key"

_SETTINGS = {
    "spark.app.name": "tieout",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}


def start_session(
    master: str = SPARK_MASTER, conf: Mapping[str, str] | None = None, *, verbose: bool = False
) -> SparkSession:
    """A session with Tieout's settings; `conf` goes before them. SparkFailure if Java or Spark won't start."""
    for name, value in _WORKER_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    builder = SparkSession.builder.master(master)
    settings = {**_SETTINGS, **(_local_settings(master) if master.startswith("local") else {}), **(conf or {})}
    settings |= _redaction(settings)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _python_for(master), nullcontext() if verbose else _quiet():
            launch({**settings, "spark.master": master})
            session = builder.getOrCreate()
        session.sparkContext.setLogLevel("WARN" if verbose else "OFF")
        if not verbose:
            _silence_query_errors()
        return session
    except (PySparkRuntimeError, OSError) as error:
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SparkFailure(
            f"Spark did not start: {line}", "is a Java runtime of version 17 or later installed?"
        ) from None


def usable(session: Any) -> SparkSession:
    """The session, if our work can run in it; else an error that says what to do. Asks its settings, and runs no job.

    What its Python processes lack shows when the first job of ours fails: see `faults.worker_fault`.
    """
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise SparkFailure(
            "a session of Spark Connect can't run Tieout's work",
            "give a session of the driver itself: SparkSession.builder.master(…), not remote(…)",
        )
    if not isinstance(session, SparkSession):
        raise UsageError(f"{type(session).__name__} is no Spark session", "give a pyspark.sql.SparkSession")
    if session.sparkContext._jsc is None:
        raise SparkFailure("the Spark session was stopped", "start a new one, and give that")
    with spark_faults("the Spark session"):
        ansi = session.conf.get(_ANSI)
    if ansi != "true":
        raise SparkFailure(
            "the Spark session has ANSI mode off: what it can't compute becomes NULL or a wrong value, and no error",
            f"set {_ANSI} to true",
        )
    return session


@contextmanager
def _python_for(master: str) -> Iterator[None]:
    """Spark looks for it when it starts. Processes that are started later find the Python that they always did."""
    python = worker_python() if master.startswith("local") else sys.executable
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    ours = [name for name in names if os.environ.get(name, sys.executable) == sys.executable]
    os.environ.update(dict.fromkeys(ours, python))
    os.environ[WORKER_PYTHON] = sys.executable
    try:
        yield
    finally:
        os.environ.update(dict.fromkeys(ours, sys.executable))


def _local_settings(master: str) -> dict[str, str]:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return {
        # Java has it from us when we started it. When it ran before, the session has to tell its Python processes.
        f"spark.executorEnv.{WORKER_PYTHON}": sys.executable,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        # Other users of this machine reach Spark's ports. They would get rows there, and have code run.
        # A session with processes of its own (local-cluster) needs a secret for it that is the user's to give.
        **({"spark.authenticate": "true"} if _ONE_PROCESS.fullmatch(master) else {}),
    }


def _redaction(settings: Mapping[str, str]) -> dict[str, str]:
    """What Spark hides from its pages and event logs: whatever a user adds, passwords of ours are among it."""
    given = settings.get(_HIDDEN)
    return {_HIDDEN: f"{given}|{_SECRETS}" if given else _SECRETS}


def _silence_query_errors() -> None:
    """pyspark prints every error of a query with its stack to standard error, before it raises it."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """The JVM and its Python workers inherit standard error for life: give them a file instead of the terminal.

    Errors reach the user through Tieout, in one line; Spark's own words would only hide them.
    """
    log = tempfile.NamedTemporaryFile(prefix="tieout-spark-", suffix=".log")  # noqa: SIM115 - removed when the process ends
    _LOGS.append(log)
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
