"""A difference and what is there now, into the change that would end it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tieout.meta import ChangeAction, ChangeState, RepairChange
from tieout.model.differences import Difference, DifferenceKind
from tieout.model.keys import Key
from tieout.model.truncated import LONGEST_KEPT, is_whole
from tieout.repair.from_differences.looking import Found, Unwritable, exact_row
from tieout.repair.from_differences.tables import RepairTable
from tieout.verify.compare import changed_columns
from tieout.verify.localise import shape_of

_ACTIONS = {
    DifferenceKind.MISSING: ChangeAction.INSERT,
    DifferenceKind.EXTRA: ChangeAction.DELETE,
    DifferenceKind.CHANGED: ChangeAction.UPDATE,
}


def key_of(table: RepairTable, names: Mapping[str, str | None]) -> Key | None:
    """The key of a difference or of a change; None if no row is found by it: a part is NULL, or was truncated."""
    texts = [names.get(name) for name in table.plan.key_names]
    if None in texts or not is_whole(names):
        return None
    return tuple(text for text in texts if text is not None)


def decide(table: RepairTable, difference: Difference, source: Found, target: Found) -> RepairChange | None:
    """The change, one that is skipped with its reason, or None if the difference is gone.

    A row that the verification saw and that is not found any more may have been deleted since, or be one that
    its key does not find. Neither is a ground to delete or insert anything: it is skipped.
    """
    key = key_of(table, difference.key)
    if key is None and not is_whole(difference.key):
        return skipped(difference, f"its key is too long to be kept: more than {LONGEST_KEPT:,} bytes")
    if key is None:
        return skipped(difference, "a key with NULL finds no row")
    failure = source.failed.get(key) or target.failed.get(key)
    if failure:
        return skipped(difference, f"could not be looked up: {failure}")
    here, there = source.places.get(key, []), target.places.get(key, [])
    if len(here) > 1 or len(there) > 1:
        return skipped(difference, "more than one row has this key")
    if not here and not there:
        return None
    try:
        if here and there:
            return _update(table, difference, (source, here[0]), (target, there[0]))
        if here:
            return _insert(table, difference, source, here[0])
        return _delete(table, difference, target, there[0])
    except Unwritable as reason:
        return skipped(difference, str(reason))


def skipped(difference: Difference, message: str) -> RepairChange:
    action = _ACTIONS[difference.kind]
    return RepairChange(difference.table, action, dict(difference.key), state=ChangeState.SKIPPED, message=message)


def _update(
    table: RepairTable, difference: Difference, here: tuple[Found, int], there: tuple[Found, int]
) -> RepairChange | None:
    (source, left), (target, right) = here, there
    changed = set(changed_columns(shape_of(table.plan), source.rows, left, target.rows, right))
    if not changed:
        return None
    fills = [fill for fill in table.fills if fill.compared in changed]
    if not fills:
        names = ", ".join(table.plan.columns[place] for place in sorted(changed))
        return skipped(difference, f"{names} can't be written: generated, or compared by an expression")
    new = {fill.column.name: source.text(left, fill.source) for fill in fills}
    return RepairChange(
        difference.table, ChangeAction.UPDATE, dict(difference.key), exact_row(table, target, right), new
    )


def _insert(table: RepairTable, difference: Difference, source: Found, row: int) -> RepairChange:
    if difference.kind is DifferenceKind.CHANGED:
        return skipped(difference, "the target's row is not found any more; verify again")
    if table.computed:
        return skipped(
            difference, f"{', '.join(table.computed)} is compared by an expression: what to write is not known"
        )
    new = {fill.column.name: source.text(row, fill.source) for fill in table.fills}
    return RepairChange(difference.table, ChangeAction.INSERT, dict(difference.key), None, new)


def _delete(table: RepairTable, difference: Difference, target: Found, row: int) -> RepairChange:
    if difference.kind is not DifferenceKind.EXTRA:
        return skipped(difference, "the source's row is not found any more; verify again")
    return RepairChange(difference.table, ChangeAction.DELETE, dict(difference.key), exact_row(table, target, row))
