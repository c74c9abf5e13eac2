"""A move as a job of the meta store: it copies, it follows, and any terminal can steer it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from tieout.config.urls import EndpointUrl
from tieout.connectors.base import Endpoint
from tieout.connectors.moving import Source, StageTable, Target
from tieout.connectors.registry import open_target
from tieout.errors import FencedError, TieoutError, UnsupportedError, UsageError
from tieout.failpoints import reach
from tieout.meta import Job, JobKind, JobState, MetaStore, Wanted
from tieout.model.move_requests import MoveRequest
from tieout.model.moving import Chunk, Delivery, Fence, Transfer
from tieout.model.positions import Position
from tieout.model.tables import Table, TableName
from tieout.model.types import TypeName
from tieout.move.adapting import Adapter, Incompatible, as_planned
from tieout.move.copying import ChunkCopied, CopyChunk, copy_chunks, plan_chunks
from tieout.move.following import SETS, Follower, Slices
from tieout.move.holdings import Holdings
from tieout.move.making import Maker
from tieout.move.pulse import pulse
from tieout.move.staging import SliceStaged
from tieout.move.status import StatusKeeper
from tieout.move.transfers import Route, routes, transfer_of
from tieout.move.trouble import Trouble, TroubleFound
from tieout.verify.heartbeat import heartbeat

SILENT_SECONDS = 30
"""A mover not heard of for this long does not stand in the way of another one."""

_LONGEST_WAIT = 30.0
_TRIES = 10


class StopAsked(Exception):
    """Another terminal wants the mover to stop."""


@dataclass
class MoveJob:
    """One task on two open endpoints. `shown` are their URLs without secrets."""

    store: MetaStore
    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    source: Source
    target_url: EndpointUrl
    shown: tuple[str, str]
    tell: Callable[[StatusKeeper], None]

    def run(self, session: Callable[[], SparkSession], *, until_caught_up: bool = False) -> StatusKeeper:
        """Moves until it is stopped. Whatever ends it, the job's state in the store says so."""
        job = self._begin()
        self.status = StatusKeeper(self.store.moves, job.id, self.request)
        try:
            with heartbeat(self.store.jobs, job.id), closing(open_target(self.target_url)) as target:
                self._move(job, target, session, until_caught_up=until_caught_up)
            self.status.become("caught up")
            self.store.jobs.finish(job.id, verdict=None)
        except StopAsked:
            self.status.become("stopped")
            self.store.jobs.stop(job.id, JobState.STOPPED)
        except KeyboardInterrupt:
            self.status.become("stopped")
            self.store.jobs.stop(job.id, JobState.INTERRUPTED)
            raise
        except TieoutError as error:
            self.status.become("failed", str(error))
            self.store.jobs.fail(job.id, str(error))
            raise
        return self.status

    def _begin(self) -> Job:
        for job in self.store.jobs.list(limit=5, state=JobState.RUNNING, task=self.request.task):
            if job.kind is JobKind.MOVE:
                raise UsageError(
                    f"the task {self.request.task} is being run already (process {job.pid} on {job.host})",
                    f"tieout stop {self.request.task} ends it",
                )
        return self.store.jobs.create(
            JobKind.MOVE,
            source=self.shown[0],
            target=self.shown[1],
            request={"task": self.request.task, "delivery": self.request.delivery.value},
            task=self.request.task,
        )

    # --------------------------------------------------------------------------------------------- the move

    def _move(self, job: Job, target: Target, session: Callable[[], SparkSession], *, until_caught_up: bool) -> None:
        self.job = job
        target.prepare()
        fence = self._take(target)
        try:
            with pulse(self.target_url, fence):
                self._move_fenced(target, fence, session, until_caught_up=until_caught_up)
        except FencedError:
            raise
        except BaseException:
            with suppress(TieoutError):
                target.progress.release(fence)
            raise
        target.progress.release(fence)

    def _move_fenced(
        self, target: Target, fence: Fence, session: Callable[[], SparkSession], *, until_caught_up: bool
    ) -> None:
        maker = Maker(self.source, target, self.request.task, self._alike)
        self.transfers = self._transfers(maker)
        began = self._begin_log(target)
        chunks = self._chunks(target)
        self.status.planned(self.transfers, chunks)
        spark = session()
        self._copy(spark, target, fence, chunks)
        reach("after-copy")
        maker.index(spark, self.transfers)
        self.status.become("following")
        now = self.source.log(self.request.task).now()
        self._follow(spark, target, fence, began, now)
        self.status.consistent_from = _highest(target.progress.chunks(self.request.task, self._names)).text
        self.status.remarks += maker.finish(self.transfers)
        reach("after-switch")
        if not until_caught_up:
            self._follow(spark, target, fence, began, None)

    @property
    def _names(self) -> list[TableName]:
        return [transfer.source.name for transfer in self.transfers]

    def _transfers(self, maker: Maker) -> list[Transfer]:
        progress, task = maker.target.progress, self.request.task
        stopped = progress.stopped(task)
        found = [route for route in routes(*self.endpoints, self.request) if str(route.source) not in stopped]
        sources = self.endpoints[0].describe([route.source for route in found])
        self._refuse(sources)
        planned = progress.planned_columns(task)
        pairs = [
            (route, as_planned(table, planned.get(str(table.name)), partial(self._target_of, route)))
            for route, table in zip(found, sources, strict=True)
        ]
        self._fitted([(route, table) for route, table in pairs if route.exists])  # before anything is made
        maker.make_missing(found, {table.name: table for _, table in pairs})
        for _, table in pairs:
            if str(table.name) not in planned:
                progress.plan_columns(task, table.name, table.column_names)
        return self._fitted(pairs)

    def _refuse(self, tables: Sequence[Table]) -> None:
        """All that is wrong at once."""
        refused = [f"{table.name}: {reason}" for table in tables if (reason := self.source.refuses(table)) is not None]
        if refused:
            raise UnsupportedError("; ".join(refused), "mend it, or leave the table out")

    def _target_of(self, route: Route) -> Table:
        return self.endpoints[1].describe([route.target])[0]

    def _fitted(self, pairs: Sequence[tuple[Route, Table]]) -> list[Transfer]:
        targets = self.endpoints[1].describe([route.target for route, _ in pairs])
        return [
            transfer_of(source, target, alike=self._alike, tells_generated=self.source.tells_generated)
            for (_, source), target in zip(pairs, targets, strict=True)
        ]

    def _take(self, target: Target) -> Fence:
        """Refuses while another mover is heard of; from then on no other one can write."""
        known = target.progress.read(self.request.task)
        owner = f"process {os.getpid()} on {socket.gethostname()}"
        if known is not None and known.silent_for < SILENT_SECONDS and _may_live(known.owner):
            raise UsageError(
                f"another mover runs the task {self.request.task}: {known.owner}, heard of "
                f"{known.silent_for:.0f} seconds ago",
                "stop it there",
            )
        return target.progress.take(self.request.task, owner)

    def _begin_log(self, target: Target) -> Position:
        known = target.progress.read(self.request.task)
        assert known is not None
        if known.began is not None:
            return known.began
        began = self.source.begin_log(self.request.task, self._names)
        target.progress.begin_at(self.request.task, began)
        return began

    def _chunks(self, target: Target) -> list[Chunk]:
        known = target.progress.chunks(self.request.task, self._names)
        planned = {chunk.table for chunk in known}
        for transfer in self.transfers:
            if transfer.source.name not in planned:
                chunks = plan_chunks(self.endpoints[0], transfer, self.request.options.chunk_rows)
                target.progress.plan_chunks(self.request.task, chunks)
        return target.progress.chunks(self.request.task, self._names)

    def _copy(self, spark: SparkSession, target: Target, fence: Fence, chunks: Sequence[Chunk]) -> None:
        by_name = {transfer.source.name: transfer for transfer in self.transfers}
        reader, loader = self.source.chunk_source(), target.loader()
        work = [
            CopyChunk(reader, loader, fence, by_name[chunk.table], chunk, self._alike)
            for chunk in chunks
            if chunk.held is None
        ]
        if not work:
            return
        self.status.become("copying")

        def copied(piece: CopyChunk, result: ChunkCopied) -> None:
            self.status.copied(piece.chunk, result.rows)
            self.tell(self.status)
            self._hold()

        copy_chunks(spark, work, copied)

    @property
    def _alike(self) -> bool:
        return self.endpoints[0].capabilities.family == self.endpoints[1].capabilities.family

    def _follow(
        self, spark: SparkSession, target: Target, fence: Fence, began: Position, goal: Position | None
    ) -> None:
        """Until the goal is reached; without one until it is stopped. Begins again where the target is."""
        failures = 0
        while True:
            start = self._start(target, began)
            holdings = self._holdings(target)
            try:
                stages = target.make_stages(fence, self.transfers, SETS)
                follower = self._follower(spark, target, fence, start, holdings, stages)
                if goal is None:
                    follower.run(self._is_stopped)
                else:
                    follower.catch_up(goal, self._hold)
                return
            except TroubleFound as found:
                self._overcome(spark, target, fence, began, found.trouble)
            except TieoutError as error:
                if not error.transient or failures >= _TRIES:
                    raise
                self.status.become("waiting", str(error))
                self.tell(self.status)
                time.sleep(min(_LONGEST_WAIT, 0.5 * 2**failures))
                target.reconnect()
                failures = 0 if self._start(target, began) != start else failures + 1
                self.status.become("following")

    def _overcome(self, spark: SparkSession, target: Target, fence: Fence, began: Position, trouble: Trouble) -> None:
        """Columns that were added are followed, from where they were; any other trouble stops its table."""
        (transfer,) = (t for t in self.transfers if t.source.name == trouble.table)
        reason = trouble.reason
        if trouble.columns is not None:
            self._follow(spark, target, fence, began, trouble.before)
            adapter = Adapter(self.source, target, self.endpoints, self._alike)
            try:
                adapted = adapter.adapted(transfer, trouble.columns)
                self.transfers = [adapted if t is transfer else t for t in self.transfers]
                target.progress.plan_columns(self.request.task, trouble.table, adapted.source.column_names)
                return
            except Incompatible as error:
                reason = f"{trouble.reason}: {error}"
        target.progress.stop_table(self.request.task, trouble.table, reason)
        self.transfers.remove(transfer)
        self.status.stopped(trouble.table, reason)
        if not self.transfers:
            raise UnsupportedError(reason, "drop the task and begin anew")

    def _follower(
        self,
        spark: SparkSession,
        target: Target,
        fence: Fence,
        start: Position,
        holdings: dict[TableName, Holdings],
        stages: list[dict[TableName, StageTable]],
    ) -> Follower:
        options = self.request.options
        slices = Slices(
            self.source.log(self.request.task),
            start,
            options.batch_bytes,
            options.poll_seconds,
            self.source.chunk_source(),
            target.loader(),
            holdings,
            self._alike,
            tuple(stages),
        )
        return Follower(spark, slices, target, fence, self.request.delivery, self._keep, self._hold, self._applied)

    def _holdings(self, target: Target) -> dict[TableName, Holdings]:
        chunks = target.progress.chunks(self.request.task, self._names)
        found = {}
        for transfer in self.transfers:
            own = [chunk for chunk in chunks if chunk.table == transfer.source.name]
            columns = [transfer.source_columns[place] for place in transfer.key]
            integer = len(columns) == 1 and columns[0].type.name is TypeName.INTEGER
            found[transfer.source.name] = Holdings.of(own, integer=integer)
        return found

    def _start(self, target: Target, began: Position) -> Position:
        known = target.progress.read(self.request.task)
        assert known is not None
        start = known.applied or began
        if self.request.delivery is Delivery.AT_MOST_ONCE:
            kept = self.store.moves.kept_position(self.request.task)
            if kept is not None and Position(kept).reaches(start):
                return Position(kept)
        return start

    def _keep(self, position: Position) -> None:
        # Here first: the source can't be asked for what it has let go.
        self.store.moves.keep_position(self.job.id, self.request.task, position.text)
        if self.source.keeps_position:
            self.source.log(self.request.task).confirm(position)

    def _applied(self, staged: SliceStaged, remarks: list[str]) -> None:
        self.status.applied(staged, remarks)
        self.tell(self.status)

    def _is_stopped(self, applied: Position) -> bool:
        if self._wanted() is Wanted.STOP:
            raise StopAsked
        return False

    def _hold(self) -> None:
        """Waits while another terminal wants the mover to rest."""
        resting = False
        while (wanted := self._wanted()) is Wanted.PAUSE:
            if not resting:
                self.status.become("paused")
                resting = True
            time.sleep(0.5)
        if wanted in (Wanted.STOP, Wanted.CANCEL):
            raise StopAsked
        if resting:
            self.status.become("following")

    def _wanted(self) -> Wanted | None:
        return self.store.jobs.wanted(self.job.id)


def _highest(chunks: Sequence[Chunk]) -> Position:
    """From here on no transaction of the source is seen in part: every chunk is of this position or an earlier one."""
    return max((chunk.held.position for chunk in chunks if chunk.held is not None), key=lambda held: held.place)


def _may_live(owner: str) -> bool:
    """Whether a mover that was heard of lately may still run: one of this machine can be looked for."""
    words = owner.split()
    if words[-1] != socket.gethostname():
        return True
    try:
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
