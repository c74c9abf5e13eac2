"""The pieces of a move in this process: what they do with a value needs no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from tests.integration.moving.pairs import Moving
from tieout.config.urls import parse_url
from tieout.connectors.protocols.move import Merge, Source, Target
from tieout.connectors.registry import open_endpoint, open_source, open_target
from tieout.model.keys import EVERYTHING
from tieout.model.moves import Chunk, Fence, Transfer
from tieout.model.positions import Position
from tieout.move.create_tables import TableCreator
from tieout.move.plan import as_made
from tieout.move.schema_changes import TableProblem
from tieout.move.snapshot import CopyChunk
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.move.staging import StagedLogBatch, StageLogBatch
from tieout.tasks.routing import routes, transfer_of


@dataclass
class Pieces:
    """One table on its way. `began` is where the source's log stood when it was made."""

    source: Source
    target: Target
    fence: Fence
    transfer: Transfer
    same_engine: bool
    began: Position

    def copy(self) -> None:
        """All its rows, as one chunk."""
        (chunk,) = self.target.chunks.of(self.fence.task, [self.transfer.source.name])
        reader, loader = self.source.chunk_source(), self.target.loader()
        list(CopyChunk(reader, loader, self.fence, self.transfer, chunk, self.same_engine).run())

    def stage(self) -> str | None:
        """All that its log tells; what is wrong with it, in words."""
        outcome = self._staged()
        return outcome.reason if isinstance(outcome, TableProblem) else None

    def apply(self) -> list[str]:
        """All that its log tells, merged; what is to be remarked of it."""
        staged = self._staged()
        assert isinstance(staged, StagedLogBatch)
        changes = [self.target.settle(each) for each in staged.changes]
        merge = Merge(changes, self.began, staged.upto, staged.versions)
        return self.target.merge(self.fence, merge, with_progress=True)

    def work(self) -> StageLogBatch:
        """All that its log tells, to be staged; it may be run several times."""
        stages = self.target.make_stages(self.fence, [self.transfer])
        overlaps = dict.fromkeys(stages, SnapshotOverlap(()))
        log = self.source.log(self.fence.task)
        reader, loader = self.source.chunk_source(), self.target.loader()
        return StageLogBatch(log, reader, loader, stages, overlaps, self.same_engine, self.began, log.now())

    def _staged(self) -> StagedLogBatch | TableProblem:
        (outcome,) = self.work().run()
        assert isinstance(outcome, StagedLogBatch | TableProblem)
        return outcome


@contextmanager
def pieces(moving: Moving) -> Iterator[Pieces]:
    """The task's table, made on the target if it is missing there."""
    request, urls = moving.request, (parse_url(moving.source.url), parse_url(moving.target.url))
    with (
        closing(open_endpoint(urls[0])) as a,
        closing(open_endpoint(urls[1])) as b,
        closing(open_target(urls[1])) as to,
    ):
        source = open_source(urls[0])
        same_engine = a.capabilities.family == b.capabilities.family
        to.prepare()
        fence = to.progress.take(request.task, "a test")
        (route,) = routes(a, b, request)
        (table,) = a.describe([route.source])
        TableCreator(source, to, fence, same_engine).create_missing([route], {route.source: table})
        (found,) = b.describe([route.target])
        there = as_made(found, table, to.progress.made(request.task).get(str(route.source)))
        transfer = transfer_of(
            route.request, table, there, same_engine=same_engine, logs_generated_columns=source.logs_generated_columns
        )
        to.chunks.plan(fence, [Chunk(route.source, 0, EVERYTHING)])
        began = to.progress.begin_at(fence, lambda: source.begin_log(request.task, [route.source]))
        yield Pieces(source, to, fence, transfer, same_engine, began)
        to.progress.release(fence)
