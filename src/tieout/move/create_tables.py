"""Creates the target's missing tables: first what rows need, later what would only slow the copy down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pyspark.sql import SparkSession

from tieout.connectors.protocols.move import Loader, Source, Target, clashing_names
from tieout.connectors.sql.ddl import ForeignKey, Part, Structure, UnsupportedColumn
from tieout.errors import MissingObjectError, UnsupportedError, WriteError
from tieout.model.moves import Fence, Transfer
from tieout.model.tables import Table, TableName
from tieout.spark.executor_work import run_work
from tieout.tasks.routing import OURS, Route

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

    def create_missing(self, routes: Sequence[Route], tables: Mapping[TableName, Table]) -> None:
        """Creates missing tables. UnsupportedError names all columns that the target can't hold, and creates none."""
        missing = [route for route in routes if not route.exists]
        self._refuse_lost(missing)
        structures = self._structures([tables[route.source] for route in missing])
        for route, structure in zip(missing, structures, strict=True):
            self.target.progress.make(self.fence, route.source, route.target)
            self.target.run(self.fence, route.target, structure.create)

    def index(self, spark: SparkSession, transfers: Sequence[Transfer]) -> None:
        """Creates indexes once all rows are copied: several tables side by side."""
        todo = [transfer for transfer in transfers if self._step(transfer) == Step.EMPTY]
        work = [
            RunStatements(
                self.target.loader(),
                self.fence,
                transfer.target.name,
                self._missing_parts(transfer, structure.indexes),
            )
            for transfer, structure in zip(todo, self._structures([t.source for t in todo]), strict=True)
        ]
        for (outcome,) in run_work(spark, [[piece] for piece in work if piece.statements]):
            outcome.only()
        for transfer in todo:
            self.target.progress.step(self.fence, transfer.source.name, Step.INDEXED)

    def finish(self, transfers: Sequence[Transfer]) -> list[str]:
        """Adds constraints once all rows have one position, and sets sequences to the source's values each time.

        Returns remarks about what it left out.
        """
        made = [transfer for transfer in transfers if self._step(transfer) is not None]
        structures = self._structures([transfer.source for transfer in made])
        todo = [pair for pair in zip(made, structures, strict=True) if self._step(pair[0]) == Step.INDEXED]
        for transfer, structure in todo:
            self.target.run(self.fence, transfer.target.name, self._missing_parts(transfer, structure.unique))
        targets = {transfer.source.name: transfer.target.name for transfer in transfers}
        remarks = []
        for transfer, structure in todo:
            remarks += [self._refer(transfer, key, targets.get(key.parent)) for key in structure.references]
            self.target.progress.step(self.fence, transfer.source.name, Step.FINISHED)
        for transfer, structure in zip(made, structures, strict=True):
            self.target.run(self.fence, transfer.target.name, structure.counters)
        return [remark for remark in remarks if remark is not None]

    def _refuse_lost(self, missing: Sequence[Route]) -> None:
        """Refuses to create a table again whose rows were copied before: it would stay empty."""
        chunks = self.target.progress.chunks(self.fence.task, [route.source for route in missing])
        copied = {chunk.table for chunk in chunks if chunk.held is not None}
        for route in missing:
            if route.source in copied:
                raise MissingObjectError(*lost_table(route))

    def _missing_parts(self, transfer: Transfer, parts: Sequence[Part]) -> tuple[str, ...]:
        """The statements without those that an earlier mover has run."""
        built = self.target.built(transfer.target.name)
        return tuple(part.statement for part in parts if part.name not in built.indexes | built.constraints)

    def _refer(self, transfer: Transfer, key: ForeignKey, parent: TableName | None) -> str | None:
        """Adds a foreign key; returns a remark if it has to leave it out, since rows do not wait for it."""
        name = f"{transfer.target.name}: without its foreign key {key.part.name}"
        if parent is None:
            return f"{name}, since {key.parent} is not moved"
        if key.part.name in self.target.built(transfer.target.name).constraints:
            return None
        try:
            self.target.run(self.fence, transfer.target.name, [key.part.statement], parent)
        except WriteError as error:
            return f"{name}: {error.message}"
        return None

    def _step(self, transfer: Transfer) -> int | None:
        return self.target.progress.made(self.fence.task).get(str(transfer.source.name))

    def _structures(self, tables: Sequence[Table]) -> list[Structure]:
        """The definitions as the source has them now."""
        found = [self._structure(table) for table in tables]
        refused = [
            words for table, structure in zip(tables, found, strict=True) for words in self._words(table, structure)
        ]
        if refused:
            raise UnsupportedError(f"the target can't hold {'; '.join(refused)}", CREATE_IT)
        return [structure for structure in found if isinstance(structure, Structure)]

    def why_not(self, table: Table) -> str | None:
        """Why the table can't be created on the target, if it can't."""
        refused = [f"{table.name}.{name}: {OURS}" for name in clashing_names(table.column_names)]
        refused += self._words(table, self._structure(table))
        return f"the target can't hold {'; '.join(refused)}" if refused else None

    def _words(self, table: Table, structure: Structure | list[UnsupportedColumn]) -> list[str]:
        return [f"{table.name}.{column.column}: {column.reason}" for column in self._unsupported(structure)]

    def _structure(self, table: Table) -> Structure | list[UnsupportedColumn]:
        if self.same_engine:
            return self.source.structure(table)
        return self.target.structure_of(table, self.source.wiring(table))

    def _unsupported(self, structure: Structure | list[UnsupportedColumn]) -> list[UnsupportedColumn]:
        if not isinstance(structure, Structure):
            return structure
        lacking = self.target.missing_types(sorted(set(structure.needs.values()))) if structure.needs else []
        return [
            UnsupportedColumn(column, f"it has no type {kind}")
            for column, kind in structure.needs.items()
            if kind in lacking
        ]


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
