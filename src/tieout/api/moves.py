"""Moving: run a task, look at it, steer it, drop it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tieout.api.sessions import SparkSettings, session_of
from tieout.config.urls import parse_url
from tieout.errors import TieoutError, UsageError
from tieout.meta import DEFAULT_URL, Job, JobKind, JobState, MetaStore, Wanted, open_store
from tieout.model.moves import ENDED, FAILED, INTERRUPTED
from tieout.model.nearest import chosen
from tieout.model.requests import MoveRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_THE_LIVING = ("rows_per_second", "lag_seconds", "lag_bytes", "log_kept_bytes", "seconds_left")
"""What a status tells of this moment: it is not known any more when nobody looks."""


def run_move(
    request: MoveRequest,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    tell: Callable[[dict[str, Any]], None] = lambda status: None,
    until_caught_up: bool = False,
) -> dict[str, Any]:
    """Copies a task's tables, then follows the source's log until it is stopped; returns the last status.

    What a preflight finds to prevent it is refused (UnsupportedError), and nothing is touched. Started again, it goes
    on where the target's progress says.
    """
    import tieout.spark.session  # noqa: F401 - as in run_verification
    from tieout.connectors.registry import open_endpoint, open_source, open_target
    from tieout.move.job import MoveJob
    from tieout.move.preflight import MovePreflight

    urls = parse_url(request.source), parse_url(request.target)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        endpoints = tuple(stack.enter_context(closing(open_endpoint(url))) for url in urls)
        source = open_source(urls[0])
        with closing(open_target(urls[1])) as target:
            # Before Spark takes its seconds to start, and before anything is touched.
            MovePreflight(request, (endpoints[0], endpoints[1]), source, target).refuse()
        session = pool.submit(session_of, spark)
        job = MoveJob(
            store,
            request,
            (endpoints[0], endpoints[1]),
            source,
            urls[1],
            (urls[0].redacted(), urls[1].redacted()),
            lambda status: tell(status.document()),
        )
        return job.run(session.result, until_caught_up=until_caught_up).document()


def move_status(task: str, meta: str = DEFAULT_URL, *, source: str | None = None) -> dict[str, Any] | None:
    """What a task's mover last said of itself; None if it never ran with this meta store.

    Of one that is gone no lag and no rate is known, and unless it said how it ended, it was interrupted. `source` is
    the task's, to ask it what it keeps for a mover that is gone.
    """
    with open_store(meta) as store:
        told = _status(store, task)
        if told is None or source is None or store.jobs.list(limit=1, state=JobState.RUNNING, task=task):
            return told
    return told | _kept_at(source, told)


def _kept_at(source: str, told: dict[str, Any]) -> dict[str, Any]:
    """What the source says of itself now; a source that can't be asked is a remark."""
    from tieout.connectors.registry import open_source

    try:
        kept = open_source(parse_url(source)).retention(told["task"])
    except TieoutError as error:
        return {"remarks": [*told["remarks"], f"what the source keeps for the task is not known: {error}"]}
    silent = datetime.now(UTC) - datetime.fromisoformat(told["updated_at"])
    return {
        "log_kept_bytes": kept.kept,
        "log_limit": kept.limit,
        "log_warning": kept.warning_words(silent.total_seconds()),
        "left_behind": kept.left,
    }


def move_statuses(meta: str = DEFAULT_URL) -> list[dict[str, Any]]:
    """The same for every task that there is something of."""
    with open_store(meta) as store:
        found = [_status(store, task) for task in store.moves.tasks()]
    return [status for status in found if status is not None]


def _status(store: MetaStore, task: str) -> dict[str, Any] | None:
    # The job first: what is read after it has ended is the mover's last word.
    job = next(iter(store.jobs.list(limit=1, task=task, kind=JobKind.MOVE)), None)
    told = store.moves.status(task)
    if told is None or job is None:
        return told
    told |= {"updated_at": job.heartbeat_at.isoformat()}
    if job.state is JobState.RUNNING:
        return told
    told |= dict.fromkeys(_OF_THE_LIVING)
    if told["state"] in ENDED:
        return told
    if job.state is JobState.FAILED:
        return told | {"state": FAILED, "message": job.error}
    gone = f"its process is gone ({job.pid} on {job.host}); start it again: tieout run {task}"
    return told | {"state": INTERRUPTED, "message": gone}


def steer_move(task: str, wanted: Wanted | str | None, meta: str = DEFAULT_URL) -> Job:
    """Asks the process that runs a task to pause or stop; None: to go on."""
    asked = None if wanted is None else chosen(Wanted, wanted, "way to steer a mover")
    with open_store(meta) as store:
        running = store.jobs.list(limit=1, state=JobState.RUNNING, task=task, kind=JobKind.MOVE)
        if not running:
            hint = f"start it: tieout run {task}; tieout task drop {task} removes what it left at its endpoints"
            raise UsageError(f"nothing runs the task {task}", hint)
        return store.jobs.set_wanted(running[0].id, asked)


def drop_move(request: MoveRequest, meta: str = DEFAULT_URL) -> None:
    """Removes what a task left on both sides and in the meta store; its target tables stay."""
    from tieout.connectors.registry import open_source, open_target
    from tieout.runtime.lease import take_task

    with open_store(meta) as store, closing(open_target(parse_url(request.target))) as target:
        running = store.jobs.list(limit=1, state=JobState.RUNNING, task=request.task, kind=JobKind.MOVE)
        if running:
            raise UsageError(f"the task {request.task} is being run", f"tieout stop {request.task}")
        target.prepare()
        target.drop_task(take_task(target, request.task))
        open_source(parse_url(request.source)).drop_task(request.task)
        store.moves.forget(request.task)
