"""The triggers that a repair would set off: why it leaves a row alone, unless somebody accepts that they run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tieout.connectors.protocols.repair import Repairer, Trigger
from tieout.meta import ChangeAction, RepairChange
from tieout.model.repair_choices import Choice
from tieout.model.tables import Table
from tieout.repair.from_failures.details import details_of

_DOES = {ChangeAction.DELETE: "DELETE", ChangeAction.INSERT: "INSERT", ChangeAction.UPDATE: "UPDATE"}
_UNDOES = {ChangeAction.DELETE: "INSERT", ChangeAction.INSERT: "DELETE", ChangeAction.UPDATE: "UPDATE"}
_CHOSEN = {
    Choice.DELETE: "DELETE",
    Choice.KEEP_FIRST: "DELETE",
    Choice.KEEP_LAST: "DELETE",
    Choice.SET_NULL: "UPDATE",
    Choice.SET_DEFAULT: "UPDATE",
    Choice.REPLACE: "UPDATE",
    Choice.INSERT_PARENT: "INSERT",
    Choice.RESTORE: "INSERT",
}


class Triggers:
    """The triggers that a change would set off. Neither undo nor quarantine covers what they change elsewhere.

    Looks up each table's triggers once.
    """

    def __init__(self, repairer: Repairer) -> None:
        self._repairer = repairer
        self._known: dict[str, Sequence[Trigger]] = {}

    def set_off_by(self, table: Table, choice: Choice | None) -> str | None:
        """Why the choice can't be applied to rows of a table; None if no trigger would run."""
        if choice is Choice.RECOMPUTE:
            return _or_accept(self._running(table, self._repairer.rewrite_events))
        return _or_accept(self._running(table, [_CHOSEN[choice]])) if choice in _CHOSEN else None

    def at_apply(self, table: Table, change: RepairChange) -> str | None:
        details = details_of(change)
        if details.triggers:
            return None
        touched = details.touch and not (change.new_row or details.defaults)
        return _or_accept(self._running(table, self._repairer.rewrite_events if touched else [_DOES[change.action]]))

    def at_undo(self, table: Table, change: RepairChange) -> str | None:
        return None if details_of(change).triggers else self._running(table, [_UNDOES[change.action]])

    def _running(self, table: Table, events: Iterable[str]) -> str | None:
        name = str(table.name)
        if name not in self._known:
            self._known[name] = self._repairer.triggers(table)
        found = [f"{each.name} ({each.event})" for each in self._known[name] if each.event in events]
        if not found:
            return None
        several = f"triggers {', '.join(found)}" if len(found) > 1 else f"a trigger {found[0]}"
        return f"{name} has {several} that would run: drop or disable {'them' if len(found) > 1 else 'it'} first"


def _or_accept(reason: str | None) -> str | None:
    return None if reason is None else f"{reason}, or plan with --choose triggers=run"
