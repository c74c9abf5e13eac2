"""Moves tables: plans, copies, creates indexes, follows. Whatever ends it, the next one resumes where the target is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pyspark.sql import SparkSession

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import ChangesRefused, Source, StageTable, Target, TypeChanges
from tieout.errors import TieoutError, UnsupportedError, WriteError
from tieout.failpoints import reach
from tieout.meta.positions import Moves
from tieout.model.levels import Levels, is_transactional
from tieout.model.move_status import RowNotFound
from tieout.model.moves import Chunk, Consistency, Delivery, Fence, Transfer
from tieout.model.positions import Position
from tieout.model.requests import MoveRequest
from tieout.model.tables import TableName
from tieout.model.types import TypeName
from tieout.move.changed_tables import ChangedTables
from tieout.move.create_tables import Session, TableCreator
from tieout.move.finish import Finishing
from tieout.move.follow import Follower, LogBatches
from tieout.move.lanes import LanePlan
from tieout.move.merger import Merger
from tieout.move.plan import Planner
from tieout.move.resume import Resume, all_stopped, start_over
from tieout.move.retry import Retry
from tieout.move.schema_changes import TableProblem, TableProblemFound
from tieout.move.snapshot import ChunkCopied, CopyChunk, copy_chunks, plan_chunks, run_plain
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.move.staging import StagedLogBatch
from tieout.move.status import StatusKeeper
from tieout.move.transformed_rows import run_transformed
from tieout.runtime.control import HoldingControl
from tieout.runtime.dispatch import rate_of_a_task, slots
from tieout.runtime.throttle import Throttle
from tieout.spark.errors import ExpressionFailure

_LAG_SECONDS = 2.0
_RETENTION_SECONDS = 60.0
_SOME_BATCHES = 8
T = TypeVar("T")


class AllStopped(UnsupportedError):
    """No table is left to move."""


class TablesChanged(Exception):
    """The task has other tables than when the mover planned it: some were created, or are to be copied again."""


@dataclass
class TableMover:
    """Copies and follows tables of a task, whose fence this mover has. `show` gets the status each time it changes.

    `changed` returns whether the task has other tables by now. `only`: the tables of the source to move; None: all of
    the task that have no other mover.
    """

    request: MoveRequest
    levels: Levels
    endpoints: tuple[Endpoint, Endpoint]
    source: Source
    target: Target
    open_target: Callable[[], Target]
    fence: Fence
    moves: Moves
    status: StatusKeeper
    control: HoldingControl
    throttle: Throttle
    show: Callable[[StatusKeeper], None]
    changed: Callable[[], bool] = lambda: False
    only: frozenset[TableName] | None = None
    transfers: list[Transfer] = field(init=False, default_factory=list)
    late: frozenset[TableName] = field(init=False, default=frozenset())
    """Tables that were created after the task began, or are copied again."""
    _lag_read_at: float = field(init=False, default=0.0)
    _retention_read_at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._resume = Resume(
            self.request.task, self.levels.delivery, self.source, self.target, self.fence, self.moves, self.status
        )
        self._changed = ChangedTables(self)
        self.creator = TableCreator(self.source, self.target, self.fence, self.same_engine)

    def plan(self, session: Session) -> None:
        """Finds the tables, creates those that are missing, and begins their log. Can be called again.

        `session` is asked for only if a table with computed columns has to be created.
        """
        planner = Planner(self.request, self.endpoints, self.creator, self.fence, self.only, session)
        self.transfers = planner.transfers()
        self.late = frozenset(planner.late)
        self.status.changed_before(self.target.progress.versions(self.request.task))
        self.status.stopped_before(planner.stopped_before())
        self.status.not_found_before(self.target.rows_not_found(self.request.task))
        if not self.late:
            self._refuse_if_all_stopped()
        self._begin_log()
        self._keep_types()
        self.retried(self._start)  # raises for a lost log before a row is copied
        self._read_retention()
        self.status.planned(self.transfers, self._chunks())
        self.retried(self._watch_targets)

    def copy(self, spark: SparkSession) -> None:
        """Copies all chunks that are left, and then creates indexes."""
        self._copy_retried(spark)
        reach("after-copy")
        self.index(spark)

    def index(self, spark: SparkSession) -> None:
        # A connection that was idle while rows were copied may be gone by now.
        self.retried(lambda: self.creator.index(spark, self.transfers))
        self.retried(lambda: self.target.mark_altered(self.fence, self.transfers))

    def copy_wave(self, spark: SparkSession) -> bool:
        """Copies as many chunks as Spark has slots. Returns whether some are left."""
        self._copy_retried(spark, slots(spark))
        return any(chunk.held is None for chunk in self._chunks())

    def catch_up(self, spark: SparkSession) -> None:
        """Applies everything that is in the log at this moment."""
        self.follow(spark, self.retried(self.log.now))

    def finish(self, *, counters: bool = True) -> None:
        """Adds constraints, and marks the tables as following: they are at one position. `counters`: lets those of the
        tables that it created continue after the source's, too.
        """
        self.retried(lambda: self._finish(counters=counters))

    def reached(self) -> Position:
        """The position that all rows have reached."""
        known = self.retried(lambda: self.target.progress.read(self.request.task))
        assert known is not None
        assert known.reached is not None
        return known.reached

    def next_ends(self, upto: Position) -> Position:
        """Some batches after the position that is reached, but not beyond `upto`."""
        ends = self.retried(lambda: self.log.ends(self.reached(), self.request.options.batch_bytes, _SOME_BATCHES))
        return upto if not ends or ends[-1].reaches(upto) else ends[-1]

    def highest_chunk(self) -> Position | None:
        """From here on the tables show whole transactions; None without tables."""
        chunks = self.target.chunks.of(self.request.task, self._names)
        return _highest(chunks) if chunks else None

    @property
    def log(self) -> ChangeLog:
        return self.source.log(self.request.task)

    @property
    def _names(self) -> list[TableName]:
        return [transfer.source.name for transfer in self.transfers]

    def _begin_log(self) -> None:
        known = self.target.progress.read(self.request.task)
        assert known is not None
        if known.began is None:
            self.target.progress.begin_at(self.fence, lambda: self.source.begin_log(self.request.task, self._names))

    def _keep_types(self) -> None:
        """Stores the types of columns once their log has begun, and before a row is copied: from then on the log, or
        the catalog, says how they change.
        """
        progress, task = self.target.progress, self.request.task
        if self.source.type_changes is TypeChanges.UNSEEN:
            return
        stored = progress.planned_types(task)
        copied = {chunk.table for chunk in self.target.chunks.of(task, self._names) if chunk.held is not None}
        new = [name for name in self._names if str(name) not in stored and name not in copied]
        for table in self.endpoints[0].describe(new) if new else ():
            progress.plan_types(self.fence, table.name, table.columns)
            stored[str(table.name)] = {column.name: column for column in table.columns}
        self.transfers = [
            replace(transfer, typed=frozenset(stored.get(str(transfer.source.name), {}))) for transfer in self.transfers
        ]

    def _chunks(self) -> list[Chunk]:
        known = self.target.chunks.of(self.request.task, self._names)
        planned = {chunk.table for chunk in known}
        for transfer in self.transfers:
            if transfer.source.name not in planned:
                one = not is_transactional(self.target.level_of(transfer.target))
                chunks = plan_chunks(self.endpoints[0], transfer, self.request.options.chunk_rows, one=one)
                self.target.chunks.plan(self.fence, chunks)
        return self.target.chunks.of(self.request.task, self._names)

    def _refuse_if_all_stopped(self) -> None:
        """UnsupportedError if earlier movers have stopped every table."""
        if not self.transfers:
            reason = self.status.stopped_tables[0].stopped
            raise AllStopped(all_stopped(self.request.task, reason), self._start_over)

    def _copy_retried(self, spark: SparkSession, most: int | None = None) -> None:
        """Copies, `most` chunks at most; after an outage, resumes with the chunks that are left."""
        retry = Retry(self.target, self.status, self.control, self.show)
        while True:
            try:
                chunks = self._chunks()
                self.status.planned(self.transfers, chunks)
                retry.reached(sum(chunk.held is not None for chunk in chunks))
                return self._copy(spark, chunks, most)
            except TieoutError as error:
                retry.wait(error)

    def retried(self, work: Callable[[], T]) -> T:
        """Returns what the work returns, with retries; it must do no harm if it is done twice."""
        retry = Retry(self.target, self.status, self.control, self.show)
        while True:
            try:
                return work()
            except TieoutError as error:
                retry.wait(error)

    def _finish(self, *, counters: bool) -> None:
        self._note_consistency()
        self.status.remarks += self.creator.finish(self.transfers)
        if counters:
            self.status.remarks += self._count_on()
        self.target.mark_altered(self.fence, self.transfers)
        self.target.progress.mark_following(self.fence, self._names)

    def _note_consistency(self) -> None:
        """The tables show whole transactions from their highest chunk on, or from where lanes that were apart met."""
        highest, met = self.highest_chunk(), self.status.levelled
        if highest is not None:
            is_past = met is None or (highest.is_same_log(met) and highest.reaches(met))
            self.status.consistent_from = str(highest if is_past else met)

    def _count_on(self) -> list[str]:
        """Sets the counters of the tables that the task created further, never back: applications may have used them
        since. Returns remarks.
        """
        if not self.endpoints[0].capabilities.rows:
            return []  # a feed tells of no counters
        made = self.target.progress.made(self.request.task)
        own = [transfer for transfer in self.transfers if str(transfer.source.name) in made]
        found = Finishing(self.source, self.target, self.endpoints, self.fence, self.creator, own).count_on()
        return [": ".join(filter(None, (each.table, each.column, each.problem))) for each in found if each.problem]

    def _start(self) -> tuple[Position, Position | None]:
        return self._resume.start(self._names)

    def _copy(self, spark: SparkSession, chunks: Sequence[Chunk], most: int | None) -> None:
        by_name = {transfer.source.name: transfer for transfer in self.transfers}
        reader, loader = self.source.chunk_source(), self.target.loader()
        rate = rate_of_a_task(spark, self.request.options.max_rows_per_second)
        work = [
            CopyChunk(reader, loader, self.fence, by_name[chunk.table], chunk, self.same_engine, rate)
            for chunk in chunks
            if chunk.held is None
        ][:most]
        if not work:
            return
        self.status.become("copying")

        def copied(piece: CopyChunk, result: ChunkCopied) -> None:
            self.status.copied(piece.chunk, result.rows)
            self.show(self.status)
            self.control.hold()

        def failed(piece: CopyChunk, error: TieoutError) -> bool:
            """A table whose rows don't fit, or can't be computed, is stopped, and the others go on; the last one ends
            the move.
            """
            is_last = len(self.transfers) == 1 and self.only is None
            if is_last or not isinstance(error, WriteError | UnsupportedError | ExpressionFailure):
                return False
            self.stop_table(piece.transfer, str(error))
            return True

        for run, wanted in ((run_plain, False), (run_transformed, True)):
            pieces = [piece for piece in work if (piece.transfer.shape is not None) is wanted]
            copy_chunks(spark, pieces, run, copied, failed)

    @property
    def same_engine(self) -> bool:
        return self.endpoints[0].capabilities.family == self.endpoints[1].capabilities.family

    def follow(self, spark: SparkSession, goal: Position | None, *, exact: bool = False) -> bool:
        """Follows the log until it reaches the goal; without one until it is stopped. Resumes where the target is.

        If the source has another log by now, the end of that log is the goal. Returns False only if the goal is `exact`
        (this very position) and the source has another log.
        """
        retry = Retry(self.target, self.status, self.control, self.show)
        while True:
            try:
                self._leave_out_stopped()
                start, begun = self._start()
                self._watch_targets()
                retry.reached(start)
                if goal is not None and not start.is_same_log(goal):
                    if exact:
                        return False
                    goal = self.log.now()
                problem = self._followed(spark, start, begun, goal, exact=exact)
                if problem is None:
                    return True
                self._changed.adapt_or_stop(spark, problem)
            except TieoutError as error:
                try:
                    is_overcome = self._overcomes(spark, error)
                except TieoutError as another:
                    retry.wait(another)
                else:
                    if not is_overcome:
                        retry.wait(error)

    def _leave_out_stopped(self) -> None:
        """Leaves out tables that a merger has stopped: it merged a batch without their changes (at-most-once)."""
        stopped = self.target.progress.stopped(self.request.task)
        for transfer in [each for each in self.transfers if str(each.source.name) in stopped]:
            self.stop_table(transfer, stopped[str(transfer.source.name)])

    def _overcomes(self, spark: SparkSession, error: TieoutError) -> bool:
        """Whether the target takes more by now, or the table is stopped whose changes it refuses."""
        # With at-most-once, changes that were refused are lost already, whatever the target takes by now.
        is_lost = self.levels.delivery is Delivery.AT_MOST_ONCE and isinstance(error, ChangesRefused)
        if isinstance(error, WriteError) and not is_lost and self._changed.take_more_now(spark):
            return True
        return self._stops_refused(error)

    def _stops_refused(self, error: TieoutError) -> bool:
        """Stops the table whose changes the target refuses: nothing of them is applied. False if it is none of ours."""
        found = [
            each for each in self.transfers if isinstance(error, ChangesRefused) and each.source.name == error.table
        ]
        for transfer in found:
            self.stop_table(transfer, str(error))
        return bool(found)

    def _followed(
        self, spark: SparkSession, start: Position, begun: Position | None, goal: Position | None, *, exact: bool
    ) -> TableProblem | None:
        """Returns the problem of a table that kept it from the goal, if any. `begun`: as in Merger."""
        stages = self.target.make_stages(self.fence, self.transfers)
        try:
            self._watch(start)
            start = self._level_lanes(spark, start, stages, begun)
            batch = self.target.lanes.last_batch(self.request.task)
            plan = self._lane_plan()
            # Up to an exact position, a batch is applied in part: the rest of it is another batch.
            if not exact and begun is not None and not start.reaches(begun):
                with self._following(spark, start, stages, plan, begun, batch) as follower:
                    follower.replay(begun)
                start = follower.merger.applied
                self.target.lanes.keep_ahead(self.fence)
                batch = self.target.lanes.last_batch(self.request.task)
            with self._following(spark, start, stages, plan, begun, batch) as follower:
                if goal is None:
                    follower.run(self._check_between_batches)
                else:
                    follower.catch_up(goal, self.control.hold)
        except TableProblemFound as found:
            return found.problem
        return None

    def _lane_plan(self) -> LanePlan:
        options, consistency = self.request.options, self.levels.consistency
        joined = self.target.joined_keys(self.transfers) if consistency is Consistency.ROW else {}
        return LanePlan.of(consistency, self.transfers, joined, self._connections(options.merge_connections))

    def _connections(self, wanted: int) -> int:
        return wanted if self.target.writers is None else min(wanted, self.target.writers)

    def _level_lanes(
        self, spark: SparkSession, start: Position, stages: dict[TableName, StageTable], begun: Position | None
    ) -> Position:
        """Takes lanes that an earlier mover left behind to where the others are. Returns that position.

        They merge what the lanes ahead have merged, in the same steps, and those merge nothing twice.
        """
        # Those that it has taken there meanwhile begin as those do that were there.
        while ahead := self.target.lanes.keep_ahead(self.fence):
            self.status.consistent_from = None
            nearest = min(ahead, key=lambda each: each.batch)
            plan = LanePlan.as_stored(self.transfers, ahead)
            with self._following(spark, start, stages, plan, begun, nearest.batch - 1) as follower:
                follower.replay(nearest.applied)
            start = follower.merger.applied
            self.status.levelled = start
            self.status.consistent_from = str(start)
        return start

    @contextmanager
    def _following(
        self,
        spark: SparkSession,
        start: Position,
        stages: dict[TableName, StageTable],
        plan: LanePlan,
        begun: Position | None,
        batch: int,
    ) -> Iterator[Follower]:
        """A follower for the block, which has ended all of its merges when the block ends. `batch`: the last one."""
        options = self.request.options
        batches = LogBatches(
            self.log,
            start,
            options.batch_bytes,
            options.poll_seconds,
            self.source.chunk_source(),
            self.target.loader(),
            self._overlaps(),
            plan.shares,
            self.same_engine,
            stages,
        )
        merger = Merger(
            self.target,
            self.open_target,
            self.fence,
            self.levels.delivery,
            plan,
            self._connections(options.merge_connections),
            start,
            begun,
            batch,
            self._resume.keep_batch,
            self._applied,
        )
        try:
            yield Follower(spark, batches, merger, self.control.hold)
        finally:
            merger.close()

    def stop_table(self, transfer: Transfer, reason: str) -> None:
        self.target.progress.stop_table(self.fence, transfer.source.name, reason)
        self.transfers.remove(transfer)
        self.status.stopped(transfer.source.name, reason)
        if not self.transfers:
            raise AllStopped(reason, self._start_over)

    @property
    def _start_over(self) -> str:
        return start_over(self.endpoints[0], self.request.task)

    def _watch_targets(self) -> None:
        """Stops tables whose rows are older than the progress: they were restored without it."""
        chunks = self.target.chunks.of(self.request.task, self._names)
        for table, reason in self.target.restored_tables(self.fence, self.transfers, chunks).items():
            (transfer,) = (each for each in self.transfers if each.source.name == table)
            self.stop_table(transfer, f"{reason}: it was restored or created again without the progress of the task")

    def _overlaps(self) -> dict[TableName, SnapshotOverlap]:
        chunks = self.target.chunks.of(self.request.task, self._names)
        found = {}
        for transfer in self.transfers:
            own = [chunk for chunk in chunks if chunk.table == transfer.source.name]
            columns = [transfer.reads.source_columns[place] for place in transfer.reads.key]
            integer = len(columns) == 1 and columns[0].type.name is TypeName.INTEGER
            found[transfer.source.name] = SnapshotOverlap.of(own, integer=integer)
        return found

    def _check_between_batches(self, applied: Position) -> bool:
        """Every few seconds, reads how far the log goes on. Stopped if another terminal wants that; never done."""
        if time.monotonic() - self._lag_read_at > _LAG_SECONDS:
            self._lag_read_at = time.monotonic()
            if time.monotonic() - self._retention_read_at > _RETENTION_SECONDS:
                self._read_retention()
            with suppress(TieoutError):  # the next batch reports what is wrong with the source
                self.status.set_lag(self.log.lag(applied))
                self._watch(applied)
                self.show(self.status)
                if self.changed():
                    raise TablesChanged
        self.control.check()
        return False

    def _read_retention(self) -> None:
        self._retention_read_at = time.monotonic()
        with suppress(TieoutError):
            self.status.set_retention(self.source.retention(self.request.task))

    def _watch(self, applied: Position) -> None:
        """TableProblemFound if a table has changed in a way that its log does not report."""
        found = self.log.coverage(self._names)
        for table, reason in found.reasons.items():
            if not (table in found.retyped and table in self._changed.proving):
                raise TableProblemFound(TableProblem(table, f"{table}: {reason}", applied))
        self.status.remarks += [remark for remark in found.remarks if remark not in self.status.remarks]

    def _applied(self, staged: StagedLogBatch, not_found: list[RowNotFound]) -> None:
        self.throttle.moved(staged.rows)
        self.status.applied(staged, not_found)
        self.show(self.status)


def _highest(chunks: Sequence[Chunk]) -> Position:
    """From here on the target shows whole transactions: every chunk was read at this position or an earlier one."""
    held = [chunk.held for chunk in chunks if chunk.held is not None]
    return max((each.settled or each.position for each in held), key=lambda position: position.place)
