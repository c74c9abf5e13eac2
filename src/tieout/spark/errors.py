"""Spark's errors as ours: one line, without a stack trace."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from tieout.errors import MissingObjectError, ReadError, SparkFailure, TieoutError, UnsupportedError, UsageError
from tieout.model.server_words import are_hidden, told
from tieout.model.tables import TableName

JOB_FAILED = "a Spark job failed: "

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+)(?:\.[A-Z0-9_.]+)?\] *(.*)")
_OF_THE_QUERY = ("PARSE_SYNTAX_ERROR", "UNRESOLVED_COLUMN", "UNRESOLVED_ROUTINE", "TABLE_OR_VIEW_NOT_FOUND")
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH\].*?version: (\d+\.\d+)")
_NO_MODULE = re.compile(r"^\s*ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')
_SQLSTATE = re.compile(r"SQLSTATE: (\w{5})")
_OF_VALUES = ("0A", "21", "22", "39", "42", "54", "P0")
"""Classes of SQLSTATE that an expression gets for a value; lost processes and lack of memory have others, or none."""
_ADVICE = re.compile(r"\s*\bIf [^.]*spark\.sql\.ansi\.enabled[^.]*\.")
"""Spark's advice to turn ANSI mode off. Then wrong values would take the place of the error."""
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


class ExpressionFailure(SparkFailure):
    """A Spark job failed because it can't compute an expression for a value of some row."""

    def of_table(self, table: TableName) -> ExpressionFailure:
        """The same, about a table whose filter or columns it computes."""
        return ExpressionFailure(
            f"{table}: its filter or a computed column failed: {self.message.removeprefix(JOB_FAILED)}",
            "correct the row, or an expression that should allow for it",
        )


@contextmanager
def frame_errors(what: str) -> Iterator[None]:
    """Turns Spark's errors inside into a TieoutError about `what`, a table or a path."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise _translated(what, error) from None


def worker_error(text: str) -> SparkFailure | None:
    """What is wrong with a session's Python processes, if an error of Spark's says so.

    Nothing checks them in advance: that would take a job of its own, for every session.
    """
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    remedy = f"set PYSPARK_PYTHON to a Python {ours} that has tieout before the session starts"
    if other := _OTHER_PYTHON.search(text):
        return SparkFailure(f"Spark's Python processes run Python {other[1]}, and this one is Python {ours}", remedy)
    if missing := _NO_MODULE.search(text):
        package, _, part = missing[1].partition(".")
        if package == "tieout" and part:
            message = f"Spark's Python processes have another version of tieout, which has no {missing[1]}"
            return SparkFailure(message, f"install the same version for them, or {remedy}")
        message = f"Spark's Python processes can't import {package}"
        return SparkFailure(message, f"install {package} for the Python that they run, or {remedy}")
    if program := _NO_PROGRAM.search(text):
        return SparkFailure(f"Spark can't start its Python processes: can't run {program[1]}", remedy)
    return None


def job_failure(error: Exception) -> SparkFailure:
    """An error of a Spark job, in one line."""
    if fault := worker_error(str(error)):
        return fault
    # The last line of a Python traceback names the error; Java's frames ("at …withInternalError…") name nothing.
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.strip().startswith("at ")]
    line = next((line for line in reversed(lines) if "Error" in line), lines[0] if lines else type(error).__name__)
    if not _is_of_values(error):
        return SparkFailure(JOB_FAILED + said(error, line[:300]), log_hint())
    line = next((found[0] for each in lines if (found := _CONDITION.search(each))), line)
    return ExpressionFailure(JOB_FAILED + said(error, without_advice(line)[:300]), log_hint())


def _is_of_values(error: Exception) -> bool:
    if isinstance(error, PySparkException):
        state = error.getSqlState()
    else:
        # Some reach Python as Java's own error.
        found = _SQLSTATE.search(str(error))
        state = found[1] if found else None
    return state is not None and state.startswith(_OF_VALUES)


def without_advice(line: str) -> str:
    return _ADVICE.sub("", line)


def _translated(what: str, error: Exception) -> TieoutError:
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return SparkFailure(f"{what}: Spark's process ended", log_hint())
    text = str(error)
    if fault := worker_error(text):
        return fault
    conditions = dict(reversed(_CONDITION.findall(text)))
    for condition, (kind, message, hint) in _KNOWN.items():
        if condition in conditions:
            return kind(f"{what}: {message}", hint)
    if "FAILED_READ_FILE" in conditions:
        file = _FILE.search(conditions["FAILED_READ_FILE"])
        name = _shown(file[1]) if file else "a file"
        return ReadError(
            f"{what}: can't read {name}", "check that it is not damaged and has the format that the URL names"
        )
    line = said(error, _line(text, conditions))
    if "PARSE_SYNTAX_ERROR" in conditions or "UNRESOLVED_COLUMN" in conditions:
        return UsageError(f"{what}: {line}", "correct the condition or expression; it has to be Spark SQL")
    return ReadError(f"{what}: {line}", log_hint())


def complaint(error: Exception) -> str:
    """What Spark says about a query that it refuses, in one line. It has read no row by then."""
    text = str(error)
    return _line(text, dict(reversed(_CONDITION.findall(text))))


def said(error: Exception, line: str) -> str:
    """A line of Spark's message. While values are hidden, its error class, except for errors about columns and syntax:
    Spark finds those before it reads a row.
    """
    name = error.getCondition() if isinstance(error, PySparkException) else None
    if name is not None and name.partition(".")[0] in _OF_THE_QUERY:
        return line
    return told(line, name)


def log_hint() -> str:
    return "without redact_values, --verbose shows Spark's log" if are_hidden() else "--verbose shows Spark's log"


def _shown(file: str) -> str:
    """The file; while values are hidden, without its directories: a lake names them after values of rows."""
    return file.rpartition("/")[2] if are_hidden() else file


def _line(text: str, conditions: dict[str, str]) -> str:
    """Spark's complaint in one line."""
    if conditions:
        name, message = next(iter(conditions.items()))
        return without_advice(message).partition(" SQLSTATE")[0].strip()[:300] or name
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lost = next((line for line in lines if "most recent failure" in line), None)
    if lost is not None:
        return lost.rpartition("): ")[2][:300]
    # The last line of a Python traceback names the error.
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return (named[-1:] or lines[:1] or ["Spark failed"])[0][:300]
