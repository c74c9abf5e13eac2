"""The only file that puts quotes into SQL for MySQL servers: around names, texts, bytes, bits."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

_HARMLESS = re.compile(r"[A-Za-z0-9 _.,:;/@+=()\[\]{}<>?!#$&*|~-]*")
"""Text that is the same in every character set and sql_mode, so that people can read a file of statements."""
_CHARSET = re.compile(r"[a-z0-9_]+")


def name(text: str) -> str:
    """The name of anything: a database, a table, a column, an index, a constraint."""
    if "\0" in text:
        raise UnsupportedError(f"MySQL does not allow NUL in a name: {text[:60]!r}")
    return "`" + text.replace("`", "``") + "`"


def table(full: TableName) -> str:
    return f"{name(full.schema)}.{name(full.name)}"


def names(texts: Iterable[str]) -> str:
    return ", ".join(map(name, texts))


def text(value: str) -> str:
    """A text of any content, in any sql_mode: with backslashes that are escapes, or not."""
    return f"'{value}'" if _HARMLESS.fullmatch(value) else hex_text(value)


def hex_text(value: str) -> str:
    """A text in hexadecimal: no quote or backslash can end it, in any sql_mode. It takes the column's collation."""
    return coded_text(value.encode().hex(), "utf8mb4")


def coded_text(digits: str, charset: str) -> str:
    """A text, from the hexadecimal digits of its bytes."""
    if _CHARSET.fullmatch(charset) is None:
        raise UnsupportedError(f"MySQL has no such character set: {charset[:60]!r}")
    return f"_{charset} {octets(bytes.fromhex(digits))}"


def backslashed(value: str) -> str:
    """A text for statements that accept only a plain literal (labels, comments), where backslashes are escapes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''").replace("\0", "\\0") + "'"


def octets(value: bytes) -> str:
    return f"X'{value.hex()}'"


def bits(value: str) -> str:
    """Bits, from their zeros and ones."""
    if not value or value.strip("01"):
        raise ValueError(f"not bits: {value[:60]!r}")
    return f"b'{value}'"


def account(user: str) -> str:
    """A user from CURRENT_USER(), for statements that people run."""
    who, _, host = user.rpartition("@")
    return f"{backslashed(who)}@{backslashed(host)}"


def raw_text(value: bytes) -> bytes:
    """A text as its bytes in UTF-8, for a session with NO_BACKSLASH_ESCAPES: only a quote is special."""
    return b"'" + value.replace(b"'", b"''") + b"'"


def raw_octets(digits: bytes) -> bytes:
    """Bytes, from their hexadecimal digits."""
    return b"X'" + digits + b"'"


def raw_bits(digits: bytes) -> bytes:
    return b"b'" + digits + b"'"
