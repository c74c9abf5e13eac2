"""Indexes that are rebuilt, the failures that wait for each other because of it, and sequences that are set forward."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.connectors.protocols.repair import Refused
from tieout.meta import ChangeAction, RepairChange
from tieout.model.repair_choices import Choice
from tieout.repair.from_failures.decisions import Decided
from tieout.repair.from_failures.details import Details, IndexEntry
from tieout.repair.from_failures.draft import Draft

_REPAIRS_INDEX = {Choice.REBUILD, Choice.CREATE, Choice.QUARANTINE}


def wait_for_each_other(draft: Draft) -> None:
    """A rebuild changes all of an index, and a row is restored from all that tell of it: all have to be decided."""
    groups = [*_by_index(draft).values(), *(ghost.entries for ghost in draft.ghosts)]
    while any(_wait_in(draft, group) for group in groups):
        pass


def rebuilds(draft: Draft) -> list[RepairChange]:
    """One for each index; one for a table, where the engine repairs all of them at once."""
    by_statements: dict[tuple[str, ...], list[tuple[str, list[Decided]]]] = {}
    for (name, index), failures in _by_index(draft).items():
        table = draft.database.table(name)
        if table is not None and _free(draft, failures):
            by_statements.setdefault(tuple(draft.repairer.rebuilding(table, index)), []).append((index, failures))
    return [_rebuild(statements, indexes) for statements, indexes in by_statements.items()]


def _by_index(draft: Draft) -> dict[tuple[str, str], list[Decided]]:
    found: dict[tuple[str, str], list[Decided]] = {}
    for each in draft.decided:
        if each.failure.index is not None and _REPAIRS_INDEX & set(each.remedy.choices):
            found.setdefault((each.failure.table, each.failure.index), []).append(each)
    return found


def _free(draft: Draft, group: Sequence[Decided]) -> list[Decided]:
    """Those that a rebuild is for: to delete a row is another change."""
    return [each for each in group if draft.is_planned(each) and each.choice is not Choice.DELETE]


def _wait_in(draft: Draft, group: Sequence[Decided]) -> bool:
    """Whether there is one more that has to wait."""
    left, waits = (any(each.id in found for each in group) for found in (draft.left, draft.open))
    free = _free(draft, group)
    for each in free:
        if left:
            draft.leave(each, "another entry is left as it is: its index is not rebuilt")
        elif waits:
            draft.wait(each, "its index is rebuilt when all of its entries are decided")
    return bool(free) and (left or waits)


def _rebuild(statements: Sequence[str], indexes: Sequence[tuple[str, Sequence[Decided]]]) -> RepairChange:
    failures = [each for _, found in indexes for each in found]
    # A chosen restore brings back a row that entries told of; what they told is kept all the same.
    entries = [
        IndexEntry(each.id, each.failure.index or "", each.failure.place, each.entry) for each in failures if each.entry
    ]
    details = Details(
        tuple(each.id for each in failures if each.choice is not Choice.DELETE),
        tuple(name for name, _ in indexes),
        statements=tuple(statements),
        entries=tuple(entries),
    )
    key = {"index": ", ".join(name for name, _ in indexes)}
    return RepairChange(failures[0].failure.table, ChangeAction.REBUILD, key, details=details.document())


def advanced(draft: Draft) -> list[RepairChange]:
    made = []
    for each in draft.decided:
        table = draft.database.table(each.failure.table)
        if each.choice is Choice.ADVANCE and draft.is_planned(each) and table is not None:
            column, sequence = each.failure.columns[0], each.failure.details.get("sequence")
            try:
                statements = tuple(draft.repairer.advancing(table, column, sequence))
            except Refused as refusal:
                draft.leave(each, refusal.message)
                continue
            details = Details((each.id,), statements=statements).document()
            made.append(RepairChange(each.failure.table, ChangeAction.ADVANCE, {"column": column}, details=details))
    return made
