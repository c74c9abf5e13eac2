"""Rows that Spark has transformed, on their way to the target: still in the task that read them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from tieout.connectors.protocols.move import STAGE_COLUMNS, Loader, ShareRows, StageTable
from tieout.connectors.sql import copy_text
from tieout.connectors.sql.connection_cache import kept_open
from tieout.errors import SparkFailure, TieoutError, WriteError
from tieout.model.moves import Chunk, Fence, Held, Transfer
from tieout.model.row_changes import ChangeKind
from tieout.model.tables import TableName
from tieout.move.schema_changes import TableProblem
from tieout.move.snapshot import ChunkCopied, CopyChunk
from tieout.move.staging import StagedLogBatch
from tieout.spark.errors import ExpressionFailure
from tieout.spark.executor_work import SCHEMA, Cells, Outcome, map_batches, run_work
from tieout.spark.frames.transforms import TransformedRows, result_batch, transformed, transformed_items

_DELETE = str(int(ChangeKind.DELETE))
_KIND, _PIECE = -len(STAGE_COLUMNS), 1 - len(STAGE_COLUMNS)
"""Where changes have their kind and their piece."""


@dataclass(frozen=True, slots=True)
class ChunkBegins:
    number: int
    held: Held


@dataclass(frozen=True, slots=True)
class ChunkEnds:
    """The end of a chunk: without it, rows are missing."""


@dataclass(frozen=True)
class ReadChunk:
    """A piece of work: reads a chunk, for Spark to transform."""

    number: int
    copy: CopyChunk
    bucket: int

    def run(self) -> Iterator[ChunkBegins | Cells | ChunkEnds]:
        reads = self.copy.transfer.reads
        with self.copy.source.reading() as reader:
            yield ChunkBegins(self.number, reader.held)
            for block in self.copy.read(reader):
                if block:
                    yield Cells(self.bucket, copy_text.cells(block, len(reads.columns)))
            yield ChunkEnds()


def run_transformed(spark: SparkSession, work: Sequence[CopyChunk]) -> list[Outcome]:
    """Copies chunks through Spark, which transforms their rows: each of them in one task.

    A row whose expression fails ends the job for all tables; then each table is copied alone, to see which one fails.
    """
    try:
        return _run_together(spark, work)
    except ExpressionFailure:
        outcomes: dict[int, Outcome] = {}
        for table in dict.fromkeys(piece.chunk.table for piece in work):
            own = {n: piece for n, piece in enumerate(work) if piece.chunk.table == table}
            outcomes.update(zip(own, _run_alone(spark, list(own.values())), strict=True))
        return [outcomes[n] for n in range(len(work))]


def _run_alone(spark: SparkSession, work: Sequence[CopyChunk]) -> list[Outcome]:
    """Copies chunks of one table. If one of its expressions fails, that is the outcome of all of them."""
    try:
        return _run_together(spark, work)
    except ExpressionFailure as failure:
        return [Outcome((), failure.of_table(piece.chunk.table)) for piece in work]


def _run_together(spark: SparkSession, work: Sequence[CopyChunk]) -> list[Outcome]:
    transfers = list(dict.fromkeys(piece.transfer for piece in work))
    pieces = [ReadChunk(n, piece, transfers.index(piece.transfer)) for n, piece in enumerate(work)]
    load = LoadTransformed(work[0].loader, work[0].fence, [(piece.transfer, piece.chunk) for piece in work])
    numbered = dict(enumerate(transfers))

    def then(frame: DataFrame) -> DataFrame:
        return map_batches(transformed(frame, numbered, classed=load.loader.classed), load.run, SCHEMA)

    cells = max(len(transfer.reads.columns) for transfer in transfers)
    return [outcome for (outcome,) in run_work(spark, [[piece] for piece in pieces], cells=cells, then=then)]


@dataclass(frozen=True)
class LoadTransformed:
    """Writes transformed chunks, each in one transaction."""

    loader: Loader
    fence: Fence
    chunks: Sequence[tuple[Transfer, Chunk]]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        items = transformed_items(batches)
        for work, item in items:
            if not isinstance(item, ChunkBegins):
                yield result_batch(work, item)  # an error before the first row
                continue
            transfer, chunk = self.chunks[item.number]
            try:
                with kept_open():
                    lines = _passed(items)
                    rows = self.loader.load_chunk(self.fence, transfer, chunk, item.held, lines)
                    deque(lines, maxlen=0)  # a chunk that is there already: nobody has read them
                yield result_batch(work, ChunkCopied(rows, 0.0))
            except TieoutError as error:
                yield result_batch(work, error)
                _skip(items)


def staged_by(frame: DataFrame, loader: Loader, stages: Mapping[int, StageTable]) -> DataFrame:
    """Transforms and stages the changes in a frame of work with Cells; returns a frame of SCHEMA."""
    transfers = {number: stage.transfer for number, stage in stages.items()}
    rows = transformed(frame, transfers, len(STAGE_COLUMNS), classed=loader.classed)
    return map_batches(rows, StageTransformed(loader, stages).run, SCHEMA)


@dataclass(frozen=True)
class StageTransformed:
    """Stages transformed changes. A row that does not pass the filter is a deleted row."""

    loader: Loader
    stages: Mapping[int, StageTable]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        attempt = token_hex(4)
        stages = {number: stage.of_attempt(attempt) for number, stage in self.stages.items()}
        staged: dict[int, Counter[int]] = {number: Counter() for number in stages}
        wrong: tuple[TableName, TieoutError] | None = None
        with kept_open():
            for work, item in transformed_items(batches):
                if isinstance(item, StagedLogBatch):
                    yield result_batch(
                        work, self._counted(item, stages, staged) if wrong is None else _problem(item, *wrong)
                    )
                elif not isinstance(item, TransformedRows):
                    yield result_batch(work, item)
                elif wrong is None:
                    stage, new = stages[item.number], not staged[item.number]
                    columns = _changes(item, stage.transfer)
                    lines = copy_text.lines(columns)
                    try:
                        if lines:
                            self.loader.stage(stage, [lines], new=new)
                            for piece in columns[_PIECE].value_counts():
                                staged[item.number][int(piece["values"].as_py())] += piece["counts"].as_py()
                    except TieoutError as error:
                        wrong = stage.transfer.source.name, error

    def _counted(
        self, log_batch: StagedLogBatch, stages: Mapping[int, StageTable], staged: Mapping[int, Counter[int]]
    ) -> StagedLogBatch:
        """The batch with the stages of this attempt, and how many rows they got."""
        numbers = {stage.transfer.source.name: number for number, stage in stages.items()}
        changes = []
        for each in log_batch.changes:
            number = numbers.get(each.stage.transfer.source.name)
            if number is not None:
                # Without a key, rows that do not pass the filter are not staged.
                rows = sum(count for piece, count in staged[number].items() if piece >= each.since)
                shares = each.shares if each.stage.transfer.key else (ShareRows(rows),)
                each = replace(each, stage=stages[number], shares=shares)
            changes.append(each)
        return replace(log_batch, changes=tuple(changes))


def _problem(log_batch: StagedLogBatch, table: TableName, error: TieoutError) -> TableProblem | TieoutError:
    """A row that does not fit is a problem of its table; a server that is gone is an error for all."""
    return TableProblem(table, str(error), log_batch.after) if isinstance(error, WriteError) else error


def _changes(rows: TransformedRows, transfer: Transfer) -> list[pa.Array]:
    passes, *columns = rows.columns
    kind = columns[_KIND]
    filtered_out = pc.equal(passes, "false")
    if transfer.key:
        columns[_KIND] = pc.if_else(filtered_out, _DELETE, kind)
        return columns
    through = pc.invert(filtered_out)
    return [column.filter(through) for column in columns]


def _passed(items: Iterator[tuple[int, Any]]) -> Iterator[bytes]:
    """The lines of one chunk, up to its end."""
    for _, item in items:
        if isinstance(item, ChunkEnds):
            return
        if isinstance(item, TieoutError):
            raise item
        passes, *columns = item.columns
        through = pc.equal(passes, "true")
        yield copy_text.lines([column.filter(through) for column in columns])
    raise SparkFailure("Spark lost the end of a chunk", "run the task again")


def _skip(items: Iterator[tuple[int, Any]]) -> None:
    """Skips to the end of a chunk."""
    for _, item in items:
        if isinstance(item, ChunkEnds | TieoutError):
            return
