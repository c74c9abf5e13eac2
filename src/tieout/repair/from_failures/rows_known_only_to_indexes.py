"""Rows that are gone from their table, but not from its indexes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tieout.connectors.protocols.repair import Row
from tieout.model.failures import FailureKind
from tieout.model.repair import LostRow
from tieout.model.repair_choices import Choice
from tieout.model.tables import Table
from tieout.model.truncated import LONGEST_IN_FAILURE, is_whole
from tieout.repair.from_failures.decisions import Decided


@dataclass(frozen=True)
class IndexOnlyRow:
    """Entries of several indexes for one row address. `conflicts` are columns in which they disagree."""

    table: Table
    place: str | None
    entries: tuple[Decided, ...]
    known: Row
    conflicts: tuple[str, ...]

    @property
    def choice(self) -> Choice | None:
        """A decision about one of the entries is a decision about the row."""
        chosen = {entry.choice for entry in self.entries}
        if Choice.RESTORE in chosen:
            return Choice.RESTORE
        return None if None in chosen else self.entries[0].choice

    @property
    def unknown(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.table.columns if c.name not in self.known and not c.generated)

    def unrestorable(self) -> str | None:
        """Why the row can't be inserted again, if it can't."""
        if self.conflicts:
            return f"the indexes disagree about {', '.join(self.conflicts)}"
        if not is_whole(self.known):
            return f"a value is too long to store: more than {LONGEST_IN_FAILURE:,} bytes"
        key = [name for name in self.table.key if self.known.get(name) is None]
        if key or not self.table.key:
            return f"its key is unknown: no index has {', '.join(key) or 'one'}"
        needed = [self.table.column(name) for name in self.unknown]
        lost = [c.name for c in needed if not c.nullable and c.default is None]
        return f"no index has {', '.join(lost)}, which must not be NULL and has no default" if lost else None

    def summary(self) -> LostRow:
        choice = self.choice
        return LostRow(
            str(self.table.name),
            self.place,
            tuple(dict.fromkeys(entry.failure.index or "" for entry in self.entries)),
            dict(self.known),
            self.unknown,
            tuple(entry.id for entry in self.entries),
            None if choice is None else choice.value,
        )


def index_only_rows(
    decided: Iterable[Decided],
    table_of: Callable[[str], Table | None],
    columns_from_address: Callable[[Table, str], Row],
) -> list[IndexOnlyRow]:
    """Groups entries by row address: each group is one row; an entry without an address is a row by itself."""
    found: dict[tuple[str, str], list[Decided]] = {}
    for each in decided:
        if each.failure.kind is FailureKind.DANGLING_INDEX_ENTRY:
            found.setdefault((each.failure.table, each.failure.place or each.id), []).append(each)
    made = []
    for (name, _), entries in found.items():
        table = table_of(name)
        if table is not None:
            made.append(_index_only_row(table, entries, columns_from_address))
    return made


def _index_only_row(
    table: Table, entries: list[Decided], columns_from_address: Callable[[Table, str], Row]
) -> IndexOnlyRow:
    place = entries[0].failure.place
    known: dict[str, str | None] = dict(columns_from_address(table, place)) if place is not None else {}
    conflicts = []
    for entry in entries:
        for name, value in entry.entry.items():
            if name not in table.column_names:
                continue  # an expression
            if known.setdefault(name, value) != value:
                conflicts.append(name)
    return IndexOnlyRow(table, place, tuple(entries), known, tuple(dict.fromkeys(conflicts)))
