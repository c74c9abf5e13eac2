"""Starts Spark's Java process. Its settings travel in a private file.

pyspark puts every setting on the command line of the processes that it starts, and every user of the machine can
list those. Settings may hold passwords, under names that nobody can foresee: so none goes there.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway

from tieout.errors import ConfigError

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_FILE_OPTION = "--properties-file"


def launch(settings: Mapping[str, str]) -> None:
    """Starts Java with these settings, unless this process has it already: then the session alone is told of them."""
    if SparkContext._gateway is not None:
        return
    with tempfile.TemporaryDirectory(prefix="tieout-settings-") as directory, _arguments(Path(directory), settings):
        # What Spark spills and shuffles are rows, in directories that it would let everyone read.
        gateway = launch_gateway(popen_kwargs={"umask": 0o077})  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def _arguments(directory: Path, settings: Mapping[str, str]) -> Iterator[None]:
    """spark-submit's arguments, for the block: the user's own, and the file."""
    before = os.environ.get(_ARGUMENTS)
    given = shlex.split(before or "pyspark-shell")
    file, theirs = _without_file(given)
    text = _read(file) + properties({**settings, **_java_options(directory, settings)})
    ours = [_FILE_OPTION, _private(directory / "spark.conf", text)]
    # A file of settings takes the place of Spark's own (conf/spark-defaults.conf), unless it is to come beside it.
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
    """Java's options have to be on its command line, or in a file that is named there."""
    try:
        options = shlex.split(settings.get(_JAVA_OPTIONS, ""))
    except ValueError as error:
        raise ConfigError(f"{_JAVA_OPTIONS} can't be read: {error}", "close the quotation in it") from None
    if not options:
        return {}
    quoted = ('"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for option in options)
    file = _private(directory / "java.options", "".join(quoted))
    return {_JAVA_OPTIONS: f"@{file}"}


def _without_file(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The file of settings that the user names, and the arguments without it: spark-submit takes one alone."""
    file, rest = None, list(arguments)
    while _FILE_OPTION in rest[:-1]:
        at = rest.index(_FILE_OPTION)
        file = rest[at + 1]
        del rest[at : at + 2]
    return file, rest


def _read(file: str | None) -> str:
    return "" if file is None else Path(file).read_text(encoding="utf-8") + "\n"


def _private(path: Path, text: str) -> str:
    """A new file for this user's eyes."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return str(path)


def properties(settings: Mapping[str, str]) -> str:
    """As java.util.Properties reads them; where a name stands twice, the last one counts."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(unit) if re.match(r"[A-Za-z0-9_.\-/]", chr(unit)) else f"\\u{unit:04x}" for unit in pairs)
