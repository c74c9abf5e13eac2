"""SQLite's declared types as logical types. A declaration binds little: values may be of any class."""

from __future__ import annotations

import re

from tieout.model.types import LogicalType, TypeName

_BY_WORD = [
    (r"BOOL", TypeName.BOOLEAN),
    (r"TIMESTAMPTZ|TIMESTAMP WITH TIME ZONE", TypeName.INSTANT),
    (r"DATETIME|TIMESTAMP", TypeName.TIMESTAMP),
    (r"DATE", TypeName.DATE),
    (r"INTERVAL", TypeName.OPAQUE),
    (r"INT", TypeName.INTEGER),
    (r"YEAR", TypeName.INTEGER),
    (r"TIME", TypeName.TIME),
    (r"JSON", TypeName.JSON),
    (r"UUID", TypeName.UUID),
    (r"CHAR|CLOB|TEXT|STRING|ENUM", TypeName.TEXT),
    (r"BLOB|BINARY|BYTEA", TypeName.BINARY),
    (r"DEC|NUMERIC", TypeName.DECIMAL),
    (r"REAL|FLOA|DOUB", TypeName.FLOAT64),
]


def logical_type(declared: str) -> LogicalType:
    upper = declared.upper()
    for words, name in _BY_WORD:
        if re.search(words, upper):
            if name is TypeName.DECIMAL:
                return _decimal(declared)
            return LogicalType(name, declared or "any")
    # No type, or one unknown to us: what SQLite itself would keep as it comes.
    return LogicalType(TypeName.BINARY if not declared else TypeName.OPAQUE, declared or "any")


def _decimal(declared: str) -> LogicalType:
    size = re.search(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", declared)
    if size is None:
        return LogicalType(TypeName.DECIMAL, declared)
    return LogicalType(TypeName.DECIMAL, declared, int(size[1]), int(size[2] or 0))
