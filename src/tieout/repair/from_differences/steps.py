"""One planned change as it is carried out, forwards or backwards: what must be there, and the statement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tieout.canonical.numbers import within
from tieout.connectors.writing import Row, Statements
from tieout.meta import ChangeAction, RepairChange
from tieout.model.keys import Key
from tieout.model.kinds import Kind
from tieout.repair.from_differences.deciding import key_of
from tieout.repair.from_differences.looking import Found, Unwritable, exact_row
from tieout.repair.from_differences.tables import RepairTable


class Look(Enum):
    """What another look at the target's row says of a step."""

    READY = "as it was when the step was planned"
    DONE = "as the step would leave it"
    CHANGED = "neither"


@dataclass(frozen=True, slots=True)
class Step:
    """`backwards` undoes the change."""

    table: RepairTable
    change: RepairChange
    backwards: bool = False

    @property
    def key(self) -> Key:
        key = key_of(self.table, self.change.key)
        assert key is not None, "a change with no key is never planned"
        return key

    @property
    def action(self) -> ChangeAction:
        if not self.backwards:
            return self.change.action
        inverse = {ChangeAction.INSERT: ChangeAction.DELETE, ChangeAction.DELETE: ChangeAction.INSERT}
        return inverse.get(self.change.action, self.change.action)

    @property
    def values(self) -> Row:
        """What the step writes: the columns that change, or all of a row."""
        change = self.change
        new, old = change.new_row or {}, change.old_row or {}
        if not self.backwards:
            return new
        return {name: old[name] for name in new} if change.action is ChangeAction.UPDATE else old

    @property
    def whole(self) -> Row:
        """The row as an update leaves it, all columns."""
        return {**(self.change.old_row or {}), **self.values}

    @property
    def target_key(self) -> Row:
        """The key as the target spells it."""
        row = {**(self.change.new_row or {}), **(self.change.old_row or {})}
        return {name: row[name] for name in self.table.key}

    def look(self, found: Found) -> Look:
        """Whether the row is still what the step was planned for. Written values must be those that were written."""
        places = found.places.get(self.key, [])
        if len(places) > 1 or self.key in found.failed:
            return Look.CHANGED
        is_old, is_new = self._is_old(found, places), self._is_new(found, places)
        if is_old and is_new:
            return Look.DONE
        before, after = (is_new, is_old) if self.backwards else (is_old, is_new)
        return Look.READY if before else Look.DONE if after else Look.CHANGED

    def _is_old(self, found: Found, places: list[int]) -> bool:
        old = self.change.old_row
        if old is None or not places:
            return old is None and not places
        if self.backwards and self.change.action is ChangeAction.UPDATE:
            old = self.values
        try:
            current = exact_row(self.table, found, places[0])
        except Unwritable:
            return False
        return all(name in current and current[name] == text for name, text in old.items())

    def _is_new(self, found: Found, places: list[int]) -> bool:
        new = self.change.new_row
        if new is None or not places:
            return new is None and not places
        fills = {fill.column.name: fill for fill in self.table.fills}
        try:
            return all(
                name in fills and same(fills[name].kind, found.text(places[0], fills[name].target), text)
                for name, text in new.items()
            )
        except Unwritable:
            return False

    def statement(self, statements: Statements) -> str:
        table = self.table.table
        if self.action is ChangeAction.INSERT:
            return statements.insert(table, self.values)
        if self.action is ChangeAction.DELETE:
            return statements.delete(table, self.target_key, self.table.losing)
        return statements.update(table, self.target_key, self.values)


def same(kind: Kind, a: str | None, b: str | None) -> bool:
    """Whether two texts of a form are one value, a tolerance applied."""
    if a == b or a is None or b is None or kind.tolerance is None:
        return a == b
    return within(a, b, kind.tolerance)
