"""The only place that puts quotes around what stands in SQL for MySQL servers: names, texts, bytes, bits."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

_HARMLESS = re.compile(r"[A-Za-z0-9 _.,:;/@+=()\[\]{}<>?!#$&*|~-]*")
"""Text that reads the same in every character set and sql_mode, so that a file of statements can be read, too."""
_CHARSET = re.compile(r"[a-z0-9_]+")


def name(text: str) -> str:
    """Of anything that has a name: a database, a table, a column, an index, a constraint."""
    if "\0" in text:
        raise UnsupportedError(f"MySQL takes no NUL in a name: {text[:60]!r}")
    return "`" + text.replace("`", "``") + "`"


def table(full: TableName) -> str:
    return f"{name(full.schema)}.{name(full.name)}"


def names(texts: Iterable[str]) -> str:
    return ", ".join(map(name, texts))


def text(value: str) -> str:
    """A text of any content, in any sql_mode: with backslashes that are escapes, or not."""
    return f"'{value}'" if _HARMLESS.fullmatch(value) else hex_text(value)


def hex_text(value: str) -> str:
    """Hexadecimal: no quote or backslash can end it, whatever the sql_mode. A literal takes the column's collation."""
    return coded_text(value.encode().hex(), "utf8mb4")


def coded_text(digits: str, charset: str) -> str:
    """From the hexadecimal digits of its bytes."""
    if _CHARSET.fullmatch(charset) is None:
        raise UnsupportedError(f"no character set of MySQL has such a name: {charset[:60]!r}")
    return f"_{charset} {octets(bytes.fromhex(digits))}"


def backslashed(value: str) -> str:
    """A text for statements that take nothing but a plain one (labels, comments), where backslashes are escapes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''").replace("\0", "\\0") + "'"


def octets(value: bytes) -> str:
    return f"X'{value.hex()}'"


def bits(value: str) -> str:
    """Of zeros and ones."""
    if not value or value.strip("01"):
        raise ValueError(f"no bits: {value[:60]!r}")
    return f"b'{value}'"


def account(user: str) -> str:
    """A user as CURRENT_USER() tells it, for statements that people run."""
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
