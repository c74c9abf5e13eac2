"""The type of a result, as the server describes it: pymysql shows neither its character set nor its flags."""

from __future__ import annotations

from typing import Any

from tieout.model.types import LogicalType, TypeName

_INTEGERS = {1: ("tinyint", 8), 2: ("smallint", 16), 9: ("mediumint", 24), 3: ("int", 32), 8: ("bigint", 64)}
_SIMPLE = {
    4: LogicalType(TypeName.FLOAT32, "float"),
    5: LogicalType(TypeName.FLOAT64, "double"),
    13: LogicalType(TypeName.YEAR, "year"),
    245: LogicalType(TypeName.JSON, "json"),
}
_MOMENTS = {
    10: (TypeName.DATE, "date"),
    11: (TypeName.TIME, "time"),
    12: (TypeName.TIMESTAMP, "datetime"),
    7: (TypeName.INSTANT, "timestamp"),
}
_DECIMALS = {0, 246}
_TEXTS = {15: "varchar", 249: "tinytext", 250: "mediumtext", 251: "longtext", 252: "text", 253: "varchar", 254: "char"}
_NULL, _BIT = 6, 16
_UNSIGNED, _ENUM, _SET = 32, 256, 2048
_BINARY_CHARSET = 63


def computed_type(cursor: Any, declared: LogicalType) -> LogicalType:
    """The type of the only column of the cursor's result.

    `declared` is the type of the column that the result stands for: it counts where the server shows less than the
    catalog does (labels, MariaDB's JSON), and for a constant NULL.
    """
    field = cursor._result.fields[0]
    code, decimals, unsigned = field.type_code, field.scale, bool(field.flags & _UNSIGNED)
    suffix = " unsigned" if unsigned else ""
    if code == _NULL:
        return declared
    if field.flags & (_ENUM | _SET):
        return declared if declared.name in (TypeName.ENUM, TypeName.SET) else LogicalType(TypeName.TEXT, "varchar")
    if code in _INTEGERS:
        native, bits = _INTEGERS[code]
        return LogicalType(TypeName.INTEGER, native + suffix, bits, unsigned=unsigned)
    if code in _DECIMALS:
        digits = field.length - (decimals > 0) - (not unsigned)
        return LogicalType(TypeName.DECIMAL, f"decimal({digits},{decimals}){suffix}", digits, decimals, unsigned)
    if code in _SIMPLE:
        return _SIMPLE[code]
    if code in _MOMENTS:
        name, native = _MOMENTS[code]
        return LogicalType(name, f"{native}({decimals})" if decimals else native, decimals)
    if code == _BIT:
        return LogicalType(TypeName.BITS, f"bit({field.length})", field.length)
    if code in _TEXTS:
        return _text(code, field, declared)
    return LogicalType(TypeName.OPAQUE, f"type {code} of the protocol", engine="mysql")


def _text(code: int, field: Any, declared: LogicalType) -> LogicalType:
    if declared.name is TypeName.JSON:
        return declared  # a MariaDB server sends JSON as text; what is no JSON differs from every JSON
    if field.charsetnr == _BINARY_CHARSET:
        return LogicalType(TypeName.BINARY, "varbinary")
    return LogicalType(TypeName.CHAR if _TEXTS[code] == "char" else TypeName.TEXT, _TEXTS[code])
