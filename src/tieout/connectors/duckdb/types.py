"""Maps DuckDB's types to logical types, and names the order in which each sorts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tieout.model.types import LogicalType, TypeName

_INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
_UNSIGNED = {f"u{name}": bits for name, bits in _INTEGERS.items()}
# Beyond 64 bits an integer is a decimal without a fraction; 2^128 has 39 digits.
_DIGITS = {"hugeint": 39, "uhugeint": 39, "bignum": None}

_SIMPLE: dict[str, tuple[TypeName, int | None]] = {
    "boolean": (TypeName.BOOLEAN, None),
    "float": (TypeName.FLOAT32, None),
    "double": (TypeName.FLOAT64, None),
    "varchar": (TypeName.TEXT, None),
    "blob": (TypeName.BINARY, None),
    "bit": (TypeName.BITS, None),
    "uuid": (TypeName.UUID, None),
    "date": (TypeName.DATE, 0),
    "time": (TypeName.TIME, 6),
    "time_ns": (TypeName.TIME, 9),
    "time with time zone": (TypeName.TIMETZ, 6),
    "timestamp_s": (TypeName.TIMESTAMP, 0),
    "timestamp_ms": (TypeName.TIMESTAMP, 3),
    "timestamp": (TypeName.TIMESTAMP, 6),
    "timestamp_ns": (TypeName.TIMESTAMP, 9),
    "timestamp with time zone": (TypeName.INSTANT, 6),
    "timestamptz_ns": (TypeName.INSTANT, 9),
    "interval": (TypeName.INTERVAL, None),
}

_MOMENTS = {TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT}
_ORDERS = {
    TypeName.INTEGER: "numeric",
    TypeName.DECIMAL: "numeric",
    TypeName.DATE: "date",
    TypeName.TIMESTAMP: "timestamp",
    TypeName.INSTANT: "instant",
    TypeName.UUID: "bytes",
    TypeName.BINARY: "bytes",
    TypeName.TEXT: "code points",
}

_NESTED = {"list", "array", "struct", "map"}
_NAMES = {"varchar", "boolean", "decimal", *_INTEGERS, *_UNSIGNED}
"""Types of map keys that JSON writes as names of an object."""
_IN_JSON = {*_NAMES, "hugeint", "uhugeint", "uuid", "enum", "date", "timestamp_s", "timestamp_ms", "timestamp"}
"""Types whose JSON differs whenever the values differ, and equals the JSON of other engines."""
_OTHER_KEYS = "map by other keys"
_IN_TEXT = {*_IN_JSON, *_SIMPLE, _OTHER_KEYS} - {"blob", "bit"}
"""Types whose text inside a list differs whenever the values differ."""


def logical_type(native: Any) -> LogicalType:
    """`native` is a DuckDBPyType."""
    text, kind = str(native), native.id
    if text == "JSON":  # for DuckDB an alias of VARCHAR
        return LogicalType(TypeName.JSON, text)
    if kind in _INTEGERS or kind in _UNSIGNED:
        bits = {**_INTEGERS, **_UNSIGNED}[kind]
        return LogicalType(TypeName.INTEGER, text, bits, unsigned=kind in _UNSIGNED)
    if kind in _DIGITS:
        return LogicalType(TypeName.DECIMAL, text, _DIGITS[kind], None if _DIGITS[kind] is None else 0)
    if kind == "decimal":
        size = dict(native.children)
        return LogicalType(TypeName.DECIMAL, text, size["precision"], size["scale"])
    if kind == "enum":
        return LogicalType(TypeName.ENUM, text, values=tuple(dict(native.children)["values"]))
    if kind in _NESTED:
        return _nested(native)
    name, precision = _SIMPLE.get(kind, (TypeName.UNKNOWN, None))
    return LogicalType(name, text, precision)


def order_of(logical: LogicalType) -> str | None:
    """Returns the name of the order in which DuckDB sorts a type; None if key ranges can't use it."""
    # Finer than a microsecond, two values may have no canonical text between them.
    return None if (logical.precision or 0) > 6 and logical.name in _MOMENTS else _ORDERS.get(logical.name)


def is_nested(logical: LogicalType) -> bool:
    """Returns whether it is a list, a struct or a map, whose values are compared as JSON."""
    return logical.name is TypeName.JSON and logical.native != "JSON"


def _nested(native: Any) -> LogicalType:
    leaves = set(_leaves(native))
    if leaves <= _IN_JSON:
        return LogicalType(TypeName.JSON, str(native))
    name = TypeName.OPAQUE if leaves <= _IN_TEXT else TypeName.UNKNOWN
    return LogicalType(name, str(native), engine="duckdb")


def _leaves(native: Any) -> Iterator[str]:
    """Yields the types inside a nested type. A JSON null in a list has the same text as a NULL of the list."""
    if native.id not in _NESTED:
        yield "json" if str(native) == "JSON" else native.id
        return
    for name, part in native.children:
        if name == "size" and native.id == "array":
            continue
        if native.id == "map" and name == "key" and part.id not in _NAMES:
            yield _OTHER_KEYS
        yield from _leaves(part)
