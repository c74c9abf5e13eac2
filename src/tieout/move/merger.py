"""Merges staged log batches into the target, each lane in the order of the log, and records how far it is.

Without lanes a batch is one transaction, together with the progress. With lanes each has its own transactions and its
own progress, on several connections; the task as a whole is where the slowest lane is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Condition, local

import stamina

from tieout.connectors.protocols.move import ChangesRefused, LaneStep, Merge, StagedChanges, Target
from tieout.errors import BusyError
from tieout.failpoints import reach
from tieout.model.levels import is_transactional
from tieout.model.move_status import RowNotFound
from tieout.model.moves import Delivery, Fence, Lane
from tieout.model.positions import Position
from tieout.move.lanes import LanePlan, LaneStart
from tieout.move.staging import StagedLogBatch

_TRIES = 10
_IN_FLIGHT = 3
"""Batches that lanes may merge at the same time: a slow lane holds the others back only then."""


@dataclass
class _Batch:
    """A batch on its way. `left`: how many transactions are not committed yet; None: unknown, it has not begun."""

    number: int
    staged: StagedLogBatch
    merge: Merge
    not_found: list[RowNotFound] = field(default_factory=list)
    left: int | None = None


@dataclass
class _Step:
    """One transaction: these lanes, and what they merge of the batch. `waits`: for how many of their earlier steps."""

    batch: _Batch
    lanes: tuple[Lane, ...]
    changes: Sequence[StagedChanges]
    waits: int = 0
    then: list[_Step] = field(default_factory=list)
    done: bool = False


@dataclass
class Merger:
    """Merges for one task, whose fence this mover has. `submit` and `wait` belong to one thread.

    `target` is used by the merger alone until `close`; `open_target` opens one more for each connection of the lanes.
    `begun`: where a batch ends that an earlier mover may have merged, or a part of it, without recording that. `batch`:
    the number of the last one. `keep_first` stores a batch before the target has it (at-most-once). `merged` gets each
    batch that all lanes have merged, with the changes whose rows the target lacked; `woken` is called whenever
    something has happened.
    """

    target: Target
    open_target: Callable[[], Target]
    fence: Fence
    delivery: Delivery
    plan: LanePlan
    connections: int
    start: Position
    begun: Position | None
    batch: int
    keep_first: Callable[[Position, Position], None]
    merged: Callable[[StagedLogBatch, list[RowNotFound]], None]
    woken: Callable[[], None] = lambda: None
    error: BaseException | None = field(init=False, default=None)
    applied: Position = field(init=False)
    """The position that all rows have reached."""

    def __post_init__(self) -> None:
        self.applied = self._submitted = self.start
        self._changed = Condition()
        self._flying: list[_Batch] = []
        self._running = 0
        self._closing = False
        self._last: dict[str, _Step] = {}
        self._starts: dict[str, LaneStart] = dict(self.plan.starts)
        self._own = local()
        self._opened: list[Target] = []
        self._refused: ChangesRefused | None = None
        # One thread has the driver's own connection: it plans, settles and records.
        self._first = ThreadPoolExecutor(1, "tieout-merge")
        self._lanes = ThreadPoolExecutor(max(1, self.connections), "tieout-lane") if self.plan.lanes else None

    @property
    def most_in_flight(self) -> int:
        """With other deliveries a batch may be applied again, or be lost, and that should be one batch."""
        return _IN_FLIGHT if self.plan.lanes and self.delivery is Delivery.EXACTLY_ONCE else 1

    def submit(self, staged: StagedLogBatch) -> None:
        """Begins to merge a batch, once there is room for one more. Raises what went wrong with an earlier one."""
        with self._changed:
            self._changed.wait_for(lambda: self.error or len(self._flying) < self.most_in_flight)
            self.raise_error()
            upto = staged.upto.with_commit_of(self._submitted)
            committed = staged.newest.at if staged.newest is not None else None
            again = self.begun is not None and not self._submitted.reaches(self.begun)
            merge = Merge(staged.changes, self._submitted, upto, staged.versions, committed, again)
            self.batch += 1
            batch = _Batch(self.batch, staged, merge)
            self._flying.append(batch)
            self._submitted = upto
            self._start(self._first, self._begin, batch)

    def wait(self) -> None:
        """Returns when everything that was submitted is merged. Raises what went wrong."""
        with self._changed:
            self._changed.wait_for(lambda: self.error or not self._flying)
            self.raise_error()

    def raise_error(self) -> None:
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Waits for what runs, begins nothing else, and closes the connections of the lanes. Never raises."""
        self._closing = True
        with self._changed:
            self._changed.wait_for(lambda: not self._running and (self.error or not self._flying))
        for pool in (self._first, self._lanes):
            if pool is not None:
                pool.shutdown()
        for target in self._opened:
            target.close()

    def _start(self, pool: ThreadPoolExecutor, work: Callable[..., None], *arguments: object) -> None:
        self._running += 1
        pool.submit(self._run, work, *arguments)

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        """After an error, nothing else is begun: the next merger goes on where each lane is."""
        try:
            if self.error is None:
                work(*arguments)
        except BaseException as error:
            with self._changed:
                self.error = self.error or error
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
            self.woken()

    def _begin(self, batch: _Batch) -> None:
        merge = batch.merge
        reach("before-merge")
        if self.delivery is Delivery.AT_MOST_ONCE:
            self.keep_first(merge.after, merge.upto)
            reach("after-source-commit")
        if not self._together:
            self.target.progress.plan_batch(self.fence, merge.after, merge.upto)
            reach("after-batch-planned")
        # Once: several connections merge from the same stage, and a merge may be tried again.
        merge = batch.merge = replace(merge, changes=[self.target.settle(changes) for changes in merge.changes])
        if not self.plan.lanes:
            tries = _TRIES if self.delivery is Delivery.AT_MOST_ONCE else 1
            batch.not_found += self._applied(tries, self.target, merge)
            reach("after-merge")
            if not self._together:
                self._store(merge)
            self._end(batch)
            return
        parts = [(lanes, own) for lanes, own in self.plan.steps(merge.changes) if not self._is_merged(lanes, batch)]
        steps = [_Step(batch, lanes, own) for lanes, own in parts]
        with self._changed:
            batch.left = len(steps)
            for step in steps:
                self._queue(step)
        if not steps:
            self._record(batch)

    @property
    def _together(self) -> bool:
        """Whether one transaction writes rows and progress."""
        return self.delivery is not Delivery.AT_LEAST_ONCE

    def _is_merged(self, lanes: tuple[Lane, ...], batch: _Batch) -> bool:
        """Whether an earlier mover has merged the batch in these lanes."""
        starts = [self.plan.starts.get(lane.name, LaneStart()).applied for lane in lanes]
        return all(start is not None and start.reaches(batch.merge.upto) for start in starts)

    def _queue(self, step: _Step) -> None:
        """Runs a step after the earlier steps of its lanes."""
        assert self._lanes is not None
        earlier = {id(each): each for lane in step.lanes if (each := self._last.get(lane.name)) and not each.done}
        step.waits = len(earlier)
        for each in earlier.values():
            each.then.append(step)
        for lane in step.lanes:
            self._last[lane.name] = step
        if not step.waits:
            self._start(self._lanes, self._merge, step)

    def _merge(self, step: _Step) -> None:
        assert self._lanes is not None
        merge, steps = step.batch.merge, [self._lane_step(lane, step.batch) for lane in step.lanes]
        part = replace(merge, changes=step.changes)
        target = self._own_target()
        not_found = self._applied(1 if _stays_in_part(target, part) else _TRIES, target, part, steps)
        if not self._together:
            # If another lane's rows are refused, those of this one are not to come again.
            reach("lane-without-progress")
            self._retrying(_TRIES)(self._gives_way, target.record_lanes, self.fence, part, steps)
        reach("after-lane")
        with self._changed:
            for lane in step.lanes:
                self._starts[lane.name] = LaneStart(merge.upto, step.batch.number)
            step.done = True
            step.batch.not_found += not_found
            assert step.batch.left is not None
            step.batch.left -= 1
            for later in step.then:
                later.waits -= 1
                if not later.waits:
                    self._start(self._lanes, self._merge, later)
            if not step.batch.left:
                self._start(self._first, self._record, step.batch)

    def _applied(self, tries: int, target: Target, merge: Merge, steps: Sequence[LaneStep] = ()) -> list[RowNotFound]:
        """Merges. With at-most-once the batch would not be read again: without the changes that are refused, then."""
        if merge.again and any(each.rows and not each.stage.transfer.key for each in merge.changes):
            target.progress.mark_inexact(self.fence)
        merged = partial(target.merge, with_progress=self._together, steps=steps)
        while True:
            try:
                return self._retrying(tries)(self._gives_way, merged, self.fence, merge)
            except ChangesRefused as refused:
                if self.delivery is not Delivery.AT_MOST_ONCE or refused.table is None:
                    raise
                # First, so that no mover follows the table without these changes.
                target.progress.stop_table(self.fence, refused.table, str(refused))
                self._refused = refused
                merge = replace(
                    merge, changes=[each for each in merge.changes if each.stage.transfer.source.name != refused.table]
                )

    def _lane_step(self, lane: Lane, batch: _Batch) -> LaneStep:
        return LaneStep(lane, batch.number, self._starts.get(lane.name, LaneStart()).applied, self.start)

    def _own_target(self) -> Target:
        """The connection of this thread."""
        target: Target | None = getattr(self._own, "target", None)
        if target is None:
            target = self._own.target = self.open_target()
            self._opened.append(target)
            target.merge_beside_others()
        return target

    def _record(self, batch: _Batch) -> None:
        """The task as a whole moves on, once all lanes have merged a batch and those before it."""
        reach("after-merge")
        while (done := self._first_done()) is not None:
            merge = done.merge
            # What a table's own lane has stored with its rows may be newer by now.
            versions = {name: each for name, each in merge.versions.items() if str(name) in self.plan.divided}
            self._store(Merge((), merge.after, merge.upto, versions, merge.committed), batch=done.number)
            self._end(done)

    def _store(self, merge: Merge, *, batch: int | None = None) -> None:
        self._retrying(_TRIES)(self._gives_way, self.target.record, self.fence, merge, batch=batch)

    def _first_done(self) -> _Batch | None:
        with self._changed:
            return self._flying[0] if self._flying and self._flying[0].left == 0 else None

    def _end(self, batch: _Batch) -> None:
        reach("after-progress")
        self.applied = batch.merge.upto
        self.target.drop_stages([changes.stage for changes in batch.staged.changes])
        self.merged(batch.staged, batch.not_found)
        with self._changed:
            self._flying.remove(batch)
            self._changed.notify_all()
        if self._refused is not None:
            raise self._refused

    @staticmethod
    def _retrying(tries: int) -> stamina.RetryingCaller:
        return stamina.RetryingCaller(attempts=tries, timeout=None, wait_max=5.0)

    def _gives_way(self, error: Exception) -> bool:
        """Whether to try again what gave way to another transaction. A mover that ends does not wait for locks, except
        with at-most-once: the batch is not read again, so what was rolled back would be lost.

        Without lanes only at-most-once tries a merge again here: others start again where the target is.
        """
        return isinstance(error, BusyError) and (not self._closing or self.delivery is Delivery.AT_MOST_ONCE)


def _stays_in_part(target: Target, merge: Merge) -> bool:
    """Whether what was applied before an error stays, and would be there twice if it came again unmarked."""
    transfers = [each.stage.transfer for each in merge.changes]
    return any(not each.key and not is_transactional(target.level_of(each.target)) for each in transfers)
