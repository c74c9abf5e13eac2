"""Whether a column that is there already takes the values of another one, each as it is."""

from __future__ import annotations

from tieout.model.canonical_kinds import Incomparable, common_kind
from tieout.model.types import LogicalType, TypeName

_WHOLE = {TypeName.INTEGER, TypeName.BOOLEAN}
_MOMENTS = {TypeName.TIMESTAMP, TypeName.INSTANT}
_CLOCKED = {*_MOMENTS, TypeName.TIME, TypeName.TIMETZ}
_LABELLED = {TypeName.ENUM, TypeName.SET}
_WITHOUT_SPACES = {TypeName.CHAR, TypeName.UUID, TypeName.ENUM}


def misfit(source: LogicalType, target: LogicalType, *, alike: bool) -> str | None:
    """Why values would be changed without a word. None: as they are, or the target says which one does not fit.

    `alike`: both are of one engine.
    """
    if _is_money(source, target) or (target.name is TypeName.TEXT and source.name is not TypeName.BINARY):
        return None
    kind = common_kind(source, target)
    if isinstance(kind, Incomparable):
        return None if alike and source.native == target.native else kind.reason
    return _of_times(source, target) or _of_numbers(source, target, alike=alike) or _of_texts(source, target)


def _of_times(source: LogicalType, target: LogicalType) -> str | None:
    if target.name is TypeName.DATE and source.name in _MOMENTS:
        return f"{target} keeps no time of day, and {source} has one"
    if target.name in _CLOCKED and _digits(source) > _digits(target):
        return f"{target} has fewer digits behind the second than {source}"
    if target.name is TypeName.YEAR and source.name is not TypeName.YEAR:
        return f"{target} takes 5 for 2005"
    return None


def _digits(t: LogicalType) -> int:
    if t.name is TypeName.DATE:
        return 0
    return 6 if t.precision is None or t.name not in _CLOCKED else t.precision


def _of_numbers(source: LogicalType, target: LogicalType, *, alike: bool) -> str | None:
    if target.name is TypeName.FLOAT32 and source.name is not TypeName.FLOAT32:
        return f"{target} has fewer digits than {source}"
    if source.name is TypeName.DECIMAL and source.scale != 0 and target.name in _WHOLE:
        return f"{target} has no digits behind the point, and {source} may have some"
    if source.name is target.name is TypeName.DECIMAL and _rounds(source, target, alike=alike):
        return f"{target} has fewer digits behind the point than {source}"
    if target.name is TypeName.BITS and source.name is not TypeName.BOOLEAN and not _same_size(source, target):
        return f"{target} takes no other bits than its own number of them, and {source} is not that"
    return None


def _rounds(source: LogicalType, target: LogicalType, *, alike: bool) -> bool:
    if target.precision is None:
        return False
    # Of a number of any size MySQL says if it has no room for it; PostgreSQL, which alone has such numbers, rounds it.
    return alike if source.precision is None else (source.scale or 0) > (target.scale or 0)


def _of_texts(source: LogicalType, target: LogicalType) -> str | None:
    if target.name is TypeName.CHAR and source.name not in _WITHOUT_SPACES:
        return f"{target} keeps no spaces at the end, and {source} does"
    if target.name in _LABELLED and not (source.name is target.name and set(source.values) <= set(target.values)):
        return f"{target} does not have all that {source} may be"
    # By its name: nothing else tells BINARY, which fills up with zeros, from VARBINARY.
    if target.native.startswith("binary") and source.name is not TypeName.UUID and not _same_size(source, target):
        return f"{target} fills values up to its length, and {source} has others"
    return None


def _same_size(source: LogicalType, target: LogicalType) -> bool:
    same_sort = source.name is target.name and source.native.startswith("var") == target.native.startswith("var")
    return same_sort and source.precision == target.precision


def _is_money(source: LogicalType, target: LogicalType) -> bool:
    return source.native == "money" and target.name is TypeName.DECIMAL and (target.scale or 0) >= 2
