"""Makes the target's tables that are missing: first what rows need, later what would only have slowed them down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pyspark.sql import SparkSession

from tieout.connectors.moving import Loader, Source, Target
from tieout.connectors.structure import Structure
from tieout.errors import UnsupportedError
from tieout.model.moving import Transfer
from tieout.model.tables import Table, TableName
from tieout.move.transfers import Route
from tieout.spark.work import run_work


class Step(IntEnum):
    """How far a table is that was made."""

    EMPTY = 0
    INDEXED = 1
    FINISHED = 2


@dataclass(frozen=True)
class Maker:
    """`alike`: both sides are of one engine, and a table is made as the source's own is."""

    source: Source
    target: Target
    task: str
    alike: bool

    def make_missing(self, routes: Sequence[Route], tables: Mapping[TableName, Table]) -> None:
        """UnsupportedError names every column that the target can't hold. Nothing is made then."""
        missing = [route for route in routes if not route.exists]
        structures = {route: self._structure(tables[route.source]) for route in missing}
        for route, structure in structures.items():
            self.target.progress.make(self.task, route.source, route.target)
            self.target.run(route.target, structure.create)

    def index(self, spark: SparkSession, transfers: Sequence[Transfer]) -> None:
        """Once all rows are copied: several tables side by side."""
        todo = [transfer for transfer in transfers if self._step(transfer) == Step.EMPTY]
        work = [
            RunStatements(self.target.loader(), transfer.target.name, self._structure(transfer.source).indexes)
            for transfer in todo
        ]
        for (outcome,) in run_work(spark, [[piece] for piece in work]):
            outcome.only()
        for transfer in todo:
            self.target.progress.step(self.task, transfer.source.name, Step.INDEXED)

    def finish(self, transfers: Sequence[Transfer]) -> None:
        """Once all rows are of one position."""
        todo = [(t, self._structure(t.source)) for t in transfers if self._step(t) == Step.INDEXED]
        for transfer, structure in todo:
            self.target.run(transfer.target.name, (*structure.unique, *structure.counters))
        for transfer, structure in todo:
            self.target.run(transfer.target.name, structure.references)
            self.target.progress.step(self.task, transfer.source.name, Step.FINISHED)

    def _step(self, transfer: Transfer) -> int | None:
        return self.target.progress.made(self.task).get(str(transfer.source.name))

    def _structure(self, table: Table) -> Structure:
        if self.alike:
            return self.source.structure(table)
        found = self.target.structure_of(table)
        if isinstance(found, Structure):
            return found
        refused = "; ".join(f"{column.column}: {column.reason}" for column in found)
        raise UnsupportedError(f"{table.name} can't be made on the target: {refused}", "make it there, or leave it out")


@dataclass(frozen=True)
class RunStatements:
    """A piece of work: statements of a Structure, in order."""

    loader: Loader
    table: TableName
    statements: tuple[str, ...]

    def run(self) -> Iterator[None]:
        self.loader.run(self.table, self.statements)
        yield None
