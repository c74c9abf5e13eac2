"""Translates DuckDB's errors into ours, each in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.errors import AccessError, FullError, MissingObjectError, ReadError, UnreachableError, UnsupportedError
from tieout.model.server_words import told

_IN_USE = "DuckDB lets one process write to a file, or several read it: close the other one, or wait for it"
_NO_SUCH = "check the name, or whether it was dropped meanwhile"

_MEANINGS: tuple[tuple[str, ErrorMeaning], ...] = (
    ("Could not set lock", ErrorMeaning(UnreachableError, _IN_USE)),
    ("Unique file handle conflict", ErrorMeaning(UnreachableError, _IN_USE)),
    ("database does not exist", ErrorMeaning(MissingObjectError, "check the path in the URL")),
    ("not a valid DuckDB database", ErrorMeaning(ReadError, "the file is not a DuckDB database")),
    ("database file with version number", ErrorMeaning(ReadError, "another version of DuckDB wrote the file")),
    ("encrypted", ErrorMeaning(AccessError, "decrypt a copy of the file: Tieout has no parameter for its key")),
    ("Permission denied", ErrorMeaning(AccessError, "let this user read the file, and write to it for a repair")),
    ("No space left", ErrorMeaning(FullError, "make room on the disk")),
    ("Catalog Error", ErrorMeaning(MissingObjectError, _NO_SUCH)),
    ("Binder Error", ErrorMeaning(MissingObjectError, _NO_SUCH)),
    ("Duplicate key", ErrorMeaning(collides=True)),
)
_HOLDER = re.compile(r"Conflicting lock is held in .*?\(PID (\d+)\)")
_MORE = re.compile(r"(?:\n|\. See also |\. However, |\. If this is an unexpected ).*", re.DOTALL)


def is_in_use(error: Exception) -> bool:
    return _meaning(str(error)).error is UnreachableError


@contextmanager
def translated(url: EndpointUrl, *, repair: bool = False) -> Iterator[None]:
    """Turns driver errors inside into EndpointErrors; for a `repair`, into Refused where the statement is to blame.

    While rows are streamed, Arrow raises them instead of DuckDB. UnsupportedError if the driver is not installed.
    """
    try:
        import duckdb
    except ModuleNotFoundError:
        raise UnsupportedError("duckdb:// needs the driver of DuckDB", "pip install 'tieout[duckdb]'") from None
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        meaning, said = _meaning(str(error)), in_one_line(error)
        words = f"{url.redacted()}: {said}"
        if repair:
            raise meaning.for_repair(words, said, grant="let this user write to the file") from None
        raise meaning.for_reader(words) from None


def in_one_line(error: Exception) -> str:
    """Returns DuckDB's message without its advice and its excerpt of the statement."""
    text = str(error)
    if (holder := _HOLDER.search(text)) is not None:
        return f"another process (PID {holder[1]}) has the file open"
    return told(_MORE.sub("", text).partition(" Error: ")[2] or _MORE.sub("", text), type(error).__name__)


def _meaning(text: str) -> ErrorMeaning:
    return next((meaning for words, meaning in _MEANINGS if words in text), ErrorMeaning())
