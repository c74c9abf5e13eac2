"""What is wished of one row: all that was decided about its failures, in one change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tieout.connectors.repairing import Parent, Repairer
from tieout.connectors.writing import Row
from tieout.meta import ChangeAction
from tieout.model.failures import FailureKind
from tieout.model.mends import Decisions
from tieout.model.remedies import Choice
from tieout.model.tables import Table
from tieout.model.truncated import LONGEST_IN_FAILURE, is_whole
from tieout.repair.from_failures.deciding import Decided
from tieout.repair.from_failures.details import Condition, HasDuplicate, LacksEntry, NoParent

DUPLICATES = (FailureKind.UNIQUE_VIOLATION, FailureKind.PRIMARY_KEY_VIOLATION)


class Impossible(Exception):
    """What was decided can't be done; the message says why."""


@dataclass
class Wish:
    """`seen` are columns as the check saw them."""

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
    def by_place(self) -> bool:
        return not set(self.key) <= set(self.table.column_names)

    @property
    def goes_first(self) -> bool:
        """Before its indexes are rebuilt: a duplicate would prevent that, and a missing entry is looked at again."""
        first = (*DUPLICATES, FailureKind.MISSING_INDEX_ENTRY)
        return any(each.failure.kind in first for each in self.failures)


def row_key(decided: Decided, table: Table, repairer: Repairer) -> Row:
    """What the row is found by: its key, or its place where the key is what is wrong, or is none."""
    failure = decided.failure
    if failure.primary_key is not None and failure.kind is not FailureKind.PRIMARY_KEY_VIOLATION:
        if not is_whole(failure.primary_key):
            raise Impossible(f"its key is too long to be kept: more than {LONGEST_IN_FAILURE:,} bytes")
        return dict(failure.primary_key)
    place = repairer.place(table)
    if place is None or failure.place is None:
        raise Impossible("nothing tells this row from others like it")
    return {place.name: failure.place}


def wish(decided: Decided, table: Table, repairer: Repairer, decisions: Decisions) -> Wish:
    """What one failure's choice wishes of its row; Impossible if it can't be."""
    made = Wish(table, row_key(decided, table, repairer), failures=[decided], seen=dict(decided.values))
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
            raise Impossible(f"{decided.choice} is no change of a row")
    if made.by_place and not made.delete:
        raise Impossible("the table has no key by which the changed row would be found again: it can only be deleted")
    if any(table.column(name).generated for name in (*made.values, *made.defaults)):
        raise Impossible("a generated column takes no value: change what it is computed from")
    made.conditions = _conditions(decided, table, repairer, columns)
    return made


def _conditions(decided: Decided, table: Table, repairer: Repairer, columns: list[str]) -> list[Condition]:
    kind = decided.failure.kind
    if kind is FailureKind.FOREIGN_KEY_VIOLATION:
        parent = parent_of(decided, table, repairer)
        return [NoParent(str(parent.table), tuple(parent.columns), tuple(parent.to))]
    if kind in DUPLICATES:
        if not columns or len(columns) < len(decided.failure.columns):
            raise Impossible("its key has an expression: whether another row is the same can't be looked at again")
        return [HasDuplicate(tuple(columns))]
    if kind is FailureKind.MISSING_INDEX_ENTRY:
        if decided.failure.place is None or decided.failure.index is None:
            raise Impossible("the engine tells no place of an entry: whether it is still missing can't be looked at")
        return [LacksEntry(decided.failure.index, decided.failure.place)]
    return []


def parent_of(decided: Decided, table: Table, repairer: Repairer) -> Parent:
    parent = repairer.parent(table, decided.failure.constraint or "", decided.failure.columns)
    if parent is None:
        raise Impossible(f"{decided.failure.constraint} is no foreign key of {table.name} any more")
    return parent


def _nullable(table: Table, columns: Iterable[str]) -> list[str]:
    found = [name for name in columns if table.column(name).nullable and name not in table.key]
    if not found:
        raise Impossible(f"{', '.join(columns) or 'no column of it'} must not be NULL")
    return found


def _given(table: Table, columns: Iterable[str], decisions: Decisions) -> Mapping[str, str]:
    given = {name: text for name in columns if (text := given_value(table, name, decisions)) is not None}
    if not given:
        raise Impossible(f"no value is given: --set {next(iter(columns), 'COLUMN')}=VALUE")
    return given


def given_value(table: Table, column: str, decisions: Decisions) -> str | None:
    for name in (f"{table.name}.{column}", f"{table.name.name}.{column}", column):
        if name in decisions.values:
            return decisions.values[name]
    return None


def merged(wishes: Iterable[Wish]) -> list[Wish]:
    """One for each row. Whoever wants it deleted prevails; else all their values are written at once."""
    by_row: dict[tuple[str, tuple[tuple[str, str | None], ...]], Wish] = {}
    for each in wishes:
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
