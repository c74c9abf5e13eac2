"""Moves: run a task, show its status, control it, drop it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tieout.api.sessions import SparkSettings, session_of
from tieout.config.urls import parse_url
from tieout.errors import TieoutError, UsageError
from tieout.meta import DEFAULT_URL, JobKind, JobState, MetaStore, Wanted, open_store
from tieout.model.documents import move_status_from
from tieout.model.move_status import DroppedTask, MoveControl, MoveStatus, RestartedTable
from tieout.model.moves import ENDED, FAILED, INTERRUPTED, joining_task
from tieout.model.nearest import chosen
from tieout.model.requests import MoveRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_move(
    request: MoveRequest,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    listener: Callable[[MoveStatus], None] = lambda status: None,
    until_caught_up: bool = False,
    finish: bool = False,
) -> MoveStatus:
    """Copies a task's tables, then follows the source's log until somebody stops it; returns the last status.

    `until_caught_up`: it ends when it has applied what was in the log when copying ended. `finish`: it then prepares
    the target for applications, and the status has a Finish.

    It raises UnsupportedError for what a preflight finds to prevent it, before it touches anything. Started again, it
    continues from the progress that the target records.
    """
    import tieout.spark.session  # noqa: F401 - as in run_verification
    from tieout.connectors.registry import open_endpoint, open_source, open_target
    from tieout.move.job import MoveJob
    from tieout.move.preflight import MovePreflight
    from tieout.move.ways import Ways, judged_apart
    from tieout.tasks.expressions import refuse_wrong_expressions

    urls = parse_url(request.source), parse_url(request.target)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        endpoints = tuple(stack.enter_context(closing(open_endpoint(url))) for url in urls)
        source = open_source(urls[0])
        with closing(open_target(urls[1])) as target:
            # Before Spark starts, which takes seconds, and before anything is touched.
            levels = MovePreflight(Ways(request, (endpoints[0], endpoints[1]), source, target)).refuse()
            skips = judged_apart(target, request.task)
        session = pool.submit(session_of, spark)
        refuse_wrong_expressions(endpoints[0], endpoints[1], request, session.result, skips)
        job = MoveJob(
            store,
            request,
            levels,
            (endpoints[0], endpoints[1]),
            source,
            urls[1],
            (urls[0].redacted(), urls[1].redacted()),
            lambda keeper: listener(keeper.status()),
        )
        return job.run(session.result, until_caught_up=until_caught_up, finish=finish).status()


def move_status(task: str, meta: str = DEFAULT_URL, *, source: str | None = None) -> MoveStatus | None:
    """The last status that a task's mover reported; None if it never ran with this meta store.

    A mover that is gone has no lag and no rate; unless it recorded how it ended, it was interrupted. `source` is the
    URL of the task's source, which knows what it keeps for a mover that is gone.
    """
    with open_store(meta) as store:
        status = _status(store, task)
        if status is None or source is None or store.jobs.list(limit=1, state=JobState.RUNNING, task=task):
            return status
    return _with_retention(status, source)


def _with_retention(status: MoveStatus, source: str) -> MoveStatus:
    """The status with what the source keeps for the task now; a source that does not answer becomes a remark."""
    from tieout.connectors.registry import open_source

    try:
        kept = open_source(parse_url(source)).retention(status.task)
    except TieoutError as error:
        remark = f"what the source keeps for the task is not known: {error}"
        return replace(status, remarks=(*status.remarks, remark))
    silent = datetime.now(UTC) - status.updated_at
    return replace(
        status,
        log_kept_bytes=kept.kept,
        log_limit=kept.limit,
        log_warning=kept.warning_words(silent.total_seconds()),
        left_behind=kept.left,
    )


def move_statuses(meta: str = DEFAULT_URL) -> list[MoveStatus]:
    """The status of every task that the meta store knows."""
    with open_store(meta) as store:
        found = [_status(store, task) for task in store.moves.tasks()]
    return [status for status in found if status is not None]


def _status(store: MetaStore, task: str) -> MoveStatus | None:
    # The job first: what is read after it has ended is the mover's last report.
    job = next(iter(store.jobs.list(limit=1, task=task, kind=JobKind.MOVE)), None)
    kept = store.moves.status(task)
    if kept is None or job is None:
        return None if kept is None else move_status_from(kept)
    status = move_status_from({**kept, "updated_at": job.heartbeat_at.isoformat()})
    if job.state is JobState.RUNNING:
        return status
    status = replace(
        status, rows_per_second=None, lag_seconds=None, lag_bytes=None, log_kept_bytes=None, seconds_left=None
    )
    if status.state in ENDED:
        return status
    if job.state is JobState.FAILED:
        return replace(status, state=FAILED, message=job.error)
    gone = f"its process is gone ({job.pid} on {job.host}); start it again: tieout run {task}"
    return replace(status, state=INTERRUPTED, message=gone)


def control_move(task: str, wanted: Wanted | str | None, meta: str = DEFAULT_URL) -> MoveControl:
    """Asks the process that runs a task to pause or stop; None asks it to continue."""
    request = None if wanted is None else chosen(Wanted, wanted, "way to control a mover")
    with open_store(meta) as store:
        running = store.jobs.list(limit=1, state=JobState.RUNNING, task=task, kind=JobKind.MOVE)
        if not running:
            hint = f"start it: tieout run {task}; tieout task drop {task} removes what it left at its endpoints"
            raise UsageError(f"no process runs task {task}", hint)
        job = store.jobs.set_wanted(running[0].id, request)
        status = _status(store, task) if request is Wanted.STOP else None
    control = MoveControl(task, "run" if request is None else request.value, job.id)
    if status is None:
        return control
    return replace(
        control,
        left_behind=status.left_behind,
        log_kept_bytes=status.log_kept_bytes,
        log_limit=status.log_limit,
    )


def restart_table(request: MoveRequest, table: str, meta: str = DEFAULT_URL) -> RestartedTable:
    """Asks the mover of a task, which runs or will run, to empty one table and to copy it again while the others go on.

    `table` is a table of the source, by its name or schema.name. UsageError if the task has no such table, or if it
    can't be restarted alone.
    """
    from tieout.connectors.registry import open_endpoint, open_target
    from tieout.move.restarts import Restarts
    from tieout.tasks.routing import routes

    urls = parse_url(request.source), parse_url(request.target)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        source, there = (stack.enter_context(closing(open_endpoint(url))) for url in urls)
        target = stack.enter_context(closing(open_target(urls[1])))
        found = routes(source, there, request)
        named = [route for route in found if table in (str(route.source), route.source.name)]
        if len(named) != 1:
            known = ", ".join(str(route.source) for route in named or found)
            raise UsageError(f"the task {request.task} has no one table {table}", f"it has {known}")
        (route,) = named
        if target.is_prepared():
            target.prepare()  # tables of an older layout lack what is asked for below
        if not target.is_prepared() or target.progress.read(request.task) is None:
            raise UsageError(f"the task {request.task} has not begun", f"start it: tieout run {request.task}")
        if str(route.source) in target.progress.planned_columns(joining_task(request.task)):
            raise UsageError(f"{route.source} is being copied already", f"see: tieout status {request.task}")
        if (reason := Restarts(request, (source, there), target).refused(str(route.source), found)) is not None:
            raise UsageError(reason, f"drop the task and start over: tieout task drop {request.task}")
        target.restarts.request(request.task, str(route.source))
        running = store.jobs.list(limit=1, state=JobState.RUNNING, task=request.task, kind=JobKind.MOVE)
    return RestartedTable(request.task, str(route.source), str(route.target), bool(running))


def drop_move(request: MoveRequest, meta: str = DEFAULT_URL) -> DroppedTask:
    """Removes what a task left on both sides and in the meta store; its target tables stay."""
    from tieout.connectors.registry import open_source, open_target
    from tieout.runtime.lease import take_task

    with open_store(meta) as store, closing(open_target(parse_url(request.target))) as target:
        running = store.jobs.list(limit=1, state=JobState.RUNNING, task=request.task, kind=JobKind.MOVE)
        if running:
            raise UsageError(f"task {request.task} is running", f"stop it first: tieout stop {request.task}")
        target.prepare()
        fences = [take_task(target, name) for name in (request.task, joining_task(request.task))]
        for fence in reversed(fences):  # the tables that join go first: they are the task's until it is gone
            with ExitStack() as left:
                # Also if the target fails: the source keeps its log for the task.
                left.callback(open_source(parse_url(request.source)).drop_task, fence.task)
                target.drop_task(fence)
        store.moves.forget(request.task)
    return DroppedTask(request.task)
