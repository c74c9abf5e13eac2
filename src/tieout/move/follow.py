"""The second part of a move: reads the changes of the log and stages them, batch by batch, for the merger.

While the target merges one batch, an executor reads and stages the next. The target stores how far it is: after any
failure the stream resumes there.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event, Thread

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.connectors.protocols.move import STAGE_COLUMNS, ChunkSource, Loader, StageTable
from tieout.errors import SparkFailure, TieoutError, UnreachableError
from tieout.failpoints import reach
from tieout.model.moves import Delivery
from tieout.model.positions import Position
from tieout.model.tables import TableName
from tieout.move.merger import Merger
from tieout.move.schema_changes import TableProblem, TableProblemFound
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.move.staging import StagedLogBatch, StageLogBatch
from tieout.move.transformed_rows import staged_by
from tieout.spark.errors import ExpressionFailure
from tieout.spark.executor_work import interruptible, job_errors, run_work
from tieout.spark.stream import MOST_TIMES, Pace, stream_frame

_START_SECONDS = 120.0
"""In which a stream comes to its first look at the log."""


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
    shares: Mapping[TableName, int]
    same_engine: bool
    stages: Mapping[TableName, StageTable]

    def work(self, after: Position, upto: Position) -> StageLogBatch:
        return StageLogBatch(
            self.log, self.source, self.loader, self.stages, self.overlaps, self.same_engine, after, upto, self.shares
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
    """Follows a log. `hold` waits while the mover is paused or throttled, or until the event is set."""

    spark: SparkSession
    batches: LogBatches
    merger: Merger
    hold: Callable[[Event], None]
    _error: BaseException | None = field(init=False, default=None)
    _moved: Event = field(init=False, default_factory=Event)
    _ending: Event = field(init=False, default_factory=Event)

    def __post_init__(self) -> None:
        self.merger.woken = self._moved.set

    def replay(self, upto: Position) -> None:
        """Applies one batch up to there: an earlier mover may have applied it, or was about to, or some of its lanes
        have.
        """
        self.merger.submit(self._staged_up_to(self.batches.start, upto))
        self.merger.wait()

    def catch_up(self, goal: Position, stop: Callable[[], None]) -> None:
        """Applies the log up to a position that it has reached already, batch by batch. `stop` raises to end it."""
        after = self.batches.start
        pace = Pace(self.batches.batch_bytes)
        while not after.reaches(goal):
            stop()
            self._confirm()
            upto = next(iter(self.batches.log.ends(after, pace.bytes, 1)), goal)
            upto = goal if upto.reaches(goal) else upto
            self.merger.submit(self._staged_up_to(after, upto))
            after = upto
            pace.went_on()
        self.merger.wait()

    def _staged_up_to(self, after: Position, upto: Position) -> StagedLogBatch:
        try:
            return _whole(self._stage(self.batches, after, upto))
        except ExpressionFailure as failure:
            self.merger.wait()
            raise self._of_table(failure, after, upto) from None

    def _stage(self, batches: LogBatches, after: Position, upto: Position) -> StagedLogBatch | TableProblem:
        work = [[batches.work(after, upto)]]
        ((outcome,),) = run_work(self.spark, work, cells=batches.cells, then=batches.staged)
        staged: StagedLogBatch | TableProblem = outcome.only()
        return staged

    def _of_table(self, failure: ExpressionFailure, after: Position, upto: Position) -> Exception:
        """The problem of the table whose expression fails: each is staged once more, alone. If none fails again, the
        failure itself. Nobody merges what is staged here.
        """
        for name, stage in self.batches.stages.items():
            if stage.transfer.shape is not None:
                try:
                    self._stage(replace(self.batches, stages={name: stage}), after, upto)
                except ExpressionFailure as again:
                    return TableProblemFound(TableProblem(name, str(again.of_table(name)), after))
        return failure

    def run(self, done: Callable[[Position], bool]) -> None:
        """Returns when `done` returns true for the position that was applied last. Errors are TieoutErrors, and
        TableProblemFound.
        """
        try:
            self._run(done)
        except ExpressionFailure as failure:
            self.merger.wait()
            after, most = self.merger.applied, self.batches.batch_bytes * MOST_TIMES
            ends = self.batches.log.ends(after, most, 1)  # it may have been as large a batch as that
            raise (self._of_table(failure, after, ends[-1]) if ends else failure) from None

    def _run(self, done: Callable[[Position], bool]) -> None:
        # Imported here: Spark's processes load this file for LogBatches, and must not load the meta store.
        from tieout.runtime.control import POLL_SECONDS

        if done(self.merger.applied):
            return
        with tempfile.TemporaryDirectory(prefix="tieout-stream-") as directory:
            with job_errors():
                query = interruptible(self.spark, lambda: self._start(directory))
            ended, begun = self._watch(query), time.monotonic()
            is_starting, is_stuck = True, False
            try:
                while not done(self.merger.applied):
                    self._moved.wait(POLL_SECONDS)
                    self._moved.clear()
                    self._raise_error()
                    if ended.done():
                        ended.result()
                        raise SparkFailure("the stream ended")
                    is_starting = is_starting and self._is_starting(query)
                    if is_starting and time.monotonic() - begun > _START_SECONDS:
                        # Seen when streams were ended and started many times; it would wait for ever.
                        is_stuck = True
                        raise UnreachableError("Spark does not start to read the log", "the mover starts it again")
            finally:
                # Stopping a stream waits for its callback, which may be paused.
                self._ending.set()
                self._stop(query, is_stuck=is_stuck)

    def _stop(self, query: StreamingQuery, *, is_stuck: bool) -> None:
        if not is_stuck:
            interruptible(self.spark, query.stop)
            return
        # Its thread may never end.
        self.spark.conf.set("spark.sql.streaming.stopTimeout", "10s")
        with suppress(SparkFailure), job_errors():
            interruptible(self.spark, query.stop)
        self.spark.conf.unset("spark.sql.streaming.stopTimeout")

    def _is_starting(self, query: StreamingQuery) -> bool:
        """Whether the stream has not come to its first look at the log."""
        with job_errors():
            status = interruptible(self.spark, lambda: query.status)
        return str(status["message"]).startswith("Initializing")

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
        self.merger.raise_error()
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
            if staged is not None:
                self.merger.submit(staged)
        except BaseException as error:
            self._error = self._error or error
            self._moved.set()
            raise

    def _confirm(self) -> None:
        """Confirms the applied position, between two batches: a slot can't be read and moved at the same time."""
        if self.merger.delivery is not Delivery.AT_MOST_ONCE:
            self.batches.log.confirm(self.merger.applied)
            reach("after-source-commit")


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
