"""The second part of a move: applies the changes of the log, batch by batch, each in one transaction of the target.

While the target merges one batch, an executor reads and stages the next. The target stores how far it is: after any
failure the stream resumes there.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Thread

import stamina
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.connectors.protocols.move import STAGE_COLUMNS, ChunkSource, Loader, Merge, StageTable, Target
from tieout.errors import BusyError, SparkFailure, TieoutError
from tieout.failpoints import reach
from tieout.model.moves import Delivery, Fence
from tieout.model.positions import Position
from tieout.model.tables import TableName
from tieout.move.schema_changes import TableProblem, TableProblemFound
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.move.staging import StagedLogBatch, StageLogBatch
from tieout.move.transformed_rows import staged_by
from tieout.spark.executor_work import interruptible, job_errors, run_work
from tieout.spark.stream import Pace, stream_frame

_TRIES = 10


@dataclass(frozen=True)
class LogBatches:
    """What the stream reads and does (spark.stream.Following)."""

    log: ChangeLog
    start: Position
    batch_bytes: int
    poll_seconds: float
    source: ChunkSource
    loader: Loader
    overlaps: Mapping[TableName, SnapshotOverlap]
    same_engine: bool
    stages: Mapping[TableName, StageTable]

    def work(self, after: Position, upto: Position) -> StageLogBatch:
        return StageLogBatch(
            self.log, self.source, self.loader, self.stages, self.overlaps, self.same_engine, after, upto
        )

    @property
    def transformed(self) -> dict[int, StageTable]:
        """The stages whose rows Spark transforms, by the numbers of their stagers."""
        return {number: stage for number, stage in enumerate(self.stages.values()) if stage.transfer.shape is not None}

    @property
    def cells(self) -> int:
        widths = [len(stage.transfer.reads.columns) + len(STAGE_COLUMNS) for stage in self.transformed.values()]
        return max(widths, default=0)

    def staged(self, frame: DataFrame) -> DataFrame:
        """The results of the work, with transformed rows staged, too."""
        return staged_by(frame, self.loader, self.transformed) if self.cells else frame


@dataclass
class Follower:
    """Follows a log. `keep_first` stores a batch before the target has it (at-most-once).

    `hold` waits while the mover is paused or throttled, or until the event is set. `applied_batch` gets each batch that
    the target has merged, with the target's remarks.
    """

    spark: SparkSession
    batches: LogBatches
    target: Target
    fence: Fence
    delivery: Delivery
    keep_first: Callable[[Position, Position], None]
    hold: Callable[[Event], None]
    applied_batch: Callable[[StagedLogBatch, list[str]], None]
    _applied: Position = field(init=False)
    _error: BaseException | None = field(init=False, default=None)
    _merging: Future[None] | None = field(init=False, default=None)
    _moved: Event = field(init=False, default_factory=Event)
    _ending: Event = field(init=False, default_factory=Event)

    @property
    def applied(self) -> Position:
        return self._applied

    def replay(self, upto: Position) -> None:
        """Applies one batch up to there: an earlier mover may have applied it, or was about to."""
        self._applied = self.batches.start
        self._merge(self._staged_up_to(self.batches.start, upto))

    def catch_up(self, goal: Position, stop: Callable[[], None]) -> None:
        """Applies the log up to a position that it has reached already, batch by batch. `stop` raises to end it."""
        self._applied = after = self.batches.start
        with ThreadPoolExecutor(1) as self._pool:
            pace = Pace(self.batches.batch_bytes)
            while not after.reaches(goal):
                stop()
                self._confirm()
                upto = next(iter(self.batches.log.ends(after, pace.bytes, 1)), goal)
                upto = goal if upto.reaches(goal) else upto
                staged = self._staged_up_to(after, upto)
                self._wait_for_merge()
                self._merging = self._pool.submit(self._merge, staged)
                after = upto
                pace.went_on()
            self._wait_for_merge()

    def _staged_up_to(self, after: Position, upto: Position) -> StagedLogBatch:
        work = [[self.batches.work(after, upto)]]
        ((outcome,),) = run_work(self.spark, work, cells=self.batches.cells, then=self.batches.staged)
        return _whole(outcome.only())

    def run(self, done: Callable[[Position], bool]) -> None:
        """Returns when `done` returns true for the position that was applied last. Errors are TieoutErrors."""
        # Imported here: Spark's processes load this file for LogBatches, and must not load the meta store.
        from tieout.runtime.control import POLL_SECONDS

        self._applied = self.batches.start
        if done(self._applied):
            return
        with ThreadPoolExecutor(1) as self._pool, tempfile.TemporaryDirectory(prefix="tieout-stream-") as directory:
            with job_errors():
                query = interruptible(self.spark, lambda: self._start(directory))
            ended = self._watch(query)
            try:
                while not done(self._applied):
                    self._moved.wait(POLL_SECONDS)
                    self._moved.clear()
                    self._raise_error()
                    if ended.done():
                        ended.result()
                        raise SparkFailure("the stream ended")
            finally:
                # Stopping a stream waits for its callback, which may be paused.
                self._ending.set()
                interruptible(self.spark, query.stop)
                if self._merging is not None:
                    self._merging.exception()  # waits for it

    def _start(self, directory: str) -> StreamingQuery:
        frame = self.batches.staged(stream_frame(self.spark, self.batches))
        writer = frame.writeStream.foreachBatch(self._batch)
        return writer.option("checkpointLocation", directory).start()

    def _watch(self, query: StreamingQuery) -> Future[None]:
        """Done when the stream has ended, for whatever reason. Another thread waits for it: see `interruptible`."""
        ended: Future[None] = Future()

        def wait() -> None:
            try:
                with job_errors():
                    query.awaitTermination()
                ended.set_result(None)
            except Exception as error:
                ended.set_exception(error)
            self._moved.set()

        Thread(target=wait, name="tieout-stream", daemon=True).start()
        return ended

    def _raise_error(self) -> None:
        merging = self._merging
        if self._error is None and merging is not None and merging.done():
            self._error = merging.exception()
        if self._error is not None:
            raise self._error

    def _batch(self, frame: DataFrame, number: int) -> None:
        """Spark's callback. Keeps an error as it is: Spark would add a stack trace to it."""
        try:
            self.hold(self._ending)
            if self._ending.is_set():
                return  # the batch is dropped: the next mover resumes where the target is
            self._confirm()
            staged = _staged(frame)
            self._wait_for_merge()
            if staged is not None:
                self._merging = self._pool.submit(self._merge, staged)
        except BaseException as error:
            self._error = self._error or error
            self._moved.set()
            raise

    def _confirm(self) -> None:
        """Confirms the applied position, between two batches: a slot can't be read and moved at the same time."""
        if self.delivery is not Delivery.AT_MOST_ONCE:
            self.batches.log.confirm(self._applied)
            reach("after-source-commit")

    def _wait_for_merge(self) -> None:
        if self._merging is not None:
            self._merging.result()

    def _merge(self, staged: StagedLogBatch) -> None:
        upto = staged.upto.with_commit_of(self._applied)
        merge = Merge(staged.changes, self._applied, upto, staged.versions)
        reach("before-merge")
        if self.delivery is Delivery.AT_MOST_ONCE:
            self.keep_first(self._applied, upto)
            reach("after-source-commit")
        together = self.delivery is not Delivery.AT_LEAST_ONCE
        if not together:
            self.target.progress.plan_batch(self.fence, self._applied, upto)
            reach("after-batch-planned")
        remarks = self._merged(merge, together=together)
        reach("after-merge")
        if not together:
            self.target.record(self.fence, merge)
        reach("after-progress")
        self._applied = upto
        self.target.drop_stages([changes.stage for changes in staged.changes])
        self._moved.set()
        self.applied_batch(staged, remarks)

    def _merged(self, merge: Merge, *, together: bool) -> list[str]:
        """Retries only with at-most-once, which would not read the batch again and so lose what was rolled back."""
        tries = _TRIES if self.delivery is Delivery.AT_MOST_ONCE else 1
        retry = stamina.RetryingCaller(attempts=tries, timeout=None, wait_max=5.0)
        return retry(BusyError, self.target.merge, self.fence, merge, with_progress=together)


def _staged(frame: DataFrame) -> StagedLogBatch | None:
    with job_errors():
        rows = frame.collect()
    for row in rows:
        payload = pickle.loads(row.payload)
        if isinstance(payload, TieoutError):
            raise payload
        return _whole(payload)
    return None


def _whole(outcome: StagedLogBatch | TableProblem) -> StagedLogBatch:
    if isinstance(outcome, TableProblem):
        raise TableProblemFound(outcome)
    return outcome
