"""The move itself: plan, copy, make indexes, follow. Whatever ends it, it can be begun again where the target is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from pyspark.sql import SparkSession

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Merge, Source, StageTable, Target
from tieout.errors import BusyError, LogLostError, TieoutError, UnsupportedError
from tieout.failpoints import reach
from tieout.meta.positions import Moves
from tieout.model.moves import Chunk, Delivery, Fence, Transfer
from tieout.model.positions import Position
from tieout.model.requests import MoveRequest
from tieout.model.tables import TableName
from tieout.model.types import TypeName
from tieout.move.create_tables import Maker
from tieout.move.follow import Follower, LogBatches
from tieout.move.log_batch import LogBatchStaged
from tieout.move.plan import Planner
from tieout.move.retry import Retry
from tieout.move.schema_changes import Adapter, Incompatible, Trouble, TroubleFound
from tieout.move.snapshot import ChunkCopied, CopyChunk, copy_chunks, plan_chunks, run_plain
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.move.status import StatusKeeper
from tieout.move.transformed_rows import run_transformed
from tieout.runtime.control import HoldingControl
from tieout.runtime.dispatch import rate_of_a_task
from tieout.runtime.throttle import Throttle

_BEGIN_ANEW = "drop the task and begin anew"
_LAG_SECONDS = 2.0
_RETENTION_SECONDS = 60.0
T = TypeVar("T")


@dataclass
class Mover:
    """One task, by who owns it."""

    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    source: Source
    target: Target
    fence: Fence
    moves: Moves
    status: StatusKeeper
    control: HoldingControl
    throttle: Throttle
    tell: Callable[[StatusKeeper], None]
    transfers: list[Transfer] = field(init=False, default_factory=list)
    _looked: float = field(init=False, default=0.0)
    _looked_at_retention: float = field(init=False, default=0.0)

    def run(self, session: Callable[[], SparkSession], *, until_caught_up: bool) -> None:
        """Until it is stopped (Stopped); or, if asked, until it has caught up with where the log was."""
        maker = Maker(self.source, self.target, self.fence, self._alike)
        planner = Planner(self.request, self.endpoints, maker, self.fence)
        self.transfers = planner.transfers()
        self.status.changed_before(self.target.progress.versions(self.request.task))
        self.status.given_up(planner.given_up())
        self._refuse_nothing()
        self._begin_log()
        self._retried(self._start)  # a log that is gone is told before a row is copied
        self._look_at_retention()
        self.status.planned(self.transfers, self._chunks())
        self._retried(self._watch_targets)
        spark = session()
        self._copy_retried(spark)
        reach("after-copy")
        # A connection that was not used while rows were copied may be gone by now.
        self._retried(lambda: maker.index(spark, self.transfers))
        self._retried(lambda: self.target.rebuilt(self.fence, self.transfers))
        self.status.become("following")
        self._follow(spark, self._retried(self._log.now))
        self._retried(lambda: self._finish(maker))
        reach("after-switch")
        if not until_caught_up:
            self._follow(spark, None)

    @property
    def _log(self) -> ChangeLog:
        return self.source.log(self.request.task)

    @property
    def _names(self) -> list[TableName]:
        return [transfer.source.name for transfer in self.transfers]

    def _begin_log(self) -> None:
        known = self.target.progress.read(self.request.task)
        assert known is not None
        if known.began is None:
            self.target.progress.begin_at(self.fence, lambda: self.source.begin_log(self.request.task, self._names))

    def _chunks(self) -> list[Chunk]:
        known = self.target.progress.chunks(self.request.task, self._names)
        planned = {chunk.table for chunk in known}
        for transfer in self.transfers:
            if transfer.source.name not in planned:
                chunks = plan_chunks(self.endpoints[0], transfer, self.request.options.chunk_rows)
                self.target.progress.plan_chunks(self.fence, chunks)
        return self.target.progress.chunks(self.request.task, self._names)

    def _refuse_nothing(self) -> None:
        """UnsupportedError if earlier movers had to give up every table."""
        if not self.transfers:
            reason = self.status.stopped_tables[0].stopped
            raise UnsupportedError(f"every table of the task {self.request.task} is stopped: {reason}", _BEGIN_ANEW)

    def _copy_retried(self, spark: SparkSession) -> None:
        """Begins again with the chunks that are left, if a server was away for a while."""
        retry = self._retry()
        while True:
            try:
                chunks = self._chunks()
                self.status.planned(self.transfers, chunks)
                retry.reached(sum(chunk.held is not None for chunk in chunks))
                return self._copy(spark, chunks)
            except TieoutError as error:
                retry.wait(error)

    def _retried(self, work: Callable[[], T]) -> T:
        """What the work returns, which does no harm if it is done twice."""
        retry = self._retry()
        while True:
            try:
                return work()
            except TieoutError as error:
                retry.wait(error)

    def _finish(self, maker: Maker) -> None:
        self.status.consistent_from = str(_highest(self.target.progress.chunks(self.request.task, self._names)))
        self.status.remarks += maker.finish(self.transfers)
        self.target.rebuilt(self.fence, self.transfers)

    def _retry(self) -> Retry:
        return Retry(self.target, self.status, self.control, self.tell)

    def _copy(self, spark: SparkSession, chunks: Sequence[Chunk]) -> None:
        by_name = {transfer.source.name: transfer for transfer in self.transfers}
        reader, loader = self.source.chunk_source(), self.target.loader()
        rate = rate_of_a_task(spark, self.request.options.max_rows_per_second)
        work = [
            CopyChunk(reader, loader, self.fence, by_name[chunk.table], chunk, self._alike, rate)
            for chunk in chunks
            if chunk.held is None
        ]
        if not work:
            return
        self.status.become("copying")

        def copied(piece: CopyChunk, result: ChunkCopied) -> None:
            self.status.copied(piece.chunk, result.rows)
            self.tell(self.status)
            self.control.hold()

        for run, wanted in ((run_plain, False), (run_transformed, True)):
            copy_chunks(spark, [piece for piece in work if (piece.transfer.shape is not None) is wanted], run, copied)

    @property
    def _alike(self) -> bool:
        return self.endpoints[0].capabilities.family == self.endpoints[1].capabilities.family

    def _follow(self, spark: SparkSession, goal: Position | None, *, exact: bool = False) -> bool:
        """Until the goal is reached; without one until it is stopped. Begins again where the target is.

        If the source's log is another one by now, its end is as good a goal; unless it is this place or none (`exact`):
        then it is not reached.
        """
        retry = self._retry()
        while True:
            try:
                start, batch_end = self._start()
                self._watch_targets()
                retry.reached(start)
                if goal is not None and not start.is_same_log(goal):
                    if exact:
                        return False
                    goal = self._log.now()
                # Up to an exact place a batch is applied in part: what is left of it is another one.
                trouble = self._followed(spark, start, None if exact else batch_end, goal)
                if trouble is None:
                    return True
                self._overcome(spark, trouble)
            except TieoutError as error:
                retry.wait(error)

    def _followed(
        self, spark: SparkSession, start: Position, batch_end: Position | None, goal: Position | None
    ) -> Trouble | None:
        """What kept it from getting there, if it was one table. `batch_end`: a batch that is to be applied again."""
        stages = self.target.make_stages(self.fence, self.transfers)
        follower = self._follower(spark, start, self._overlaps(), stages)
        try:
            self._watch(start)
            if batch_end is not None:
                follower.replay(batch_end)
                start = follower.applied
                follower = self._follower(spark, start, self._overlaps(), stages)
            if goal is None:
                follower.run(self._look)
            else:
                follower.catch_up(goal, self.control.hold)
        except TroubleFound as found:
            return found.trouble
        return None

    def _overcome(self, spark: SparkSession, trouble: Trouble) -> None:
        """Columns that were added are followed, from where they were; any other trouble stops its table."""
        if trouble.exact and not self._follow(spark, trouble.before, exact=True):
            return  # the log is another one, and tells of it in another place
        found = [transfer for transfer in self.transfers if transfer.source.name == trouble.table]
        if not found:
            return  # there was another trouble with it on the way
        (transfer,), reason = found, trouble.reason
        if trouble.columns is not None:
            adapter = Adapter(self.source, self.target, self.fence, self.endpoints, self._alike)
            try:
                adapted = adapter.adapted(transfer, trouble.columns, trouble.defaults)
                self.transfers = [adapted if t is transfer else t for t in self.transfers]
                self.target.progress.plan_columns(self.fence, trouble.table, adapted.source.column_names)
                self.target.rebuilt(self.fence, [adapted])
                return
            except Incompatible as error:
                reason = f"{trouble.reason}: {error}"
        self._stop_table(transfer, reason)

    def _stop_table(self, transfer: Transfer, reason: str) -> None:
        self.target.progress.stop_table(self.fence, transfer.source.name, reason)
        self.transfers.remove(transfer)
        self.status.stopped(transfer.source.name, reason)
        if not self.transfers:
            raise UnsupportedError(reason, _BEGIN_ANEW)

    def _watch_targets(self) -> None:
        """Stops tables whose rows are older than the progress: they were restored without it."""
        chunks = self.target.progress.chunks(self.request.task, self._names)
        for table, reason in self.target.watch(self.fence, self.transfers, chunks).items():
            (transfer,) = (each for each in self.transfers if each.source.name == table)
            self._stop_table(transfer, f"{reason}: it was restored, or made anew, without the progress of the task")

    def _follower(
        self,
        spark: SparkSession,
        start: Position,
        overlap: dict[TableName, SnapshotOverlap],
        stages: dict[TableName, StageTable],
    ) -> Follower:
        options = self.request.options
        batches = LogBatches(
            self._log,
            start,
            options.batch_bytes,
            options.poll_seconds,
            self.source.chunk_source(),
            self.target.loader(),
            overlap,
            self._alike,
            stages,
        )
        return Follower(
            spark, batches, self.target, self.fence, self.request.delivery, self._keep, self.control.hold, self._applied
        )

    def _overlaps(self) -> dict[TableName, SnapshotOverlap]:
        chunks = self.target.progress.chunks(self.request.task, self._names)
        found = {}
        for transfer in self.transfers:
            own = [chunk for chunk in chunks if chunk.table == transfer.source.name]
            columns = [transfer.reads.source_columns[place] for place in transfer.reads.key]
            integer = len(columns) == 1 and columns[0].type.name is TypeName.INTEGER
            found[transfer.source.name] = SnapshotOverlap.of(own, integer=integer)
        return found

    def _start(self) -> tuple[Position, Position | None]:
        """Where the rows are, as a place in the log that the source has now; and where a batch ends that may have been

        applied behind it. LogLostError unless it is proven that the log goes on there.
        """
        known = self.target.progress.read(self.request.task)
        assert known is not None
        start = known.reached
        assert start is not None
        if self.request.delivery is Delivery.AT_MOST_ONCE:
            start = self._behind_lost_batch(start)
        chunks = self.target.progress.chunks(self.request.task, self._names)
        held = [chunk.held.settled or chunk.held.position for chunk in chunks if chunk.held is not None]
        ahead = [place for place in held if not (start.is_same_log(place) and start.reaches(place))]
        found = self._log.resume(start, ahead)
        if found == start:
            return start, known.batch_end
        is_other = not start.is_same_log(found)
        if is_other and ahead:
            raise LogLostError(
                f"the source's log is another one since rows were copied at {ahead[0]}",
                "nobody knows which changes they hold: drop the task, empty its tables and begin anew",
            )
        self.target.progress.rebase(self.fence, start, found, chunks=is_other)
        if self.request.delivery is Delivery.AT_MOST_ONCE:
            self.moves.keep_batch(self.status.job_id, self.request.task, found.text, found.text)
        self.status.remarks.append(f"the source was started anew or replaced: its log goes on behind {found}")
        end = None if is_other or known.batch_end is None else known.batch_end.of_log(found.log)
        return found, end

    def _behind_lost_batch(self, start: Position) -> Position:
        """At most once: a batch that was begun is not applied again. Only that one is given up, and no other."""
        kept = self.moves.kept_batch(self.request.task)
        if kept is None:
            return start
        after, upto = (None if text is None else Position(text) for text in kept)
        assert upto is not None
        if upto.is_same_log(start) and start.reaches(upto):
            return start
        if after is not None and after != start:
            raise LogLostError(
                f"the target's rows are at {start}, and it had come to {after} before",
                "it was put back to an earlier copy, and at-most-once applies nothing a second time: "
                "run the task with at-least-once, or drop it and begin anew",
            )
        self.status.remarks.append(f"changes from {start} to {upto} may be lost: at-most-once")
        self.target.record(self.fence, Merge((), start, upto))
        return upto

    def _keep(self, after: Position, upto: Position) -> None:
        """Before the batch is applied, and by nobody whose task another one has taken over."""
        with self.target.progress.together(self.fence):
            # Here first: the source can't be asked for what it has let go.
            self.moves.keep_batch(self.status.job_id, self.request.task, after.text, upto.text)
            if self.source.keeps_position:
                with suppress(BusyError):  # a later batch will do
                    self._log.confirm(upto)

    def _look(self, applied: Position) -> bool:
        """Between batches, or while there are none: how far the log goes on, now and then; Stopped."""
        if time.monotonic() - self._looked > _LAG_SECONDS:
            self._looked = time.monotonic()
            if time.monotonic() - self._looked_at_retention > _RETENTION_SECONDS:
                self._look_at_retention()
            with suppress(TieoutError):  # what is wrong with the source shows where it is read
                self.status.looked(self._log.lag(applied))
                self._watch(applied)
                self.tell(self.status)
        self.control.check()
        return False

    def _look_at_retention(self) -> None:
        self._looked_at_retention = time.monotonic()
        with suppress(TieoutError):
            self.status.source_keeps(self.source.retention(self.request.task))

    def _watch(self, applied: Position) -> None:
        """TroubleFound if a table became something that its log does not tell."""
        found = self._log.watched(self._names)
        for table, reason in found.reasons.items():
            raise TroubleFound(Trouble(table, f"{table}: {reason}", applied))
        self.status.remarks += [remark for remark in found.remarks if remark not in self.status.remarks]

    def _applied(self, staged: LogBatchStaged, remarks: list[str]) -> None:
        self.throttle.moved(staged.rows)
        self.status.applied(staged, remarks)
        self.tell(self.status)


def _highest(chunks: Sequence[Chunk]) -> Position:
    """From here on no transaction of the source is seen in part: every chunk is of this position or an earlier one."""
    held = [chunk.held for chunk in chunks if chunk.held is not None]
    return max((each.settled or each.position for each in held), key=lambda position: position.place)
