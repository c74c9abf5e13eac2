"""The first part of a move: every table, chunk by chunk, in parallel and while it is written to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.connectors.base import Endpoint
from tieout.connectors.moving import ChunkSource, Loader, key_scan
from tieout.model.keys import EVERYTHING, Key, ranges_between
from tieout.model.moving import Chunk, Fence, Transfer
from tieout.spark.work import run_work
from tieout.verify.ranges import sampled_bounds

CHUNK_ROWS = 250_000
_MOST_BOUNDS = 100_000


def plan_chunks(endpoint: Endpoint, transfer: Transfer, chunk_rows: int | None) -> list[Chunk]:
    """Ranges that cover every key, of about so many rows; one of everything where there is no order to cut in."""
    bounds = _bounds(endpoint, transfer, chunk_rows or CHUNK_ROWS)
    return [Chunk(transfer.source.name, n, keys) for n, keys in enumerate(ranges_between(bounds))]


def _bounds(endpoint: Endpoint, transfer: Transfer, rows: int) -> list[Key]:
    scan, table = key_scan(transfer), transfer.source
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
    """A piece of work: reads a chunk and writes it, in one go and in one transaction."""

    source: ChunkSource
    loader: Loader
    fence: Fence
    transfer: Transfer
    chunk: Chunk
    alike: bool

    def run(self) -> Iterator[ChunkCopied]:
        started = time.monotonic()
        with self.source.reading() as reader:
            lines = reader.lines(self.transfer, self.chunk.keys, alike=self.alike)
            rows = self.loader.load_chunk(self.fence, self.transfer, self.chunk, reader.held, lines)
        yield ChunkCopied(rows, time.monotonic() - started)


def copy_chunks(spark: SparkSession, work: Sequence[CopyChunk], tell: Callable[[CopyChunk, ChunkCopied], None]) -> None:
    """Copies chunks, some waves of them. An error ends it; what is copied stays so."""
    tasks = max(1, spark.sparkContext.defaultParallelism)
    for start in range(0, len(work), tasks * 4):
        wave = work[start : start + tasks * 4]
        outcomes = run_work(spark, [[piece] for piece in wave])
        for piece, (outcome,) in zip(wave, outcomes, strict=True):
            if outcome.error is None:
                tell(piece, outcome.only())
        for (outcome,) in outcomes:
            outcome.only()
