"""One change of a row in one transaction: read, copy to quarantine, change, commit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from tieout.canonical.decode import decode
from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.endpoint import retry_cautiously
from tieout.connectors.protocols.paths import NotCheckable, Path
from tieout.connectors.protocols.repair import Refused, Repairer, Row
from tieout.connectors.registry import open_checker
from tieout.meta import ChangeAction, RepairChange
from tieout.model.tables import Table
from tieout.repair.execute import End, in_transaction
from tieout.repair.from_failures.database import Database
from tieout.repair.from_failures.details import Condition, HasDuplicate, IsReferredTo, LacksEntry, NoParent, details_of
from tieout.repair.from_failures.triggers import Triggers
from tieout.repair.quarantine import Copy, Quarantine
from tieout.repair.rows import RowTable, Unwritable, row_table

Ended = tuple[End, str | None]

_GONE = "the failure is gone"


@dataclass
class RowChanges:
    """`doubted` are tables with an index that is known to be wrong and not rebuilt yet."""

    database: Database
    quarantine: Quarantine
    doubted: Callable[[str], bool]

    def __post_init__(self) -> None:
        self._entries: dict[tuple[str, str], set[str]] = {}
        self._wanted: dict[tuple[str, str], set[str]] = {}
        self._triggers = Triggers(self.repairer)

    @property
    def repairer(self) -> Repairer:
        return self.database.repairer

    def expect(self, change: RepairChange) -> None:
        """Notes index entries that a later change needs: the index is read once for all of them."""
        for each in details_of(change).conditions:
            if isinstance(each, LacksEntry):
                self._wanted.setdefault((change.table, each.index), set()).add(each.address)

    def carry_out(self, change: RepairChange) -> Ended:
        table = self.database.table(change.table)
        if table is None:
            return End.REFUSED, "the table is not there any more"
        rows = row_table(table, self.repairer, tuple(change.key))
        reason = rows if isinstance(rows, str) else self._triggers.at_apply(table, change)
        if isinstance(rows, str) or reason is not None:
            return End.REFUSED, reason
        self.quarantine.make()
        return transact(self.repairer, lambda: self._attempt(change, rows))

    def _attempt(self, change: RepairChange, rows: RowTable) -> Ended:
        """Carries it out in a transaction. Quarantine shows what was committed before a crash."""
        copied = bool(self.quarantine.kept(change.sequence))
        together = self.repairer.is_transactional(rows.table)
        if copied and together:
            return End.DONE, None
        if self.doubted(change.table):
            self.repairer.read_no_index()
        end = self._look(change, rows)
        if end is not None and not (copied and end[0] is End.ALREADY):
            return end
        if together:
            self._copy(change, self._change(change, rows))
            return End.DONE, None
        if not copied:
            # No transaction holds both: after a crash, copies of rows that were not changed are rechecked.
            self._copy(change, None)
            self.repairer.commit()
            self.repairer.begin()
        self.quarantine.set_left(
            change.sequence, self._change(change, rows) if end is None else self._left(change, rows)
        )
        return End.DONE, None

    def _look(self, change: RepairChange, rows: RowTable) -> Ended | None:
        """None if all is as planned; else what became of the change."""
        key = rows.key_of(change.key)
        found = rows.find(self.repairer, [key], lock=True) if key is not None else None
        if key is None or found is None or key in found.failed:
            return End.REFUSED, "its key finds no row" if found is None or key is None else found.failed[key]
        places = found.places.get(key, [])
        if change.action is ChangeAction.INSERT:
            if places:
                return End.ALREADY, "a row of this key is there"
            return self._gone(change, {})
        if not places:
            already = change.action is ChangeAction.DELETE
            return (End.ALREADY, "the row is gone") if already else (End.CHANGED, "the row is gone")
        try:
            current = [rows.exact_row(found, place) for place in places]
        except Unwritable as reason:
            return End.CHANGED, str(reason)
        if current != [change.old_row]:
            if len(current) == 1 and _is_changed_so(change, rows, current[0]):
                return End.ALREADY, "the row is already as it would be"
            return End.CHANGED, "the row has changed since the plan was made"
        return self._gone(change, rows.shown_row(found, places[0]))

    def _gone(self, change: RepairChange, row: Row) -> Ended | None:
        for each in details_of(change).conditions:
            reason = self._is_gone(change, each, row)
            if reason is not None:
                return End.CHANGED, reason
        return None

    def _is_gone(self, change: RepairChange, condition: Condition, row: Row) -> str | None:
        match condition:
            case NoParent():
                return f"{_GONE}: the parent is there" if self._has_parent(condition, row) else None
            case HasDuplicate(columns):
                same = self._count(change.table, {name: row[name] for name in columns})
                return None if same > 1 else f"{_GONE}: no other row has the same values"
            case LacksEntry(index, address):
                found = address in self._entries_of(change.table, index)
                return f"{_GONE}: {index} has an entry of the row now" if found else None
            case IsReferredTo(table, key, values):
                refers = self._count(table, key, values)
                return None if refers else f"{_GONE}: the row that referred to it has changed"

    def _has_parent(self, condition: NoParent, row: Row) -> bool:
        key = dict(zip(condition.to, (row[name] for name in condition.columns), strict=True))
        return None not in key.values() and self._count(condition.table, key) > 0

    def _count(self, name: str, key: Row, values: Row | None = None) -> int:
        """Rows with this key and these values; read without indexes, one of which may be wrong."""
        table = self.database.table(name)
        rows = row_table(table, self.repairer, tuple(key)) if table is not None else "gone"
        if isinstance(rows, str):
            raise Refused(f"{name} can't be read: {rows}")
        wanted = rows.key_of(key)
        if wanted is None:
            return 0
        rows = rows.no_index_hint(self.repairer)
        found = rows.find(self.repairer, [wanted])
        if wanted in found.failed:
            raise Refused(f"{name} can't be read: {found.failed[wanted]}")
        # All that the engine considers equal, however it is written.
        shown = [rows.shown_row(found, place) for place in range(len(found.rows))]
        return sum(all(row.get(column) == value for column, value in (values or {}).items()) for row in shown)

    def _entries_of(self, table_name: str, index: str) -> set[str]:
        table = self.database.table(table_name)
        assert table is not None, "it was there a moment ago"
        at = table_name, index
        if at not in self._entries:
            self._entries[at] = places_in(self.database.url, table, index, self._wanted.get(at, set()))
        return self._entries[at]

    def _change(self, change: RepairChange, rows: RowTable) -> Row | None:
        """The row after the change; None if there is none."""
        for statement in statements_of(change, rows, self.repairer):
            changed = self.repairer.execute(statement)
            if changed != 1:
                # Reporting it and going on is not enough: the transaction would change rows that it must not change.
                why = "it would delete the rows that refer to it" if not changed else "its key is not unique"
                raise Refused(f"{changed} rows would be changed: {why}")
        left = self._left(change, rows)
        if change.action is ChangeAction.UPDATE and left == change.old_row:
            raise Refused("it was written again, and is as it was")
        return left

    def _left(self, change: RepairChange, rows: RowTable) -> Row | None:
        if change.action is ChangeAction.DELETE:
            return None
        key = rows.key_of(change.key)
        assert key is not None, "it was looked up"
        found = rows.find(self.repairer, [key])
        (place,) = found.places.get(key, [None])
        if place is None:
            raise Refused("its key no longer finds the changed row")
        return rows.exact_row(found, place)

    def _copy(self, change: RepairChange, left: Row | None) -> None:
        failure = next(iter(details_of(change).failures), "")
        what = "inserted" if change.action is ChangeAction.INSERT else "row"
        self.quarantine.keep(Copy(change.sequence, 0, failure, what, change.table, change.key, change.old_row, left))


def _is_changed_so(change: RepairChange, rows: RowTable, row: Row) -> bool:
    """Whether a row is as an update would leave it, apart from values that the engine computes."""
    if change.action is not ChangeAction.UPDATE or not change.new_row:
        return False
    unknown = {*details_of(change).defaults, *(c.name for c in rows.table.columns if c.generated)}
    planned = {**(change.old_row or {}), **change.new_row}
    return all(row.get(name) == value for name, value in planned.items() if name not in unknown)


def statements_of(change: RepairChange, rows: RowTable, repairer: Repairer) -> list[str]:
    details, table = details_of(change), rows.table
    # As the row itself spells it.
    key: Row = {name: (change.old_row or {}).get(name, text) for name, text in change.key.items()}
    if change.action is ChangeAction.INSERT:
        return [repairer.statements.insert(table, change.new_row or {})]
    if change.action is ChangeAction.DELETE:
        losing = [reference for reference in repairer.references(table) if reference.loses]
        return [repairer.statements.delete(table, key, losing)]
    statements = []
    if change.new_row:
        statements.append(repairer.statements.update(table, key, change.new_row))
    if details.defaults:
        statements.append(repairer.default_statement(table, key, details.defaults))
    if details.touch and not statements:
        statements += repairer.rewrite_statements(table, key, change.old_row or {})
    return statements


def transact(repairer: Repairer, do: Callable[[], Ended]) -> Ended:
    """Runs `do` in a transaction; commits if it changed something."""
    try:
        return in_transaction(repairer, do, commits=lambda ended: ended[0] is End.DONE)
    except Refused as refusal:
        return End.REFUSED, refusal.message


def places_in(url: EndpointUrl, table: Table, index: str, wanted: set[str]) -> set[str]:
    """The addresses that an entry of the index leads to. Refused if the index can't be read."""
    with closing(open_checker(url)) as checker:
        (described,) = checker.describe([table.name])
        found = [info for info in checker.indexes(described) if info.name == index]
        if not found:
            raise Refused(f"{index} no longer exists")
        if found[0].unchecked is not None:
            raise Refused(f"{index} can't be read: {found[0].unchecked}")
        path = checker.index_path(found[0])
        if isinstance(path, NotCheckable):
            raise Refused(f"{index} can't be read: {path.reason}")
        return _read(checker, path, wanted)


def _read(checker: Checker, path: Path, wanted: set[str]) -> set[str]:
    def consume(way: Path) -> set[str]:
        there: set[str] = set()
        for part in way.parts(1):
            for batch in way.read(part):
                address = [decode(c.kind, array) for c, array in zip(way.address, batch.columns, strict=False)]
                for row in range(batch.num_rows):
                    place = checker.address_text([each.text(row) for each in address])
                    if place in wanted:
                        there.add(place)
        return there

    return retry_cautiously(path, consume)
