"""Whether one type can stand in for another: every value of the old one is the same value in the new one.

Where that is not certain, the answer is no.
"""

from __future__ import annotations

from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName

_UNBOUNDED = 1 << 32
_LETTER = 4
"""The most bytes of a letter."""
_CLOCKED = {TypeName.TIME, TypeName.TIMETZ, TypeName.TIMESTAMP, TypeName.INSTANT}
_EXACTLY = {TypeName.OPAQUE, TypeName.UNKNOWN, TypeName.BITS, TypeName.ARRAY}


def narrower(before: Column, after: Column) -> str | None:
    """Why a column may not hold the values that it held before, unchanged; None if it surely does."""
    if before.generated or after.generated:
        return "a generated column is computed again"
    if before.nullable and not after.nullable:
        return "it no longer takes NULL"
    old, new = before.type, after.type
    if not takes(new, old) or (new.name is not old.name):
        return f"{new.native} may not hold every value of {old.native} unchanged"
    return None


def is_same(before: LogicalType, after: LogicalType) -> bool:
    """Whether each holds the values of the other."""
    return before.name is after.name and takes(before, after) and takes(after, before)


def takes(room: LogicalType, values: LogicalType) -> bool:
    """Whether a column of one type surely holds every value of another type, unchanged. They may be of two engines."""
    name = values.name
    if name is TypeName.INTEGER:
        return _takes_integers(room, values)
    if name is TypeName.DECIMAL:
        return room.name is TypeName.DECIMAL and _takes_decimals(room, values)
    if name in (TypeName.TEXT, TypeName.CHAR):
        return room.name in (TypeName.TEXT, name) and _takes_texts(room, values)
    if name in (TypeName.ENUM, TypeName.SET):
        return _takes_labels(room, values)
    if name is TypeName.BINARY:
        return room.name is name and _takes_bytes(room, values)
    if name in _CLOCKED:
        return room.name in _clocked_like(name) and _digits(values) <= _digits(room)
    if room.scale is not None and room.native != values.native:
        return False  # FLOAT(7,2) rounds
    return room == values or (room.name is name and name not in _EXACTLY)


def _clocked_like(name: TypeName) -> set[TypeName]:
    # An instant goes to a DATETIME in UTC; a time of MySQL to an interval.
    more = {TypeName.INSTANT: {TypeName.TIMESTAMP}, TypeName.TIME: {TypeName.INTERVAL}}
    return {name} | more.get(name, set())


def _digits(t: LogicalType) -> int:
    return 6 if t.precision is None else t.precision


def _bounds(t: LogicalType) -> tuple[int, int]:
    bits = t.precision or 64
    return (0, (1 << bits) - 1) if t.unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _takes_integers(room: LogicalType, values: LogicalType) -> bool:
    low, high = _bounds(values)
    if room.name is TypeName.INTEGER:
        least, most = _bounds(room)
    elif room.name is TypeName.DECIMAL and not room.unsigned and (room.precision is None or (room.scale or 0) >= 0):
        most = _UNBOUNDED**4 if room.precision is None else 10 ** (room.precision - (room.scale or 0)) - 1
        least = -most
    else:
        return room.name is TypeName.TEXT and room.precision is None
    return least <= low and high <= most


def _takes_decimals(room: LogicalType, values: LogicalType) -> bool:
    if room.unsigned and not values.unsigned:
        return False
    if room.precision is None or values.precision is None:
        return room.precision is None
    more = (room.scale or 0) - (values.scale or 0)
    return more >= 0 and room.precision - values.precision >= more


def _takes_texts(room: LogicalType, values: LogicalType) -> bool:
    if room.precision is None or room.precision >= _UNBOUNDED - 1:
        return True
    if values.precision is None:
        return False
    # The length of MySQL's texts is in bytes, that of other types in letters.
    if _in_bytes(room) and not _in_bytes(values):
        return values.precision * _LETTER <= room.precision
    return values.precision <= room.precision


def _in_bytes(t: LogicalType) -> bool:
    return t.native in ("tinytext", "text", "mediumtext", "longtext")


def _takes_bytes(room: LogicalType, values: LogicalType) -> bool:
    padded = [t.native.startswith("binary") for t in (room, values)]
    if any(padded):
        return all(padded) and room.precision == values.precision
    if room.precision is None or room.precision >= _UNBOUNDED - 1:
        return True
    return values.precision is not None and values.precision <= room.precision


def _takes_labels(room: LogicalType, values: LogicalType) -> bool:
    if room.name is values.name:
        return room.values[: len(values.values)] == values.values
    if room.name is not TypeName.TEXT:
        return False
    longest = max((len(value) for value in values.values), default=0)
    if values.name is TypeName.SET:
        longest = sum(len(value) + 1 for value in values.values)
    return room.precision is None or longest <= room.precision
