"""Creates the target's missing tables: first what rows need, later what would only slow the copy down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum

from pyspark.sql import SparkSession

from tieout.connectors.protocols.move import Loader, Source, Target, clashing_names
from tieout.connectors.sql.ddl import ForeignKey, Part, Structure, UnsupportedColumn, Wiring
from tieout.connectors.sql.selection import Selection, selected
from tieout.errors import MissingObjectError, UnsupportedError, WriteError
from tieout.model.moves import Fence, Transfer
from tieout.model.tables import Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.spark.executor_work import run_work
from tieout.spark.frames.computed_types import computed_types
from tieout.tasks.created import disagreement, selection_from, typed
from tieout.tasks.routing import OURS, Route, created_columns, merged_targets
from tieout.tasks.transforms import names_in

Session = Callable[[], SparkSession]

CREATE_IT = "create the table there, or leave it out"


class Step(IntEnum):
    """How far a table is that the task has created."""

    EMPTY = 0
    INDEXED = 1
    FINISHED = 2


@dataclass(frozen=True)
class TableCreator:
    """`same_engine`: both sides have the same engine, and the table is created exactly like the source's."""

    source: Source
    target: Target
    fence: Fence
    same_engine: bool
    _names: dict[tuple[str, str], TableName] = field(init=False, default_factory=dict)
    """The tables of indexes that are about to be created, by schema and name."""

    def create_missing(
        self, routes: Sequence[Route], tables: Mapping[TableName, Table], session: Session | None = None
    ) -> None:
        """Creates missing tables. UnsupportedError names all columns that the target can't hold, and creates none.

        `session` is called only if Spark has to say which type a computed column has.
        """
        missing = [route for route in routes if not route.exists]
        self._refuse_lost(missing)
        merged = merged_targets(missing)
        selections = [created_columns(route, tables[route.source], merged) for route in missing]
        wanted = [
            (tables[route.source], self._typed(route, tables[route.source], selection, session))
            for route, selection in zip(missing, selections, strict=True)
        ]
        refuse_unlike(missing, wanted)
        structures = self._structures(wanted)
        for route, structure in zip(missing, structures, strict=True):
            same = [other for other in missing if other.target == route.target]
            if same[0] is route:  # all are recorded before the one table exists, or a killed mover's would be lost
                for other in same:
                    self.target.progress.make(self.fence, other.source, other.target)
                self.target.run(self.fence, route.target, structure.create)

    def index(self, spark: SparkSession, transfers: Sequence[Transfer]) -> None:
        """Creates indexes once all rows are copied: several tables side by side."""
        todo = [transfer for transfer in transfers if self._step(transfer) == Step.EMPTY]
        first = _first_of_each(todo)
        work = [
            RunStatements(
                self.target.loader(),
                self.fence,
                transfer.target.name,
                self._missing_parts(transfer, structure.indexes),
            )
            for transfer, structure in zip(first, self._structures(_as_created(first, transfers)), strict=True)
        ]
        for (outcome,) in run_work(spark, [[piece] for piece in work if piece.statements]):
            outcome.only()
        for transfer in todo:
            self.target.progress.step(self.fence, transfer.source.name, Step.INDEXED)

    def finish(self, transfers: Sequence[Transfer]) -> list[str]:
        """Adds constraints and sets sequences to the source's values, once all rows have one position. Returns remarks
        about what it left out.
        """
        made = [transfer for transfer in transfers if self._step(transfer) is not None]
        structures = self._structures(_as_created(made, transfers))
        todo = [pair for pair in zip(made, structures, strict=True) if self._step(pair[0]) == Step.INDEXED]
        for transfer, structure in todo:
            self.target.run(self.fence, transfer.target.name, self._missing_parts(transfer, structure.unique))
        targets = {transfer.source.name: transfer.target.name for transfer in transfers}
        remarks: list[str | None] = []
        for transfer, structure in todo:
            remarks += [self._remark(transfer, key, targets.get(key.parent)) for key in structure.references]
            with suppress(WriteError):
                # The source's column may hold more by now, and its counter be beyond the target's: a later run sets it.
                self.target.run(self.fence, transfer.target.name, structure.counters)
            self.target.progress.step(self.fence, transfer.source.name, Step.FINISHED)
        for transfer, structure in zip(made, structures, strict=True):
            remarks += [f"{transfer.target.name}: without the source's {lacks}" for lacks in structure.left_out]
        return [remark for remark in remarks if remark is not None]

    def _refuse_lost(self, missing: Sequence[Route]) -> None:
        """Refuses to create a table again whose rows were copied before: it would stay empty."""
        chunks = self.target.chunks.of(self.fence.task, [route.source for route in missing])
        copied = {chunk.table for chunk in chunks if chunk.held is not None}
        for route in missing:
            if route.source in copied:
                raise MissingObjectError(*lost_table(route))

    def _missing_parts(self, transfer: Transfer, parts: Sequence[Part]) -> tuple[str, ...]:
        """The statements without those that an earlier mover has run."""
        table = transfer.target.name
        built = self.target.built(table)
        named = list(parts)
        if built.elsewhere is not None:
            claimed = {name for (schema, name), by in self._names.items() if schema == table.schema and by != table}
            named = [part.named_for(table) if part.name in built.elsewhere | claimed else part for part in parts]
            self._names.update({(table.schema, part.name): table for part in named})
        return tuple(part.statement for part in named if part.name not in built.indexes | built.constraints)

    def refer_again(self, transfers: Sequence[Transfer]) -> list[tuple[Transfer, ForeignKey, str | None]]:
        """Adds the foreign keys that `finish` had to leave out; returns them, with the reason where it has to again."""
        made = [transfer for transfer in transfers if self._step(transfer) == Step.FINISHED]
        structures = self._structures(_as_created(made, transfers))
        targets = {transfer.source.name: transfer.target.name for transfer in transfers}
        tried = []
        for transfer, structure in zip(made, structures, strict=True):
            there = self.target.built(transfer.target.name).constraints
            for key in structure.references:
                if key.parent in targets and key.part.name not in there:
                    tried.append((transfer, key, self._refer(transfer, key, targets[key.parent])))
        return tried

    def _remark(self, transfer: Transfer, key: ForeignKey, parent: TableName | None) -> str | None:
        """Adds a foreign key; returns a remark if it has to leave it out, since rows do not wait for it."""
        name = f"{transfer.target.name}: without its foreign key {key.part.name}"
        if parent is None:
            return f"{name}, since {key.parent} is not moved"
        if key.part.name in self.target.built(transfer.target.name).constraints:
            return None
        reason = self._refer(transfer, key, parent)
        return None if reason is None else f"{name}: {reason}"

    def _refer(self, transfer: Transfer, key: ForeignKey, parent: TableName) -> str | None:
        """Adds a foreign key; returns why the target refuses it, if it does."""
        try:
            self.target.run(self.fence, transfer.target.name, [key.part.statement], parent)
        except (WriteError, MissingObjectError) as error:  # the parent may have other columns, or another key
            return error.message
        return None

    def _step(self, transfer: Transfer) -> int | None:
        return self.target.progress.made(self.fence.task).get(str(transfer.source.name))

    def _typed(
        self, route: Route, table: Table, selection: Selection | None, session: Session | None
    ) -> Selection | None:
        """The selection with the types of its computed columns."""
        if selection is None or session is None:
            return selection
        texts = {n: route.request.expressions[n][0] for n, origin in selection.columns if origin is None}
        if not texts:
            return self._with_lines(table, selection)
        used = frozenset[str]().union(*map(names_in, texts.values()))
        types = computed_types(session(), table, texts, used)
        refused = [f"{table.name}.{name}: {reason}" for name, reason in types.items() if isinstance(reason, str)]
        if refused:
            raise UnsupportedError(f"the target can't hold {'; '.join(refused)}", CREATE_IT)
        columns = typed(selection, {name: t for name, t in types.items() if isinstance(t, LogicalType)})
        return self._with_lines(table, replace(selection, computed=columns))

    def _with_lines(self, table: Table, selection: Selection) -> Selection:
        """The selection with definitions of its computed columns, for a target of the same engine."""
        computed = [name for name, origin in selection.columns if origin is None]
        if not self.same_engine or not computed:
            return selection
        described, _, _ = selected(table, Wiring(), selection)
        lines = self.target.declared(described, computed)
        if isinstance(lines, list):
            refused = "; ".join(f"{table.name}.{column.column}: {column.reason}" for column in lines)
            raise UnsupportedError(f"the target can't hold {refused}", CREATE_IT)
        return replace(selection, lines=lines)

    def _structures(self, tables: Sequence[tuple[Table, Selection | None]]) -> list[Structure]:
        """The definitions as the source has them now."""
        found = [self._structure(*each) for each in tables]
        refused = [
            words
            for (table, _), structure in zip(tables, found, strict=True)
            for words in self._words(table, structure)
        ]
        if refused:
            raise UnsupportedError(f"the target can't hold {'; '.join(refused)}", CREATE_IT)
        return [structure for structure in found if isinstance(structure, Structure)]

    def why_not(self, table: Table, selection: Selection | None = None) -> str | None:
        """Why the table can't be created on the target, if it can't. The types of computed columns are decided when it
        is created, because only Spark knows them.
        """
        names = table.column_names if selection is None else [name for name, _ in selection.columns]
        refused = [f"{table.name}.{name}: {OURS}" for name in clashing_names(names)]
        if selection is not None:
            selection = self._with_lines(table, selection)
        refused += self._words(table, self._structure(table, selection))
        return f"the target can't hold {'; '.join(refused)}" if refused else None

    def _words(self, table: Table, structure: Structure | list[UnsupportedColumn]) -> list[str]:
        return [f"{table.name}.{column.column}: {column.reason}" for column in self._unsupported(structure)]

    def _structure(self, table: Table, selection: Selection | None) -> Structure | list[UnsupportedColumn]:
        if selection is not None and (refused := self._uncomputable(table, selection)):
            return refused
        if self.same_engine:
            return self.source.structure(table, selection)
        wiring = self.source.wiring(table)
        if selection is None:
            return self.target.structure_of(table, wiring)
        table, wiring, left_out = selected(table, wiring, selection)
        structure = self.target.structure_of(table, wiring)
        return replace(structure, left_out=tuple(left_out)) if isinstance(structure, Structure) else structure

    def _uncomputable(self, table: Table, selection: Selection) -> list[UnsupportedColumn]:
        """Columns that are renamed, which Spark does, and that the target would have in a form that it can't write."""
        renamed = [(name, origin) for name, origin in selection.columns if origin and name in selection.computed]
        found = [(name, table.column(origin)) for name, origin in renamed]
        return [
            UnsupportedColumn(name, f"a transform can't compute {column.type}")
            for name, column in found
            if column.type.name is TypeName.BITS or (column.generated and self.same_engine)
        ]

    def _unsupported(self, structure: Structure | list[UnsupportedColumn]) -> list[UnsupportedColumn]:
        if not isinstance(structure, Structure):
            return structure
        lacking = self.target.missing_types(sorted(set(structure.needs.values()))) if structure.needs else []
        return [
            UnsupportedColumn(column, f"it has no type {kind}")
            for column, kind in structure.needs.items()
            if kind in lacking
        ]


def _first_of_each(transfers: Sequence[Transfer]) -> list[Transfer]:
    """One transfer for each target table: several tables may go to one, which is created once."""
    return list({transfer.target.name: transfer for transfer in reversed(transfers)}.values())


def _as_created(made: Sequence[Transfer], transfers: Sequence[Transfer]) -> list[tuple[Table, Selection | None]]:
    """The tables of the source, with the columns that their targets have."""
    targets = Counter(transfer.target.name for transfer in transfers)
    return [
        (each.source, selection_from(each, shared=targets[each.target.name] > 1 or _is_shared(each))) for each in made
    ]


def _is_shared(transfer: Transfer) -> bool:
    """Whether rows of other tables may be there, perhaps of one that was stopped: the key tells them apart."""
    if transfer.source.key:
        return len(transfer.key) > len(transfer.source.key)
    return transfer.shape is not None and transfer.shape.shared


def refuse_unlike(routes: Sequence[Route], wanted: Sequence[tuple[Table, Selection | None]]) -> None:
    """UnsupportedError if tables that go to one table, which the task has to create, need other columns there."""
    first: dict[TableName, tuple[Route, Table]] = {}
    for route, (table, selection) in zip(routes, wanted, strict=True):
        described = table if selection is None else selected(table, Wiring(), selection)[0]
        known, other = first.setdefault(route.target, (route, described))
        if reason := disagreement(other, described):
            raise UnsupportedError(
                f"{known.source} and {route.source} would both go to {route.target}, which does not exist, and need "
                f"different columns there: {reason}",
                "create the target table first",
            )


def lost_table(route: Route) -> tuple[str, str]:
    """The message and the fix for a table whose rows were copied and that no longer exists."""
    return f"{route.target} is gone, and {route.source} was copied to it", "drop the task and start over"


@dataclass(frozen=True)
class RunStatements:
    """A piece of work: statements of a Structure, in order."""

    loader: Loader
    fence: Fence
    table: TableName
    statements: tuple[str, ...]

    def run(self) -> Iterator[None]:
        self.loader.run(self.fence, self.table, self.statements)
        yield None
