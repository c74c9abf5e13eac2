"""The first part of a move: copies every table, chunk by chunk, in parallel and while others write to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import ChunkReader, ChunkSource, Loader, key_scan
from tieout.errors import TieoutError
from tieout.model.defaults import COPY_CHUNK_ROWS
from tieout.model.keys import EVERYTHING, Key, ranges_between
from tieout.model.moves import Chunk, Fence, Transfer
from tieout.model.tables import TableName
from tieout.rate_limit import rate_limited
from tieout.runtime.dispatch import slots
from tieout.runtime.ranges import sampled_bounds
from tieout.spark.executor_work import Outcome, run_work

_MOST_BOUNDS = 100_000
_A_WAVE = 12


def plan_chunks(endpoint: Endpoint, transfer: Transfer, chunk_rows: int | None, *, one: bool = False) -> list[Chunk]:
    """Key ranges of about `chunk_rows` rows that cover every key; one range of everything if keys have no order, or for
    a target that has no transactions (`one`): it is emptied before each try.
    """
    bounds = [] if one else _bounds(endpoint, transfer, chunk_rows or COPY_CHUNK_ROWS)
    return [Chunk(transfer.source.name, n, keys) for n, keys in enumerate(ranges_between(bounds))]


def _bounds(endpoint: Endpoint, transfer: Transfer, rows: int) -> list[Key]:
    scan, table = key_scan(transfer.reads), transfer.source
    if not scan.ordered_by:
        return []
    parts = len(table.sampled_keys) - 1
    if table.estimated_rows and table.estimated_rows <= rows * parts:
        return sampled_bounds(table.sampled_keys, table.estimated_rows, rows)
    return endpoint.reader().bounds(scan, EVERYTHING, rows, _MOST_BOUNDS)


@dataclass(frozen=True, slots=True)
class ChunkCopied:
    rows: int
    seconds: float


@dataclass(frozen=True)
class CopyChunk:
    """A piece of work: reads a chunk and writes it in one transaction."""

    source: ChunkSource
    loader: Loader
    fence: Fence
    transfer: Transfer
    chunk: Chunk
    same_engine: bool
    rows_per_second: float | None = None

    def read(self, reader: ChunkReader) -> Iterator[bytes]:
        """The chunk's lines, as fast as the rate allows."""
        lines = reader.lines(self.transfer.reads, self.chunk.keys, same_engine=self.same_engine)
        return rate_limited(lines, lambda block: block.count(b"\n"), self.rows_per_second)

    def run(self) -> Iterator[ChunkCopied]:
        started = time.monotonic()
        with self.source.reading() as reader:
            rows = self.loader.load_chunk(self.fence, self.transfer, self.chunk, reader.held, self.read(reader))
        yield ChunkCopied(rows, time.monotonic() - started)


Runner = Callable[[SparkSession, Sequence[CopyChunk]], list[Outcome]]


def run_plain(spark: SparkSession, work: Sequence[CopyChunk]) -> list[Outcome]:
    """From the reader straight to the writer, in one Python worker."""
    return [outcome for (outcome,) in run_work(spark, [[piece] for piece in work])]


def copy_chunks(
    spark: SparkSession,
    work: Sequence[CopyChunk],
    run: Runner,
    report: Callable[[CopyChunk, ChunkCopied], None],
    failed: Callable[[CopyChunk, TieoutError], bool],
) -> None:
    """Copies chunks in waves. An error ends it; copied chunks stay copied. `report` gets each copied chunk.

    `failed` returns whether to go on without the table of a chunk that can't be copied.
    """
    given_up: set[TableName] = set()
    # At the end of each wave some tasks wait for the last; between two waves the mover can pause.
    size = slots(spark) * _A_WAVE
    for start in range(0, len(work), size):
        wave = [piece for piece in work[start : start + size] if piece.chunk.table not in given_up]
        outcomes = run(spark, wave) if wave else []
        for piece, outcome in zip(wave, outcomes, strict=True):
            if outcome.error is None:
                report(piece, outcome.only())
        for piece, outcome in zip(wave, outcomes, strict=True):
            if outcome.error is not None and piece.chunk.table not in given_up:
                if not failed(piece, outcome.error):
                    raise outcome.error
                given_up.add(piece.chunk.table)
