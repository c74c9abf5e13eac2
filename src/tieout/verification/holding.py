"""What a column of the target holds of a value that Spark computed: a mover writes its text, and the server reads it.

Loads no Spark: `--explain` and a preflight plan with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa

from tieout.model.canonical_kinds import Form, Kind
from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName
from tieout.verification.labels import has_labels, label_of

COMPUTABLE = frozenset(TypeName) - {
    TypeName.OPAQUE,
    TypeName.UNKNOWN,
    TypeName.ARRAY,
    TypeName.INTERVAL,
    TypeName.TIMETZ,
    TypeName.BITS,
}
"""Types of columns whose computed values have one canonical form."""

_FLOATS = frozenset({TypeName.FLOAT32, TypeName.FLOAT64})
_READ_ALIKE = (
    _FLOATS | {TypeName.BOOLEAN, TypeName.INTEGER, TypeName.DECIMAL, TypeName.YEAR},
    frozenset({TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT}),
    frozenset({TypeName.TIME}),
)
"""Columns that read texts in their own way, each with the types whose texts they are known to read as those values."""
_MICROSECONDS = 6
_WORDS = frozenset({TypeName.TEXT, TypeName.CHAR, TypeName.ENUM})
_LABELS = _WORDS | {TypeName.SET}


def unknown_reading(computed: LogicalType, holder: LogicalType) -> str | None:
    """Why nobody knows what a column holds of computed values; None: it is known."""
    if computed.native == "void":
        return None
    if has_labels(holder.native):
        # A number is that of a label, unless there is a label of these digits.
        return None if computed.name in _LABELS else _unknown(computed, holder)
    alike = next((types for types in _READ_ALIKE if holder.name in types), None)
    if alike is None:
        return None
    if computed.name is TypeName.BITS and computed.precision == 1:
        return None  # 0 or 1
    if computed.name in alike:
        # What a server does with more digits of a TIME is a setting of its own.
        return _more_digits(computed, holder) if holder.name is TypeName.TIME else None
    if holder.name is TypeName.BOOLEAN and computed.name in _WORDS:
        return None  # the words for true and false are listed below, all of them
    return _unknown(computed, holder)


def _unknown(computed: LogicalType, holder: LogicalType) -> str:
    instead = "compute the text of a label" if has_labels(holder.native) else "CAST it to a type of the column's sort"
    said = f"Spark computes a value of type {computed}, and how a server reads its text as {holder} is unknown"
    return f"{said}: {instead}"


def _more_digits(computed: LogicalType, holder: LogicalType) -> str | None:
    there = _MICROSECONDS if holder.precision is None else holder.precision
    if (_MICROSECONDS if computed.precision is None else computed.precision) <= there:
        return None
    return f"{holder} has fewer digits than {computed}, and servers round or cut: CAST it to a type of fewer digits"


def held(texts: pa.Array, kind: Kind, column: Column) -> pa.Array:
    """Computed values in tab form, as this column holds them: a mover writes the text, and the target reads it. What it
    would refuse stays as it is, and differs from whatever is there. UndecidedLabel: nobody else knows.
    """
    t = column.type
    if kind.form is Form.BYTES:
        # BINARY(n), unlike VARBINARY(n), has n bytes.
        size = (t.precision or 0) if t.native.startswith("binary") else 0
        octets = [None if v is None else _octets(v).ljust(size, b"\0") for v in texts.to_pylist()]
        return pa.array(octets, pa.large_binary())
    holds = label_of(column) if has_labels(t.native) else _holding(t)
    if holds is None:
        return texts
    return pa.array([None if v is None else holds(v) for v in texts.to_pylist()], pa.large_string())


def _octets(text: str) -> bytes:
    try:
        return bytes.fromhex(text[2:]) if text.startswith("\\x") else text.encode()
    except ValueError:
        return text.encode()


_EXACT = Context(prec=1000)
_MOMENT = re.compile(r"(-?\d{4,}-\d\d-\d\d) \d\d:.*", re.ASCII | re.DOTALL)
_TRUTH = {
    **dict.fromkeys(("true", "tru", "tr", "t", "yes", "ye", "y", "on", "1"), "1"),
    **dict.fromkeys(("false", "fals", "fal", "fa", "f", "no", "n", "off", "of", "0"), "0"),
}
"""PostgreSQL takes each beginning of a word that can mean nothing else."""
_YEAR = re.compile(r"[0-9]{4}")
_SPACE = " \t\n\v\f\r"


def _holding(t: LogicalType) -> Callable[[str], str] | None:
    if t.name is TypeName.BOOLEAN:
        return lambda text: _TRUTH.get(text.strip(_SPACE).lower(), text)
    if t.name is TypeName.CHAR:
        return lambda text: text.rstrip(" ")
    if t.name is TypeName.DATE:
        return lambda text: match[1] if (match := _MOMENT.fullmatch(text)) else text
    if t.name in _FLOATS and (t.name is TypeName.FLOAT32 or t.scale is not None):
        return _floats_of(t)
    if t.name is TypeName.INTEGER:
        return _rounded_to(0)
    if t.name is TypeName.YEAR:
        return lambda text: str(int(text)) if _YEAR.fullmatch(text) else text
    return _rounded_to(t.scale) if t.name is TypeName.DECIMAL and t.precision and t.scale is not None else None


def _rounded_to(scale: int) -> Callable[[str], str]:
    """Half away from zero, as engines round a decimal."""
    unit = Decimal(1).scaleb(-scale)

    def rounded(text: str) -> str:
        _, point, digits = text.partition(".")
        if (not point or len(digits) <= scale) and "E" not in text and "e" not in text:
            return text
        try:
            number = Decimal(text)
            return format(number.quantize(unit, ROUND_HALF_UP, _EXACT), "f") if number.is_finite() else text
        except InvalidOperation:
            return text

    return rounded


def _floats_of(t: LogicalType) -> Callable[[str], str]:
    """As a DOUBLE: FLOAT has fewer digits, and MariaDB rounds what a FLOAT(7,2) or DOUBLE(10,2) holds in this way."""
    unit = None if t.scale is None else float(10**t.scale)

    def rounded(text: str) -> str:
        try:
            number = float(text)
        except ValueError:
            return text
        if unit is not None and math.isfinite(number):
            whole = float(math.floor(number))
            number = whole + round((number - whole) * unit) / unit
        if t.name is TypeName.FLOAT32:
            with np.errstate(over="ignore"):
                short = float(np.float32(number))
            if math.isinf(short) and not math.isinf(number):
                return f"{text} is too large"  # the server refuses it, and may hold an infinity
            number = short
        return repr(number)

    return rounded
