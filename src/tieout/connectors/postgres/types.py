"""PostgreSQL's types as logical types, from the system catalog."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.model.types import LogicalType, TypeName

_BY_NAME = {
    "bool": TypeName.BOOLEAN,
    "int2": TypeName.INTEGER,
    "int4": TypeName.INTEGER,
    "int8": TypeName.INTEGER,
    "float4": TypeName.FLOAT32,
    "float8": TypeName.FLOAT64,
    "text": TypeName.TEXT,
    "varchar": TypeName.TEXT,
    "name": TypeName.TEXT,
    "citext": TypeName.TEXT,
    "bytea": TypeName.BINARY,
    "date": TypeName.DATE,
    "time": TypeName.TIME,
    "timetz": TypeName.TIMETZ,
    "timestamp": TypeName.TIMESTAMP,
    "timestamptz": TypeName.INSTANT,
    "interval": TypeName.INTERVAL,
    "json": TypeName.JSON,
    "jsonb": TypeName.JSON,
    "uuid": TypeName.UUID,
}

_BITS = {"int2": 16, "int4": 32, "int8": 64}

BY_CODE_POINT = {"C", "POSIX", "ucs_basic", "C.UTF-8", "C.utf8"}
"""Collations that sort text by its bytes. In UTF-8 that is the order of code points."""

_ORDERS = {
    "int2": "numeric",
    "int4": "numeric",
    "int8": "numeric",
    "numeric": "numeric",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "instant",
    "uuid": "bytes",
    "bytea": "bytes",
}


@dataclass(frozen=True, slots=True)
class RawType:
    """A row of pg_type, domains resolved. `modifier` is atttypmod; `labels` are the labels of an enum."""

    name: str
    native: str
    category: str
    modifier: int
    element: str | None = None
    labels: tuple[str, ...] = ()


def logical_type(raw: RawType) -> LogicalType:
    if raw.category == "e":
        return LogicalType(TypeName.ENUM, raw.native, values=raw.labels)
    if raw.element is not None and raw.name.startswith("_"):
        element = logical_type(RawType(raw.element, raw.element, "", -1))
        return LogicalType(TypeName.ARRAY, raw.native, element=element)
    if raw.name == "numeric":
        return _numeric(raw)
    if raw.name == "bpchar":
        return LogicalType(TypeName.CHAR, raw.native, precision=raw.modifier - 4 if raw.modifier > 0 else None)
    if raw.name in ("bit", "varbit"):
        # Bits of varying length are not numbers: 01 is not 1.
        return LogicalType(TypeName.BITS, raw.native, precision=raw.modifier if raw.name == "bit" else None)
    if raw.name in _BY_NAME:
        return LogicalType(_BY_NAME[raw.name], raw.native, _precision(raw))
    return LogicalType(TypeName.OPAQUE, raw.native, engine="postgres")


def order_of(raw: RawType, collation: str | None) -> str | None:
    """The name of the order in which PostgreSQL sorts a type; None if key ranges must not follow it."""
    if raw.name in _ORDERS:
        return _ORDERS[raw.name]
    if raw.name in ("text", "varchar") and collation:
        return "code points" if collation in BY_CODE_POINT else f"postgres:{collation}"
    return None


def _precision(raw: RawType) -> int | None:
    if raw.name in _BITS:
        return _BITS[raw.name]
    if raw.name == "varchar":
        return raw.modifier - 4 if raw.modifier > 0 else None
    if raw.name in ("time", "timetz", "timestamp", "timestamptz"):
        return raw.modifier if raw.modifier >= 0 else 6
    return 0 if raw.name == "date" else None


def _numeric(raw: RawType) -> LogicalType:
    if raw.modifier < 4:
        return LogicalType(TypeName.DECIMAL, raw.native)
    packed = raw.modifier - 4
    scale = packed & 0x7FF
    # Eleven bits, signed: PostgreSQL 15 allows a negative scale.
    return LogicalType(TypeName.DECIMAL, raw.native, packed >> 16 & 0xFFFF, scale - 0x800 if scale & 0x400 else scale)
