"""Whether a column's type takes the values of another one unchanged."""

from __future__ import annotations

from tieout.model.canonical_kinds import Incomparable, common_kind
from tieout.model.types import LogicalType, TypeName

_FLOATS = {TypeName.FLOAT32, TypeName.FLOAT64}
WHOLE = {TypeName.INTEGER, TypeName.BOOLEAN}
_MOMENTS = {TypeName.TIMESTAMP, TypeName.INSTANT}
_CLOCKED = {*_MOMENTS, TypeName.TIME, TypeName.TIMETZ}
_LABELLED = {TypeName.ENUM, TypeName.SET}
_WITHOUT_SPACES = {TypeName.CHAR, TypeName.UUID, TypeName.ENUM}

CUT = "PostgreSQL silently cuts a text off after 63 bytes where a column is a name; use varchar"


def misfit(source: LogicalType, target: LogicalType, *, same_engine: bool) -> str | None:
    """Why the target would change values silently. None: it stores them unchanged, or reports what does not fit.

    `same_engine`: both sides are the same engine.
    """
    if target.native == "name" and source.native != "name" and not _is_short(source):
        return CUT
    if _is_money(source, target) or (target.name is TypeName.TEXT and source.name is not TypeName.BINARY):
        return None
    kind = common_kind(source, target)
    if isinstance(kind, Incomparable):
        return None if same_engine and source.native == target.native else kind.reason
    return (
        _of_times(source, target) or _of_numbers(source, target, same_engine=same_engine) or _of_texts(source, target)
    )


def _of_times(source: LogicalType, target: LogicalType) -> str | None:
    if target.name is TypeName.DATE and source.name in _MOMENTS:
        return f"{target} has no time of day, and {source} has one"
    if target.name in _CLOCKED and _digits(source) > _digits(target):
        return f"{target} has fewer fractional digits of a second than {source}"
    if target.name is TypeName.YEAR and source.name is not TypeName.YEAR:
        return f"{target} stores 5 as 2005"
    return None


def _digits(t: LogicalType) -> int:
    if t.name is TypeName.DATE:
        return 0
    return 6 if t.precision is None or t.name not in _CLOCKED else t.precision


def _of_numbers(source: LogicalType, target: LogicalType, *, same_engine: bool) -> str | None:
    if target.name is TypeName.FLOAT32 and source.name is not TypeName.FLOAT32:
        return f"{target} has fewer digits than {source}"
    if target.name in _FLOATS and target.scale is not None and not _has_scale(source, target):
        return f"{target} rounds what {source} holds"
    if source.name is TypeName.DECIMAL and source.scale != 0 and target.name in WHOLE:
        return f"{target} has no fractional digits, and {source} may have some"
    if source.name is target.name is TypeName.DECIMAL and _rounds(source, target, same_engine=same_engine):
        return f"{target} has fewer fractional digits than {source}"
    if target.name is TypeName.BITS and source.name is not TypeName.BOOLEAN and not _same_size(source, target):
        return f"{target} takes bit strings of its own length only, and {source} has another length"
    return None


def _has_scale(source: LogicalType, target: LogicalType) -> bool:
    """Whether a float is rounded already. A FLOAT(7,2) as a DOUBLE has more digits behind the point."""
    return source.name is target.name and source.scale is not None and source.scale <= (target.scale or 0)


def _rounds(source: LogicalType, target: LogicalType, *, same_engine: bool) -> bool:
    if target.precision is None:
        return False
    # MySQL reports a number that does not fit; PostgreSQL, which alone has numbers of any size, rounds it.
    return same_engine if source.precision is None else (source.scale or 0) > (target.scale or 0)


def _of_texts(source: LogicalType, target: LogicalType) -> str | None:
    if target.name is TypeName.CHAR and source.name not in _WITHOUT_SPACES:
        return f"{target} drops trailing spaces, and {source} keeps them"
    if target.name in _LABELLED and not (source.name is target.name and set(source.values) <= set(target.values)):
        return f"{target} lacks values that {source} allows"
    # By its name: nothing else distinguishes BINARY, which pads with zeros, from VARBINARY.
    if target.native.startswith("binary") and source.name is not TypeName.UUID and not _same_size(source, target):
        return f"{target} pads values to its length, and {source} has shorter ones"
    return None


def _same_size(source: LogicalType, target: LogicalType) -> bool:
    same_sort = source.name is target.name and source.native.startswith("var") == target.native.startswith("var")
    return same_sort and source.precision == target.precision


def _is_money(source: LogicalType, target: LogicalType) -> bool:
    return source.native == "money" and target.name is TypeName.DECIMAL and (target.scale or 0) >= 2


def _is_short(t: LogicalType) -> bool:
    """Whether no value has more than 63 bytes as a text."""
    if t.name in (TypeName.TEXT, TypeName.CHAR, TypeName.ENUM):
        return bool(t.precision) and 4 * (t.precision or 0) <= 63
    return t.name in WHOLE or t.name in _CLOCKED or t.name in (TypeName.DATE, TypeName.UUID, TypeName.YEAR)
