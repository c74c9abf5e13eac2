"""Kinds: the canonical form in which the two columns of a pair are compared.

A kind is chosen for a *pair* of columns (`common_kind`), so that an INT and a NUMERIC, or a CHAR(36) and a
UUID, meet in one form. The specification of each form is docs/explanation/canonical-form.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tieout.model.types import LogicalType, TypeName

MAX_DECIMAL_DIGITS = 38


class Form(StrEnum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    """A decimal of at most 38 digits at a fixed scale: 128-bit unscaled value."""
    NUMBER = "number"
    """A decimal of any size, by value, as text."""
    SCALED_NUMBER = "scaled number"
    """A decimal of any size, scale included: 1.0 is not 1.00."""
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIME = "time"
    UUID = "uuid"
    JSON = "json"
    ARRAY = "array"
    JSON_ARRAY = "json array"
    """An array of JSON: its elements are JSON, each by value."""
    BITS = "bits"
    SET = "set"
    INTERVAL = "interval"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Values this close count as the same: |a-b| <= amount, or <= amount * max(|a|, |b|) if relative."""

    amount: float
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    form: Form
    scale: int = 0
    tolerance: Tolerance | None = None

    def __str__(self) -> str:
        return f"{self.form}({self.scale})" if self.form is Form.DECIMAL else str(self.form)


@dataclass(frozen=True, slots=True)
class Incomparable:
    """No form holds both types exactly; `reason` tells the user why."""

    reason: str


_INTEGRAL = {TypeName.INTEGER, TypeName.BOOLEAN, TypeName.YEAR}
_TEXTUAL = {TypeName.TEXT, TypeName.CHAR, TypeName.ENUM}
_FLOATING = {TypeName.FLOAT32, TypeName.FLOAT64}
_MOMENTS = {TypeName.TIMESTAMP, TypeName.INSTANT, TypeName.DATE}

_WITH_ITSELF = {
    TypeName.BOOLEAN: Form.BOOLEAN,
    TypeName.BINARY: Form.BYTES,
    TypeName.DATE: Form.DATE,
    TypeName.TIME: Form.TIME,
    TypeName.TIMETZ: Form.TEXT,
    TypeName.INTERVAL: Form.INTERVAL,
    TypeName.BITS: Form.BITS,
    TypeName.SET: Form.SET,
    TypeName.JSON: Form.JSON,
    TypeName.UUID: Form.UUID,
    TypeName.FLOAT32: Form.FLOAT32,
    TypeName.FLOAT64: Form.FLOAT64,
}


def common_kind(
    a: LogicalType, b: LogicalType, *, exact_scale: bool = False, tolerance: Tolerance | None = None
) -> Kind | Incomparable:
    """The form in which values of `a` and `b` compare, the same whichever comes first."""
    if tolerance is not None:
        return _tolerant_kind(a, b, tolerance)
    names = {a.name, b.name}
    if TypeName.UNKNOWN in names:
        unread = a if a.name is TypeName.UNKNOWN else b
        return Incomparable(f"values of type {unread.native} can't be read exactly")
    if a.name is TypeName.OPAQUE or b.name is TypeName.OPAQUE:
        return _opaque_kind(a, b)
    if a.name is b.name is TypeName.ARRAY:
        return _array_kind(a, b)
    if a.name is b.name and a.name in _WITH_ITSELF:
        return Kind(_WITH_ITSELF[a.name])
    if names <= _INTEGRAL or (names <= _INTEGRAL | {TypeName.BITS} and _fits_integer(a, b)):
        return Kind(Form.INTEGER)
    if names <= _INTEGRAL | {TypeName.DECIMAL}:
        return _decimal_kind(a, b, exact_scale)
    if names <= _FLOATING:
        return Kind(Form.FLOAT64)
    form = _mixed_form(names)
    if form is not None:
        return Kind(form)
    return Incomparable(f"{a.native} and {b.native} have no common exact form{_advice(names)}")


def _mixed_form(names: set[TypeName]) -> Form | None:
    if names <= _TEXTUAL or (TypeName.SET in names and names <= _TEXTUAL | {TypeName.SET}):
        return Form.TEXT
    if names <= _MOMENTS:
        return Form.TIMESTAMP
    for special, form, partners in (
        (TypeName.UUID, Form.UUID, _TEXTUAL | {TypeName.BINARY}),
        (TypeName.JSON, Form.JSON, _TEXTUAL | {TypeName.ARRAY}),
        (TypeName.DATE, Form.DATE, _TEXTUAL),
        (TypeName.TIMESTAMP, Form.TIMESTAMP, _TEXTUAL),
        (TypeName.INSTANT, Form.TIMESTAMP, _TEXTUAL),
        (TypeName.TIME, Form.TIME, _TEXTUAL | {TypeName.INTERVAL}),
    ):
        if special in names and names - {special} <= partners:
            return form
    return None


def _opaque_kind(a: LogicalType, b: LogicalType) -> Kind | Incomparable:
    if (a.name, a.native, a.engine) == (b.name, b.native, b.engine):
        return Kind(Form.OPAQUE)
    return Incomparable(f"{a.native} and {b.native} are compared only with the same type of the same engine")


def _array_kind(a: LogicalType, b: LogicalType) -> Kind | Incomparable:
    if not _same_elements(a.element, b.element):
        return Incomparable(f"the elements of {a.native} and {b.native} are of different types")
    of_json = a.element is not None and a.element.name is TypeName.JSON
    return Kind(Form.JSON_ARRAY if of_json else Form.ARRAY)


def _same_elements(a: LogicalType | None, b: LogicalType | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.name is b.name or {a.name, b.name} <= {TypeName.TEXT, TypeName.ENUM}


def _fits_integer(a: LogicalType, b: LogicalType) -> bool:
    return all(t.name is not TypeName.BITS or (t.precision or 65) <= 64 for t in (a, b))


def _decimal_kind(a: LogicalType, b: LogicalType, exact_scale: bool) -> Kind:
    if exact_scale and a.name is b.name is TypeName.DECIMAL:
        return Kind(Form.SCALED_NUMBER)
    sizes = [_digits(t) for t in (a, b)]
    if None in sizes:
        return Kind(Form.NUMBER)
    scale = max(size[1] for size in sizes if size)
    whole = max(size[0] for size in sizes if size)
    return Kind(Form.DECIMAL, scale) if whole + scale <= MAX_DECIMAL_DIGITS else Kind(Form.NUMBER)


def _digits(t: LogicalType) -> tuple[int, int] | None:
    """Digits before and after the point, or None if unbounded."""
    if t.name is not TypeName.DECIMAL:
        return (20, 0)
    if t.precision is None or t.scale is None or t.scale < 0:
        return None
    return (max(t.precision - t.scale, 0), t.scale)


def _tolerant_kind(a: LogicalType, b: LogicalType, tolerance: Tolerance) -> Kind | Incomparable:
    allowed = _FLOATING | _INTEGRAL | {TypeName.DECIMAL}
    if {a.name, b.name} <= allowed:
        return Kind(Form.FLOAT64, tolerance=tolerance)
    return Incomparable(f"a tolerance applies to numbers, not to {a.native} and {b.native}")


def _advice(names: set[TypeName]) -> str:
    if names & _FLOATING and names & (_INTEGRAL | {TypeName.DECIMAL}):
        return "; give the column a tolerance"
    return "; give an expression for one side"
