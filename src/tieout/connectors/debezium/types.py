"""What the schema of a field in an event means, and how its values become exact ones.

A schema has a type of Kafka Connect and perhaps a name, which says what the value means: an int32 called
io.debezium.time.Date counts days. Numbers never pass through a float.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isinf, isnan
from struct import pack, unpack
from typing import Any
from uuid import UUID

from tieout.connectors.debezium import calendar
from tieout.model.types import LogicalType, TypeName

Decode = Callable[[Any], Any]
"""Turns a value that is not null into an int, a str or bytes. ValueError, TypeError or KeyError for a wrong one."""

UNBOUNDED_BITS = 2**31 - 1
"""The length that events tell for a BIT VARYING without one."""

_TIME, _DATA, _CONNECT = "io.debezium.time.", "io.debezium.data.", "org.apache.kafka.connect.data."

TEMPORAL = frozenset({TypeName.DATE, TypeName.TIME, TypeName.TIMETZ, TypeName.TIMESTAMP, TypeName.INSTANT})


def field_type(schema: Mapping[str, Any]) -> tuple[LogicalType, Decode]:
    """What a field's values are. UNKNOWN, with values as JSON, for what has no form that databases share."""
    kind, name = str(schema.get("type")), str(schema.get("name") or "")
    given = schema.get("parameters") or {}
    if name == f"{_CONNECT}Decimal":
        scale = int(given.get("scale", 0))
        digits = given.get("connect.decimal.precision")
        native = f"Decimal({digits or '?'}, {scale})"
        precision = None if digits is None else int(digits)
        return LogicalType(TypeName.DECIMAL, native, precision, scale), lambda value: decimal_text(value, scale)
    if name == f"{_DATA}Bits":
        return _bits(int(given.get("length", 1)))
    if name in (f"{_DATA}Enum", f"{_DATA}EnumSet"):
        meant = TypeName.ENUM if name.endswith("Enum") else TypeName.SET
        return LogicalType(meant, _short(name), values=tuple(str(given.get("allowed", "")).split(","))), _text
    if (kind, name) in _NAMED:
        meant, precision, decode = _NAMED[kind, name]
        return LogicalType(meant, _short(name), precision), decode
    if kind in _PLAIN and (not name or kind == "string"):
        meant, precision, decode = _PLAIN[kind]
        return LogicalType(meant, _short(name) or kind, precision), decode
    return LogicalType(TypeName.UNKNOWN, _short(name) or kind), json_text


def _short(name: str) -> str:
    return name.removeprefix("io.debezium.").removeprefix("org.apache.kafka.")


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("no integer")
    return value


def _truth(value: Any) -> int:
    if type(value) is not bool:
        raise ValueError("no truth value")
    return int(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("no text")
    if not value.isascii():
        value.encode()  # half of a character is an error
    return value


def _bytes(value: Any) -> bytes:
    return b64decode(_text(value), validate=True)


def _float64(value: Any) -> str:
    if type(value) not in (int, Decimal, str):
        raise ValueError("no number")
    return _float_text(float(value))


def _float32(value: Any) -> str:
    """All digits of the same number as a double: whoever reads it as one and then rounds gets the same again."""
    if type(value) not in (int, Decimal, str):
        raise ValueError("no number")
    return _float_text(unpack("f", pack("f", float(value)))[0])


def _float_text(number: float) -> str:
    if isnan(number):
        return "NaN"
    if isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return repr(number)


def decimal_text(value: Any, scale: int) -> str:
    """From Base64 of the unscaled number, or from a number, as the converter's decimal.format says."""
    if type(value) in (int, Decimal):
        return f"{Decimal(value):f}"
    unscaled = _bytes(value)
    if not unscaled:
        raise ValueError("no number")
    return _scaled(int.from_bytes(unscaled, "big", signed=True), scale)


def _variable_decimal(value: Any) -> str:
    return decimal_text(value["value"], _integer(value["scale"]))


def _scaled(unscaled: int, scale: int) -> str:
    if scale <= 0:
        return str(unscaled * 10**-scale)
    sign, digits = ("-" if unscaled < 0 else ""), str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def _bits(length: int) -> tuple[LogicalType, Decode]:
    if length == UNBOUNDED_BITS:
        # The bytes do not tell how many bits of the last one count.
        return LogicalType(TypeName.UNKNOWN, "data.Bits without a length"), json_text

    def decode(value: Any) -> str:
        found = _bytes(value)
        # Fewer bytes: the value of a BIT VARYING, whose own length is not told.
        if len(found) != (length + 7) // 8 or (number := int.from_bytes(found, "little")) >> length:
            raise ValueError("no bits of this length")
        return f"{number:0{length}b}"

    return LogicalType(TypeName.BITS, f"data.Bits({length})", length), decode


def json_text(value: Any) -> str:
    """A value as JSON, its numbers with all their digits."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_quoted(name)}:{json_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) if isinstance(value, int | Decimal) else _quoted(_text(value))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _interval(value: Any) -> str:
    if not _text(value).startswith(("P", "-P")):
        raise ValueError("no interval")
    return str(value)


def _date(value: Any) -> str:
    return calendar.date_text(_integer(value))


def _moment(unit: int) -> Decode:
    return lambda value: calendar.moment_text(_integer(value) * unit)


def _clock(unit: int) -> Decode:
    return lambda value: calendar.clock_text(_integer(value) * unit)


def _nano(text: Callable[[int], str]) -> Decode:
    return lambda value: text(calendar.whole_micros(_integer(value)))


def _iso_moment(value: Any) -> str:
    return calendar.moment_text(calendar.moment_of(_text(value)))


def _iso_date(value: Any) -> str:
    return calendar.date_text(calendar.moment_of(_text(value)) // 86_400_000_000)


_PLAIN: Mapping[str, tuple[TypeName, int | None, Decode]] = {
    "boolean": (TypeName.BOOLEAN, None, _truth),
    "int8": (TypeName.INTEGER, 8, _integer),
    "int16": (TypeName.INTEGER, 16, _integer),
    "int32": (TypeName.INTEGER, 32, _integer),
    "int64": (TypeName.INTEGER, 64, _integer),
    "float": (TypeName.FLOAT32, None, _float32),
    "float32": (TypeName.FLOAT32, None, _float32),
    "double": (TypeName.FLOAT64, None, _float64),
    "float64": (TypeName.FLOAT64, None, _float64),
    "string": (TypeName.TEXT, None, _text),
    "bytes": (TypeName.BINARY, None, _bytes),
}
"""By the types of Kafka Connect; its JSON calls the two floats `float` and `double`."""

_NAMED: Mapping[tuple[str, str], tuple[TypeName, int | None, Decode]] = {
    ("int32", f"{_TIME}Date"): (TypeName.DATE, None, _date),
    ("int32", f"{_CONNECT}Date"): (TypeName.DATE, None, _date),
    ("string", f"{_TIME}IsoDate"): (TypeName.DATE, None, _iso_date),
    ("int32", f"{_TIME}Time"): (TypeName.TIME, 3, _clock(1000)),
    ("int32", f"{_CONNECT}Time"): (TypeName.TIME, 3, _clock(1000)),
    ("int64", f"{_CONNECT}Time"): (TypeName.TIME, 3, _clock(1000)),
    ("int64", f"{_TIME}MicroTime"): (TypeName.TIME, 6, _clock(1)),
    ("int64", f"{_TIME}NanoTime"): (TypeName.TIME, 6, _nano(calendar.clock_text)),
    ("string", f"{_TIME}IsoTime"): (TypeName.TIME, 6, lambda value: calendar.clock_of(_text(value))),
    ("string", f"{_TIME}ZonedTime"): (TypeName.TIMETZ, 6, lambda value: calendar.zoned_clock(_text(value))),
    ("int64", f"{_TIME}Timestamp"): (TypeName.TIMESTAMP, 3, _moment(1000)),
    ("int64", f"{_CONNECT}Timestamp"): (TypeName.TIMESTAMP, 3, _moment(1000)),
    ("int64", f"{_TIME}MicroTimestamp"): (TypeName.TIMESTAMP, 6, _moment(1)),
    ("int64", f"{_TIME}NanoTimestamp"): (TypeName.TIMESTAMP, 6, _nano(calendar.moment_text)),
    ("string", f"{_TIME}IsoTimestamp"): (TypeName.TIMESTAMP, 6, _iso_moment),
    ("string", f"{_TIME}ZonedTimestamp"): (TypeName.INSTANT, 6, _iso_moment),
    ("int32", f"{_TIME}Year"): (TypeName.YEAR, None, _integer),
    ("string", f"{_TIME}Interval"): (TypeName.INTERVAL, None, _interval),
    ("string", f"{_DATA}Json"): (TypeName.JSON, None, _text),
    ("string", f"{_DATA}Uuid"): (TypeName.UUID, None, lambda value: str(UUID(_text(value)))),
    ("struct", f"{_DATA}VariableScaleDecimal"): (TypeName.DECIMAL, None, _variable_decimal),
}
"""By type and name. io.debezium.time.MicroDuration is missing on purpose: it counts a month as 30.4375 days."""
