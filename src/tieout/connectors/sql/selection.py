"""A table that is created with other columns than its source's: some are chosen, renamed or computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tieout.connectors.sql.ddl import Wiring
from tieout.model.tables import Column, Index, Table

NOT_MOVED = "whose columns are not all moved unchanged"
SHARED = "which rows of several tables might violate"


@dataclass(frozen=True, slots=True)
class Selection:
    """The columns of a new table.

    `columns` are their names in order, each with the source's column whose values it has, or None if it is computed.
    `key` identifies rows on the target; `own_key`: it is another one than the source's. `shared`: several tables of the
    source go there. `computed` describes the computed columns; `lines` defines them in the target's dialect, if the
    target has the engine of the source.
    """

    columns: tuple[tuple[str, str | None], ...]
    key: tuple[str, ...]
    shared: bool = False
    own_key: bool = False
    computed: Mapping[str, Column] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)

    @property
    def origins(self) -> dict[str, str]:
        """The names of columns on the target, by those on the source."""
        return {origin: name for name, origin in self.columns if origin is not None}

    @property
    def unchanged(self) -> frozenset[str]:
        """The columns that have the same name on both sides: definitions that name only these stay true."""
        return frozenset(name for name, origin in self.columns if name == origin)

    def reason_without(self, columns: Iterable[str], *, between_tables: bool = False) -> str | None:
        """Why an index or constraint on these columns of the source is left out, if it is. `between_tables`: rows of
        another table may violate it.
        """
        if between_tables and self.shared:
            return SHARED
        return None if set(columns) <= self.unchanged else NOT_MOVED


def selected(table: Table, wiring: Wiring, selection: Selection) -> tuple[Table, Wiring, list[str]]:
    """The table to create, described independently of an engine; and what it lacks, in words."""
    names = selection.origins
    columns = tuple(
        selection.computed[name] if origin is None else replace(table.column(origin), name=name)
        for name, origin in selection.columns
    )
    left_out: list[str] = []
    indexes = []
    for index in table.indexes:
        if index.primary or index.columns == table.key:
            continue
        reason = SHARED if index.unique and selection.shared else None
        if reason is None and not set(index.columns) <= names.keys():
            reason = NOT_MOVED
        if reason is None:
            indexes.append(replace(index, columns=tuple(names[name] for name in index.columns)))
        else:
            left_out.append(f"{'unique ' if index.unique else ''}index {index.name}, {reason}")
    references = []
    for reference in wiring.references:
        reason = SHARED if selection.shared else NOT_MOVED if not set(reference.columns) <= names.keys() else None
        if reason is None:
            references.append(replace(reference, columns=tuple(names[name] for name in reference.columns)))
        else:
            left_out.append(f"foreign key {reference.name}, {reason}")
    left_out += [
        f"check {each.name}, {reason}"
        for each in table.constraints
        if each.kind == "check" and (reason := selection.reason_without(each.columns))
    ]
    numbers = {names[name]: number for name, number in wiring.numbers.items() if name in names}
    key = Index("", selection.key, unique=True, primary=True)
    made = replace(table, columns=columns, key=selection.key, indexes=(*([key] if selection.key else []), *indexes))
    return replace(made, constraints=(), sampled_keys=()), Wiring(numbers, tuple(references)), left_out
