"""Rows that a repair updates, deletes or inserts: all that people decided about a row's failures, in one change.

The planner reads each row again and leaves alone one that is not as the check saw it. Of rows that have the same values
in unique columns it keeps one. It inserts parents of rows that refer to nothing, and rows that only indexes still know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tieout.connectors.protocols.repair import Parent, Repairer, Row
from tieout.meta import ChangeAction, RepairChange
from tieout.model.failures import FailureKind
from tieout.model.progress_events import Listener, Progress
from tieout.model.repair import Decisions
from tieout.model.repair_choices import Choice
from tieout.model.tables import Table
from tieout.model.truncated import LONGEST_IN_FAILURE, is_whole
from tieout.repair.from_failures.decisions import Decided
from tieout.repair.from_failures.details import (
    Child,
    Condition,
    Details,
    HasDuplicate,
    IsReferredTo,
    LacksEntry,
    NoParent,
    details_of,
)
from tieout.repair.from_failures.draft import Draft
from tieout.repair.rows import Found, RowTable, Unwritable, row_table

DUPLICATES = (FailureKind.UNIQUE_VIOLATION, FailureKind.PRIMARY_KEY_VIOLATION)


class Impossible(Exception):
    """A decision that can't be carried out; the message says why."""


@dataclass
class RowEdit:
    """What to do with one row. `seen` are columns as the check saw them."""

    table: Table
    key: Row
    delete: bool = False
    values: dict[str, str | None] = field(default_factory=dict)
    defaults: list[str] = field(default_factory=list)
    touch: bool = False
    conditions: list[Condition] = field(default_factory=list)
    seen: dict[str, str | None] = field(default_factory=dict)
    failures: list[Decided] = field(default_factory=list)

    @property
    def action(self) -> ChangeAction:
        return ChangeAction.DELETE if self.delete else ChangeAction.UPDATE

    @property
    def by_address(self) -> bool:
        return not set(self.key) <= set(self.table.column_names)

    @property
    def goes_first(self) -> bool:
        """Whether it comes before rebuilds: a duplicate would prevent them, and a missing entry is rechecked first."""
        first = (*DUPLICATES, FailureKind.MISSING_INDEX_ENTRY)
        return any(each.failure.kind in first for each in self.failures)


def row_key(decided: Decided, table: Table, repairer: Repairer) -> Row:
    """What identifies the row: its key, or its address if the key is wrong or missing."""
    failure = decided.failure
    if failure.primary_key is not None and failure.kind is not FailureKind.PRIMARY_KEY_VIOLATION:
        if not is_whole(failure.primary_key):
            raise Impossible(f"its key is too long to store: more than {LONGEST_IN_FAILURE:,} bytes")
        return dict(failure.primary_key)
    place = repairer.address_column(table)
    if place is None or failure.place is None:
        raise Impossible("the row has no key or address")
    return {place.name: failure.place}


def edit(decided: Decided, table: Table, repairer: Repairer, decisions: Decisions) -> RowEdit:
    """The edit that one failure's choice makes of its row; Impossible if it can't be done."""
    made = RowEdit(table, row_key(decided, table, repairer), failures=[decided], seen=dict(decided.values))
    columns = [name for name in decided.failure.columns if name in table.column_names]
    match decided.choice:
        case Choice.DELETE | Choice.KEEP_FIRST | Choice.KEEP_LAST:
            made.delete = True
        case Choice.SET_NULL:
            made.values = dict.fromkeys(_nullable(table, columns))
        case Choice.SET_DEFAULT:
            made.defaults = columns
        case Choice.REPLACE:
            made.values = dict(_given(table, columns, decisions))
        case Choice.RECOMPUTE:
            made.touch = True
        case _:
            raise Impossible(f"{decided.choice} does not change a row")
    if made.by_address and not made.delete:
        raise Impossible("the table has no key to find the changed row again, so the row can only be deleted")
    if any(table.column(name).generated for name in (*made.values, *made.defaults)):
        raise Impossible("a generated column takes no value: change the columns that it is computed from")
    made.conditions = _conditions(decided, table, repairer, columns)
    return made


def _conditions(decided: Decided, table: Table, repairer: Repairer, columns: list[str]) -> list[Condition]:
    kind = decided.failure.kind
    if kind is FailureKind.FOREIGN_KEY_VIOLATION:
        parent = parent_of(decided, table, repairer)
        return [NoParent(str(parent.table), tuple(parent.columns), tuple(parent.to))]
    if kind in DUPLICATES:
        if not columns or len(columns) < len(decided.failure.columns):
            raise Impossible("its key has an expression: Tieout can't recheck whether another row has the same key")
        return [HasDuplicate(tuple(columns))]
    if kind is FailureKind.MISSING_INDEX_ENTRY:
        if decided.failure.place is None or decided.failure.index is None:
            raise Impossible(
                "the engine gives no address for an entry: Tieout can't recheck whether it is still missing"
            )
        return [LacksEntry(decided.failure.index, decided.failure.place)]
    return []


def parent_of(decided: Decided, table: Table, repairer: Repairer) -> Parent:
    parent = repairer.parent(table, decided.failure.constraint or "", decided.failure.columns)
    if parent is None:
        raise Impossible(f"{table.name} no longer has a foreign key {decided.failure.constraint}")
    return parent


def _nullable(table: Table, columns: Iterable[str]) -> list[str]:
    found = [name for name in columns if table.column(name).nullable and name not in table.key]
    if not found:
        raise Impossible(f"{', '.join(columns) or 'no column of it'} must not be NULL")
    return found


def _given(table: Table, columns: Iterable[str], decisions: Decisions) -> Mapping[str, str]:
    given = {name: text for name in columns if (text := given_value(table, name, decisions)) is not None}
    if not given:
        raise Impossible(f"it needs a value: --set {next(iter(columns), 'COLUMN')}=VALUE")
    return given


def given_value(table: Table, column: str, decisions: Decisions) -> str | None:
    for name in (f"{table.name}.{column}", f"{table.name.name}.{column}", column):
        if name in decisions.values:
            return decisions.values[name]
    return None


def merged(edits: Iterable[RowEdit]) -> list[RowEdit]:
    """One edit for each row: a delete wins; else it writes all values at once."""
    by_row: dict[tuple[str, tuple[tuple[str, str | None], ...]], RowEdit] = {}
    for each in edits:
        row = str(each.table.name), tuple(sorted(each.key.items()))
        first = by_row.setdefault(row, each)
        if first is each:
            continue
        first.delete |= each.delete
        first.values |= {name: value for name, value in each.values.items() if name not in first.values}
        first.defaults += [name for name in each.defaults if name not in first.defaults]
        first.touch |= each.touch
        first.conditions += each.conditions
        first.seen |= each.seen
        first.failures += each.failures
    for each in by_row.values():
        each.defaults = [name for name in each.defaults if name not in each.values]
    return list(by_row.values())


BATCH = 200
"""Rows to look up at once."""

_LONG = 190
"""The size in bytes above which a failure may show a value truncated."""

_CHOICES = (
    Choice.DELETE,
    Choice.SET_NULL,
    Choice.SET_DEFAULT,
    Choice.REPLACE,
    Choice.RECOMPUTE,
)


def row_changes(draft: Draft, listener: Listener) -> list[tuple[RowEdit, RepairChange]]:
    made = []
    for each in _of_rows(draft):
        table = draft.database.table(each.failure.table)
        assert table is not None, "refused before"
        try:
            made.append(edit(each, table, draft.repairer, draft.decisions))
        except Impossible as reason:
            draft.wait(each, str(reason))
    return [pair for group in _by_table(merged(made)) for pair in _looked_up(draft, group, listener)]


def _of_rows(draft: Draft) -> list[Decided]:
    planned = [each for each in draft.decided if draft.is_planned(each)]
    chosen = [each for each in planned if each.choice in _CHOICES]
    return chosen + all_but_one(draft, [each for each in planned if each.choice in KEEPS_ONE])


def _by_table(edits: Sequence[RowEdit]) -> list[list[RowEdit]]:
    """Finds rows with the same kind of key."""
    groups: dict[tuple[str, tuple[str, ...]], list[RowEdit]] = {}
    for each in edits:
        groups.setdefault((str(each.table.name), tuple(each.key)), []).append(each)
    return list(groups.values())


def _looked_up(draft: Draft, edits: Sequence[RowEdit], listener: Listener) -> list[tuple[RowEdit, RepairChange]]:
    first = edits[0]
    rows = row_table(first.table, draft.repairer, tuple(first.key))
    if isinstance(rows, str):
        draft.leave_all([decided for each in edits for decided in each.failures], rows)
        return []
    rows = rows.no_index_hint(draft.repairer)
    made = []
    for start in range(0, len(edits), BATCH):
        some = edits[start : start + BATCH]
        keys = [key for each in some if (key := rows.key_of(each.key)) is not None]
        found = rows.find(draft.repairer, keys)
        listener(Progress("plan", str(first.table.name), len(some)))
        for each in some:
            change = _change(draft, each, rows, found)
            if change is not None:
                made.append((each, change))
    return made


def _change(draft: Draft, each: RowEdit, rows: RowTable, found: Found) -> RepairChange | None:
    key = rows.key_of(each.key)
    places = found.places.get(key, []) if key is not None else []
    if key is None or len(places) > 1 or key in found.failed:
        draft.leave_all(
            each.failures, found.failed.get(key, "its key finds more than one row, or none") if key else "NULL"
        )
        return None
    try:
        old = rows.exact_row(found, places[0]) if places else {}
    except Unwritable as reason:
        draft.leave_all(each.failures, f"{reason}: undo could not restore the row")
        return None
    if not places or not _is_as_seen(each, rows, found, places[0]):
        draft.vanished |= {decided.id for decided in each.failures}
        return None
    return RepairChange(
        str(each.table.name),
        each.action,
        dict(each.key),
        old,
        None if each.delete else dict(each.values),
        details=Details(
            tuple(decided.id for decided in each.failures),
            constraints=tuple(sorted({d.failure.constraint for d in each.failures if d.failure.constraint})),
            conditions=tuple(each.conditions),
            defaults=() if each.delete else tuple(each.defaults),
            touch=each.touch and not each.delete,
        ).document(),
    )


def _is_as_seen(each: RowEdit, rows: RowTable, found: Found, place: int) -> bool:
    """Whether the row still has the values that the check saw: checks of indexes show a value as it is written."""
    if any(not rows.is_seen(found, place, n, value) for n, value in each.seen.items() if n in rows.shown):
        return False
    row, exact = rows.shown_row(found, place), rows.exact_row(found, place)
    values = [(decided.value, decided.failure.columns[0]) for decided in each.failures if decided.value is not None]
    return all(_begins_with(value, row.get(name)) or _begins_with(value, exact.get(name)) for value, name in values)


def _begins_with(beginning: str, text: str | None) -> bool:
    """A long value was seen truncated."""
    return text is not None and (text == beginning or (len(beginning.encode()) > _LONG and text.startswith(beginning)))


KEEPS_ONE = (Choice.KEEP_FIRST, Choice.KEEP_LAST)


def all_but_one(draft: Draft, decided: Sequence[Decided]) -> list[Decided]:
    """The duplicates to delete. A row whose duplicates are unknown has to wait."""
    groups: dict[tuple[Any, ...], list[Decided]] = {}
    for each in decided:
        groups.setdefault((each.failure.table, each.failure.constraint, *_in_common(each)), []).append(each)
    found = []
    for group in groups.values():
        if len(group) == 1:
            draft.wait(group[0], "the other rows with the same values are not among the failures")
            continue
        ordered = sorted(group, key=_by_key, reverse=group[0].choice is Choice.KEEP_LAST)
        found += ordered[1:]
    return found


def _in_common(decided: Decided) -> Sequence[str | None]:
    """What duplicates have in common: the rows that they are, or else their values, which may have spellings that only
    the engine considers equal.
    """
    same_as = decided.failure.details.get("same_as")
    if same_as is None or same_as.endswith(" more") or "another row" in same_as:
        return [decided.values.get(name) for name in decided.failure.columns]
    key = decided.failure.primary_key
    own = ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in (key or {}).items())
    by_address = key is None or decided.failure.kind is FailureKind.PRIMARY_KEY_VIOLATION
    return sorted([decided.failure.place or "" if by_address else own, *same_as.split("; ")])


def _by_key(decided: Decided) -> list[tuple[bool, float, str]]:
    """Sorts numbers by size, before all else; addresses by the numbers in them."""
    failure = decided.failure
    if failure.primary_key is not None and failure.kind is not FailureKind.PRIMARY_KEY_VIOLATION:
        parts = [value or "" for value in failure.primary_key.values()]
    else:
        parts = (failure.place or "").strip("()").split(",")
    return [(not _is_number(part), float(part) if _is_number(part) else 0.0, part) for part in parts]


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdigit()


def parents(draft: Draft) -> list[RepairChange]:
    """The parents to insert, one for all rows that refer to it."""
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
    """The first change, for the children of both."""
    one, other = details_of(first), details_of(second)
    both = replace(one, failures=one.failures + other.failures, children=one.children + other.children)
    return replace(first, details=both.document())


def restored(draft: Draft) -> list[RepairChange]:
    return [
        _insert(
            lost.table,
            {name: lost.known[name] for name in lost.table.key},
            dict(lost.known),
            Details(tuple(entry.id for entry in lost.entries)),
        )
        for lost in draft.index_only_rows
        if lost.choice is Choice.RESTORE and all(draft.is_planned(entry) for entry in lost.entries)
    ]


def _parent(draft: Draft, each: Decided) -> RepairChange:
    table = draft.database.table(each.failure.table)
    assert table is not None, "refused before"
    reference = parent_of(each, table, draft.repairer)
    parent = draft.database.table(str(reference.table))
    if parent is None:
        raise Impossible(f"{reference.table} does not exist")
    values = [each.values.get(name) for name in reference.columns]
    if None in values:
        raise Impossible("a part of the reference is NULL or unknown")
    if not is_whole(dict(zip(reference.columns, values, strict=True))):
        raise Impossible(f"the reference is too long to store: more than {LONGEST_IN_FAILURE:,} bytes")
    row: dict[str, str | None] = dict(zip(reference.to, values, strict=True))
    for column in parent.columns:
        given = given_value(parent, column.name, draft.decisions)
        if column.name not in row and given is not None:
            row[column.name] = given
    lacking = [c.name for c in parent.columns if c.name not in row and not (c.nullable or c.default or c.generated)]
    if lacking:
        needed = " ".join(f"--set {reference.table.name}.{name}=VALUE" for name in lacking)
        raise Impossible(f"the parent needs a value for {', '.join(lacking)}: {needed}")
    key = {name: row[name] for name in reference.to}
    child = dict(zip(reference.columns, values, strict=True))
    own_key = each.failure.primary_key
    refers = () if own_key is None else (IsReferredTo(each.failure.table, dict(own_key), child),)
    details = Details((each.id,), conditions=refers, children=_children(each, table, draft.repairer))
    return _insert(parent, key, row, details)


def _insert(table: Table, key: Row, row: Row, details: Details) -> RepairChange:
    return RepairChange(str(table.name), ChangeAction.INSERT, key, None, dict(row), details=details.document())


def _children(each: Decided, table: Table, repairer: Repairer) -> tuple[Child, ...]:
    """The row that lacks a parent, if it has a key or an address."""
    try:
        return (Child(str(table.name), row_key(each, table, repairer)),)
    except Impossible:
        return ()
