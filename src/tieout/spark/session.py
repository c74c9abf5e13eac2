"""The Spark session that Tieout starts when the caller gives it none.

pyspark puts every setting on the command line of the processes that it starts, and every user of the machine can list
those. Settings may hold passwords, under names that nobody can foresee. So `launch` passes them in a private file.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import pyspark
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from tieout.errors import ConfigError, SparkFailure, UsageError
from tieout.model.defaults import SPARK_MASTER
from tieout.spark.errors import frame_errors

_WORKER_ENVIRONMENT = {
    # Each Spark task is one thread of work already.
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # A driver that panics is caught; the page it prints helps nobody.
    "RUST_BACKTRACE": "0",
}

_LOGS: list[IO[bytes]] = []

_ANSI = "spark.sql.ansi.enabled"
_TIME_ZONE = "spark.sql.session.timeZone"
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00"})
_ONE_PROCESS = re.compile(r"local(\[.*\])?")
_HIDDEN = "spark.redaction.regex"
_SECRETS = "(?i)secret|passw(or)?d|passphrase|token|credential|(access|account|encryption|private|api)[._-]?key"

_SETTINGS = {
    "spark.app.name": "tieout",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    _TIME_ZONE: "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}


def start_session(
    master: str = SPARK_MASTER, conf: Mapping[str, str] | None = None, *, verbose: bool = False
) -> SparkSession:
    """A session with Tieout's settings; `conf` overrides them. SparkFailure if Java or Spark won't start."""
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
            f"Spark did not start: {line}", "check that a Java runtime of version 17 or later is installed"
        ) from None


def usable(session: Any) -> SparkSession:
    """Returns the session if our work can run in it; else raises an error that says what to do. Runs no job.

    What its Python processes lack shows when our first job fails: see `errors.worker_error`.
    """
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise SparkFailure(
            "Tieout's work can't run in a session of Spark Connect",
            "pass a session of the driver itself: SparkSession.builder.master(…), not remote(…)",
        )
    if not isinstance(session, SparkSession):
        raise UsageError(f"{type(session).__name__} is not a Spark session", "pass a pyspark.sql.SparkSession")
    if session.sparkContext._jsc is None:
        raise SparkFailure("the Spark session was stopped", "start a new one and pass that")
    with frame_errors("the Spark session"):
        ansi = session.conf.get(_ANSI)
    if ansi != "true":
        raise SparkFailure(
            "the Spark session has ANSI mode off: it returns NULL or a wrong value where it should raise an error",
            f"set {_ANSI} to true",
        )
    return session


def refuse_other_time_zone(session: SparkSession) -> None:
    """SparkFailure if the expressions of a task would mean something else in this session: the day of a moment, or an
    hour without a time zone, is that of the session.
    """
    with frame_errors("the Spark session"):
        zone = session.conf.get(_TIME_ZONE)
    if zone not in _UTC:
        raise SparkFailure(
            f"the Spark session's time zone is {zone}, and the expressions of a task are evaluated in UTC",
            f'spark.conf.set("{_TIME_ZONE}", "UTC")',
        )


@contextmanager
def _python_for(master: str) -> Iterator[None]:
    """Sets the Python that Spark looks up when it starts. Processes started later find the usual Python."""
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
        # Java has it from us if we started it. If it ran before, the session passes it to its Python processes.
        f"spark.executorEnv.{WORKER_PYTHON}": sys.executable,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        # Other users of this machine can reach Spark's ports. They could read rows there, and run code.
        # A session with processes of its own (local-cluster) needs a secret for this, which the user sets.
        **({"spark.authenticate": "true"} if _ONE_PROCESS.fullmatch(master) else {}),
    }


def _redaction(settings: Mapping[str, str]) -> dict[str, str]:
    """What Spark hides from its pages and event logs: our passwords, whatever the user adds."""
    given = settings.get(_HIDDEN)
    return {_HIDDEN: f"{given}|{_SECRETS}" if given else _SECRETS}


def _silence_query_errors() -> None:
    """Stops pyspark from printing every error of a query with its stack trace before it raises it."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """The JVM and its Python workers inherit standard error for life: give them a file instead of the terminal.

    Errors reach the user through Tieout, in one line; Spark's own output would only hide them.
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


_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_FILE_OPTION = "--properties-file"


def launch(settings: Mapping[str, str]) -> None:
    """Starts Java with these settings. If this process has Java already, only the session gets them."""
    if SparkContext._gateway is not None:
        return
    with tempfile.TemporaryDirectory(prefix="tieout-settings-") as directory, _arguments(Path(directory), settings):
        # Spark spills and shuffles rows into directories that it would let everyone read.
        gateway = launch_gateway(popen_kwargs={"umask": 0o077})  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def _arguments(directory: Path, settings: Mapping[str, str]) -> Iterator[None]:
    """Sets spark-submit's arguments for the block: the user's own, and the file."""
    before = os.environ.get(_ARGUMENTS)
    given = shlex.split(before or "pyspark-shell")
    file, theirs = _without_file(given)
    text = _read(file) + properties({**settings, **_java_options(directory, settings)})
    ours = [_FILE_OPTION, _private(directory / "spark.conf", text)]
    # Without this option, a file of settings replaces Spark's own (conf/spark-defaults.conf).
    ours += ["--load-spark-defaults"] if file is None else []
    os.environ[_ARGUMENTS] = shlex.join([*ours, *theirs])
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ARGUMENTS]
        else:
            os.environ[_ARGUMENTS] = before


def _java_options(directory: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Writes Java's options to a file: they have to be on its command line, or in a file named there."""
    try:
        options = shlex.split(settings.get(_JAVA_OPTIONS, ""))
    except ValueError as error:
        raise ConfigError(f"can't parse {_JAVA_OPTIONS}: {error}", "close the quotation in it") from None
    if not options:
        return {}
    quoted = ('"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for option in options)
    file = _private(directory / "java.options", "".join(quoted))
    return {_JAVA_OPTIONS: f"@{file}"}


def _without_file(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The user's file of settings, and the arguments without it: spark-submit takes only one."""
    file, rest = None, list(arguments)
    while _FILE_OPTION in rest[:-1]:
        at = rest.index(_FILE_OPTION)
        file = rest[at + 1]
        del rest[at : at + 2]
    return file, rest


def _read(file: str | None) -> str:
    return "" if file is None else Path(file).read_text(encoding="utf-8") + "\n"


def _private(path: Path, text: str) -> str:
    """Creates a file that only this user can read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return str(path)


def properties(settings: Mapping[str, str]) -> str:
    """Settings in the format of java.util.Properties; if a name occurs twice, the last one counts."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(unit) if re.match(r"[A-Za-z0-9_.\-/]", chr(unit)) else f"\\u{unit:04x}" for unit in pairs)


WORKER_PYTHON = "TIEOUT_WORKER_PYTHON"
"""The variable in which the launcher finds the Python to start."""

_LAUNCHER = Path(__file__).with_name("worker-python.sh")


def worker_python() -> str:
    """What a local session starts as Python: `worker-python.sh`, which starts Python without pyspark's zips.

    Spark puts a zip of pyspark's sources before all else that Python might import, and Python compiles what it imports
    from a zip again in each process: a second of work for each of the five processes of a session, and for each stream.
    The installed pyspark is the same, and compiled. It is used only if Spark is the one that it came with.
    """
    home = Path(pyspark.__file__).parent
    spark_home = os.environ.get("SPARK_HOME")
    if not home.is_dir() or (spark_home and Path(spark_home).resolve() != home.resolve()):
        return sys.executable
    # The launcher may be packed in a zip, or have lost its permission to run.
    return str(_LAUNCHER) if os.access(_LAUNCHER, os.X_OK) else sys.executable
