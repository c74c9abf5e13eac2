"""Rows that are inserted: parents of those that refer to nothing, and rows that only entries of indexes know of."""

from __future__ import annotations

from dataclasses import replace

from tieout.connectors.protocols.repair import Repairer, Row
from tieout.meta import ChangeAction, RepairChange
from tieout.model.repair_choices import Choice
from tieout.model.tables import Table
from tieout.model.truncated import LONGEST_IN_FAILURE, is_whole
from tieout.repair.from_failures.decisions import Decided
from tieout.repair.from_failures.details import Child, Details, IsReferredTo, details_of
from tieout.repair.from_failures.draft import Draft
from tieout.repair.from_failures.row_edits import Impossible, given_value, parent_of, row_key


def parents(draft: Draft) -> list[RepairChange]:
    """One for all that refer to it."""
    made: dict[tuple[str, tuple[str, ...]], RepairChange] = {}
    for each in draft.decided:
        if draft.is_planned(each) and each.choice is Choice.INSERT_PARENT:
            try:
                change = _parent(draft, each)
            except Impossible as reason:
                draft.wait(each, str(reason))
                continue
            row = change.table, tuple(map(str, change.key.values()))
            made[row] = _for_both(made[row], change) if row in made else change
    return list(made.values())


def _for_both(first: RepairChange, second: RepairChange) -> RepairChange:
    """The first, for the children of both."""
    one, other = details_of(first), details_of(second)
    both = replace(one, failures=one.failures + other.failures, children=one.children + other.children)
    return replace(first, details=both.document())


def restored(draft: Draft) -> list[RepairChange]:
    return [
        _insert(
            ghost.table,
            {name: ghost.known[name] for name in ghost.table.key},
            dict(ghost.known),
            Details(tuple(entry.id for entry in ghost.entries)),
        )
        for ghost in draft.ghosts
        if ghost.choice is Choice.RESTORE and all(draft.is_planned(entry) for entry in ghost.entries)
    ]


def _parent(draft: Draft, each: Decided) -> RepairChange:
    table = draft.database.table(each.failure.table)
    assert table is not None, "refused before"
    reference = parent_of(each, table, draft.repairer)
    parent = draft.database.table(str(reference.table))
    if parent is None:
        raise Impossible(f"there is no table {reference.table}")
    values = [each.values.get(name) for name in reference.columns]
    if None in values:
        raise Impossible("a part of the reference is NULL, or is not known")
    if not is_whole(dict(zip(reference.columns, values, strict=True))):
        raise Impossible(f"the reference is too long to be kept: more than {LONGEST_IN_FAILURE:,} bytes")
    row: dict[str, str | None] = dict(zip(reference.to, values, strict=True))
    for column in parent.columns:
        given = given_value(parent, column.name, draft.decisions)
        if column.name not in row and given is not None:
            row[column.name] = given
    lacking = [c.name for c in parent.columns if c.name not in row and not (c.nullable or c.default or c.generated)]
    if lacking:
        needed = " ".join(f"--set {reference.table.name}.{name}=VALUE" for name in lacking)
        raise Impossible(f"the parent needs a value of {', '.join(lacking)}: {needed}")
    key = {name: row[name] for name in reference.to}
    child = dict(zip(reference.columns, values, strict=True))
    own_key = each.failure.primary_key
    refers = () if own_key is None else (IsReferredTo(each.failure.table, dict(own_key), child),)
    details = Details((each.id,), conditions=refers, children=_children(each, table, draft.repairer))
    return _insert(parent, key, row, details)


def _insert(table: Table, key: Row, row: Row, details: Details) -> RepairChange:
    return RepairChange(str(table.name), ChangeAction.INSERT, key, None, dict(row), details=details.document())


def _children(each: Decided, table: Table, repairer: Repairer) -> tuple[Child, ...]:
    """The row that lacks a parent, if it can be told from others."""
    try:
        return (Child(str(table.name), row_key(each, table, repairer)),)
    except Impossible:
        return ()
