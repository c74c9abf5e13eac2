"""Spark's errors as ours: one line, without a stack trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from tieout.errors import MissingObjectError, ReadError, SparkFailure, TieoutError, UnsupportedError, UsageError

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+)(?:\.[A-Z0-9_.]+)?\] *(.*)")
_FILE = re.compile(r"reading file (\S+?)\.?(?:\s|$)")

_KNOWN: dict[str, tuple[type[TieoutError], str, str]] = {
    "PATH_NOT_FOUND": (MissingObjectError, "there is no such path", "check the path in the URL"),
    "TABLE_OR_VIEW_NOT_FOUND": (MissingObjectError, "there is no such table in the Spark session", "check its name"),
    "SCHEMA_NOT_FOUND": (MissingObjectError, "there is no such schema in the Spark session", "check the URL"),
    "UNABLE_TO_INFER_SCHEMA": (ReadError, "there is no data file in it", "check the path, and the format in the URL"),
    "DATA_SOURCE_NOT_FOUND": (
        UnsupportedError,
        "this Spark session can't read the format",
        "start it with the package that can, such as spark.jars.packages=io.delta:delta-spark_2.13:4.0.0",
    ),
}


@contextmanager
def spark_faults(what: str) -> Iterator[None]:
    """Failures of Spark inside become a TieoutError about `what`, a table or a path."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise _translated(what, error) from None


def _translated(what: str, error: Exception) -> TieoutError:
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return SparkFailure(f"{what}: Spark's process ended", "--verbose shows its log")
    text = str(error)
    conditions = dict(reversed(_CONDITION.findall(text)))
    for condition, (kind, message, hint) in _KNOWN.items():
        if condition in conditions:
            return kind(f"{what}: {message}", hint)
    if "FAILED_READ_FILE" in conditions:
        file = _FILE.search(conditions["FAILED_READ_FILE"])
        name = file[1] if file else "a file"
        return ReadError(f"{what}: {name} can't be read", "is it damaged, or of another format than the URL says?")
    line = _line(text, conditions)
    if "PARSE_SYNTAX_ERROR" in conditions or "UNRESOLVED_COLUMN" in conditions:
        return UsageError(f"{what}: {line}", "check the condition or expression; Spark SQL reads it")
    return ReadError(f"{what}: {line}", "--verbose shows Spark's log")


def _line(text: str, conditions: dict[str, str]) -> str:
    """What Spark complains of, in one line."""
    if conditions:
        name, message = next(iter(conditions.items()))
        return message.partition(" SQLSTATE")[0].strip()[:300] or name
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lost = next((line for line in lines if "most recent failure" in line), None)
    if lost is not None:
        return lost.rpartition("): ")[2][:300]
    # The last line of a Python traceback names the error.
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return (named[-1:] or lines[:1] or ["Spark failed"])[0][:300]
