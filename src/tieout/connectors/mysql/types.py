"""MySQL's types as logical types, from information_schema."""

from __future__ import annotations

import re

from tieout.model.types import LogicalType, TypeName

_INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_SIMPLE = {
    "float": TypeName.FLOAT32,
    "double": TypeName.FLOAT64,
    "varchar": TypeName.TEXT,
    "tinytext": TypeName.TEXT,
    "text": TypeName.TEXT,
    "mediumtext": TypeName.TEXT,
    "longtext": TypeName.TEXT,
    "char": TypeName.CHAR,
    "binary": TypeName.BINARY,
    "varbinary": TypeName.BINARY,
    "tinyblob": TypeName.BINARY,
    "blob": TypeName.BINARY,
    "mediumblob": TypeName.BINARY,
    "longblob": TypeName.BINARY,
    "date": TypeName.DATE,
    "time": TypeName.TIME,
    "datetime": TypeName.TIMESTAMP,
    "timestamp": TypeName.INSTANT,
    "year": TypeName.YEAR,
    "json": TypeName.JSON,
    "uuid": TypeName.UUID,
    # MariaDB sends addresses as text, and equal addresses as equal text.
    "inet4": TypeName.TEXT,
    "inet6": TypeName.TEXT,
}

_ORDERS = {TypeName.DATE: "date", TypeName.TIMESTAMP: "timestamp", TypeName.BINARY: "bytes"}


def logical_type(
    base: str, full: str, precision: int | None, scale: int | None, length: int | None, *, is_json: bool
) -> LogicalType:
    """`base` and `full` are DATA_TYPE and COLUMN_TYPE; `is_json` marks MariaDB's text with a JSON check."""
    unsigned = "unsigned" in full
    if is_json:
        return LogicalType(TypeName.JSON, "json")
    if base in _INTEGERS:
        return LogicalType(TypeName.INTEGER, full, _INTEGERS[base], unsigned=unsigned)
    if base == "decimal":
        return LogicalType(TypeName.DECIMAL, full, precision, scale, unsigned)
    if base == "bit":
        return LogicalType(TypeName.BITS, full, precision)
    if base in ("float", "double") and scale is not None:
        # FLOAT(7,2): the server rounds what it stores.
        return LogicalType(_SIMPLE[base], full, precision, scale)
    if base in ("enum", "set"):
        return LogicalType(TypeName(base), full, values=_labels(full))
    if base in _SIMPLE:
        return LogicalType(_SIMPLE[base], full, length)
    return LogicalType(TypeName.OPAQUE, full, engine="mysql")


def order_of(t: LogicalType, server: str, collation: str | None) -> str | None:
    """The name of the order in which the server sorts a type; None where key ranges must not depend on it.

    `server` is its kind and release: a collation of the same name may sort differently in another release.
    TIMESTAMP has none: the server reads a literal in the session's time zone, where an hour occurs twice a year.
    """
    if t.name in (TypeName.INTEGER, TypeName.DECIMAL):
        return "numeric"
    if t.name in (TypeName.TEXT, TypeName.CHAR) and collation:
        return f"{server}:{collation}"
    if t.name is TypeName.UUID:
        return f"{server}:uuid"
    return _ORDERS.get(t.name)


def _labels(full: str) -> tuple[str, ...]:
    """The labels of an ENUM or SET. The catalog doubles quotes, and escapes backslashes and line ends."""
    return tuple(_ESCAPED.sub(_meant, label) for label in re.findall(r"'((?:[^'\\]|''|\\.)*)'", full, re.DOTALL))


_ESCAPED = re.compile(r"''|\\(.)", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "0": "\0"}


def _meant(found: re.Match[str]) -> str:
    return "'" if found[1] is None else _LETTERS.get(found[1], found[1])
