"""One function for each thing a user does. What a command prints, these return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TextIO

from tieout.config.urls import EndpointUrl, parse_url
from tieout.errors import UsageError
from tieout.meta import DEFAULT_URL, Job, JobKind, JobState, JobTable, RepairPlan, Wanted, open_store
from tieout.model.forecast import Forecast, Preflight
from tieout.model.move_requests import MoveRequest
from tieout.model.progress import Listener, Progress, silence
from tieout.model.repairs import RepairResult, RepairSummary
from tieout.model.requests import TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The session to start, for who does not bring one. `verbose` lets Spark's own log through."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False


def verify(
    source: str,
    target: str,
    tables: Sequence[str | TableRequest] = (),
    *,
    spark: SparkSession | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
    **options: Any,
) -> VerificationResult:
    """Compares the tables of two endpoints.

    `tables` are names or patterns (none: all), `options` those of VerifyOptions; `spark` is a session of
    the caller's own, else one is started.
    """
    requests = tuple(TableRequest(table) if isinstance(table, str) else table for table in tables)
    request = VerifyRequest(source, target, requests, VerifyOptions(**options))
    return run_verification(request, spark=spark, meta=meta, listener=listener)


def compare(
    a: DataFrame,
    b: DataFrame,
    key: str | Sequence[str] = (),
    columns: Sequence[str] | None = None,
    tolerance: Mapping[str, str | float] | None = None,
    limit: int | None = 1000,
) -> VerificationResult:
    """Compares two DataFrames, `a` as the source and `b` as the target; rows match by `key`, or else as multisets.

    `columns` None: all. `tolerance` is a number, or "1e-9 relative", for a column. `limit` cuts the list of
    differences, not their counts.
    """
    from tieout.verify.frames import compare_frames

    request = TableRequest(
        "a",
        key=((key,) if isinstance(key, str) else tuple(key)) or None,
        columns=None if columns is None else tuple(columns),
        tolerance={name: str(amount) for name, amount in (tolerance or {}).items()},
    )
    return compare_frames(a, b, request, limit)


def run_verification(
    request: VerifyRequest,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
    resume: str | None = None,
) -> VerificationResult:
    """Runs a verification as a job of the meta store; `resume` names one to go on with."""
    # pyspark imports itself in circles: it is loaded here, before two threads could meet in one.
    import tieout.spark.session  # noqa: F401
    from tieout.verify.endpoints import open_any

    urls = parse_url(request.source), parse_url(request.target)
    shown = urls[0].redacted(), urls[1].redacted()
    listener(Progress("schema"))
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(3))

        @cache
        def starting() -> Future[SparkSession]:
            return pool.submit(_session, spark)

        opened = [pool.submit(open_any, url, lambda: starting().result()) for url in urls]
        source, target = (stack.enter_context(closing(future.result())) for future in opened)
        # Spark takes seconds to start: the catalogs are read meanwhile, but a wrong password does not wait for it.
        session = starting()

        from tieout.verify.job import VerificationJob

        job = VerificationJob(
            store,
            request,
            (source, target),
            shown,
            request_document(request, shown),
            (_connections(urls[0]), _connections(urls[1])),
            listener,
        )
        return job.run(session.result, resume)


def _connections(url: EndpointUrl) -> int:
    return url.connections or DEFAULT_CONNECTIONS


def _session(spark: SparkSession | SparkSettings | None) -> SparkSession:
    if spark is not None and not isinstance(spark, SparkSettings):
        return spark
    from tieout.spark.session import start_session

    settings = spark or SparkSettings()
    return start_session(settings.master, settings.conf, verbose=settings.verbose)


def request_document(request: VerifyRequest, shown: tuple[str, str]) -> dict[str, Any]:
    """The request as kept with its job: without secrets."""
    return {**asdict(request), "source": shown[0], "target": shown[1]}


@dataclass(frozen=True, slots=True)
class JobDetails:
    """A job, its tables, and its result document if it has one."""

    job: Job
    tables: tuple[JobTable, ...]
    result: Mapping[str, Any] | None


def list_jobs(
    meta: str = DEFAULT_URL, *, limit: int = 20, state: str | None = None, task: str | None = None
) -> list[Job]:
    """The newest jobs first."""
    with open_store(meta) as store:
        return store.jobs.list(limit=limit, state=JobState(state) if state else None, task=task)


def show_job(reference: str, meta: str = DEFAULT_URL) -> JobDetails:
    """A job by its id, by the beginning of one, or the newest for `last`."""
    with open_store(meta) as store:
        job = store.jobs.get(reference)
        return JobDetails(job, store.tables.all(job.id), store.jobs.result(job.id))


def resumable_job(reference: str, meta: str = DEFAULT_URL) -> Job:
    """The job, if a verification can go on with it: known before Spark is started."""
    with open_store(meta) as store:
        job = store.jobs.get(reference)
    if job.kind is not JobKind.VERIFICATION or job.state in (JobState.DONE, JobState.CANCELLED):
        raise UsageError(f"job {job.id} is a {job.kind} that is {job.state}: it can't be resumed", "start a new one")
    return job


def pause_job(reference: str, meta: str = DEFAULT_URL) -> Job:
    """Asks the process that runs the job to stop and keep what it has."""
    with open_store(meta) as store:
        return store.jobs.set_wanted(reference, Wanted.PAUSE)


def cancel_job(reference: str, meta: str = DEFAULT_URL) -> Job:
    """Ends a job for good: at once, or by asking the process that runs it."""
    with open_store(meta) as store:
        return store.jobs.set_wanted(reference, Wanted.CANCEL)


def explain(request: VerifyRequest, *, spark: SparkSession | SparkSettings | None = None) -> Forecast:
    """What would be compared, how and why. Reads catalogs, no rows; starts Spark only for tables it alone can read."""
    from tieout.verify.endpoints import open_any
    from tieout.verify.forecast import forecast_of
    from tieout.verify.planning import plan_tables

    urls = parse_url(request.source), parse_url(request.target)
    session = partial(_session, spark)
    with closing(open_any(urls[0], session)) as source, closing(open_any(urls[1], session)) as target:
        tables = tuple(forecast_of(table) for table in plan_tables(source, target, request))
    return Forecast(urls[0].redacted(), urls[1].redacted(), tables)


def preflight(
    request: VerifyRequest, meta: str = DEFAULT_URL, *, spark: SparkSession | SparkSettings | None = None
) -> Preflight:
    """Every problem of a verification at once, each with its fix, and what its answer would be worth."""
    from tieout.verify.readiness import examine

    urls = parse_url(request.source), parse_url(request.target)
    return examine(request, urls, meta, partial(_session, spark))


@dataclass(frozen=True, slots=True)
class PlanDetails:
    """A repair plan, and the verification that it comes from."""

    plan: RepairPlan
    job: Job


def verification(reference: str, meta: str = DEFAULT_URL) -> Job:
    """A verification by its id, by the beginning of one, or the newest for `last`."""
    from tieout.verify.repair.sides import verification

    with open_store(meta) as store:
        return verification(store, reference)


def repair_plan(reference: str, meta: str = DEFAULT_URL) -> PlanDetails:
    """A plan by its id, by the beginning of one, or the newest for `last`."""
    with open_store(meta) as store:
        plan = store.repairs.get(reference)
        return PlanDetails(plan, store.jobs.get(plan.job_id))


def plan_repair(
    job: str,
    source: str,
    target: str,
    *,
    table: str | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
) -> RepairSummary:
    """Keeps a plan that would end the differences of a verification. Reads both sides, changes nothing."""
    from tieout.verify.repair import plan_repair

    with open_store(meta) as store:
        return plan_repair(store, job, parse_url(source), parse_url(target), table=table, listener=listener)


def apply_repair(
    plan: str, source: str, target: str, *, meta: str = DEFAULT_URL, listener: Listener = silence
) -> RepairResult:
    """Changes the target as planned; looks again before each change, and afterwards. Interrupted if asked to stop."""
    from tieout.verify.repair import apply_repair

    with open_store(meta) as store:
        return apply_repair(store, plan, parse_url(source), parse_url(target), listener=listener)


def undo_repair(
    plan: str, source: str, target: str, *, meta: str = DEFAULT_URL, listener: Listener = silence
) -> RepairResult:
    """Puts the old rows back, where they are still as the repair left them. Interrupted if asked to stop."""
    from tieout.verify.repair import undo_repair

    with open_store(meta) as store:
        return undo_repair(store, plan, parse_url(source), parse_url(target), listener=listener)


def write_repair_sql(plan: str, source: str, target: str, out: TextIO, *, meta: str = DEFAULT_URL) -> int:
    """Writes a plan as statements in the target's dialect; returns how many."""
    from tieout.verify.repair import repair_statements

    with open_store(meta) as store:
        return repair_statements(store, plan, parse_url(source), parse_url(target), out)


def run_move(
    request: MoveRequest,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    tell: Callable[[dict[str, Any]], None] = lambda status: None,
    until_caught_up: bool = False,
) -> dict[str, Any]:
    """Copies a task's tables, then follows the source's log until it is stopped; returns the last status.

    Started again, it goes on where the target's progress says.
    """
    import tieout.spark.session  # noqa: F401 - as in run_verification
    from tieout.connectors.registry import open_endpoint, open_source
    from tieout.move.job import MoveJob

    urls = parse_url(request.source), parse_url(request.target)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        endpoints = tuple(stack.enter_context(closing(open_endpoint(url))) for url in urls)
        source = open_source(urls[0])
        session = pool.submit(_session, spark)
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


def move_status(task: str, meta: str = DEFAULT_URL) -> dict[str, Any] | None:
    """What a task's mover last said of itself; None if it never ran with this meta store."""
    with open_store(meta) as store:
        return store.moves.status(task)


def move_statuses(meta: str = DEFAULT_URL) -> list[dict[str, Any]]:
    """The same for every task that there is something of."""
    with open_store(meta) as store:
        found = [store.moves.status(task) for task in store.moves.tasks()]
    return [status for status in found if status is not None]


def steer_move(task: str, wanted: Wanted | None, meta: str = DEFAULT_URL) -> Job:
    """Asks the process that runs a task to pause or stop; None: to go on."""
    with open_store(meta) as store:
        running = store.jobs.list(limit=1, state=JobState.RUNNING, task=task)
        if not running:
            raise UsageError(f"nothing runs the task {task}", f"start it: tieout run {task}")
        return store.jobs.set_wanted(running[0].id, wanted)


def drop_move(request: MoveRequest, meta: str = DEFAULT_URL) -> None:
    """Removes what a task left on both sides and in the meta store; its target tables stay."""
    from tieout.connectors.registry import open_source, open_target

    with open_store(meta) as store, closing(open_target(parse_url(request.target))) as target:
        running = store.jobs.list(limit=1, state=JobState.RUNNING, task=request.task)
        if running:
            raise UsageError(f"the task {request.task} is being run", f"tieout stop {request.task}")
        target.prepare()
        target.drop_task(request.task)
        open_source(parse_url(request.source)).drop_task(request.task)
        store.moves.forget(request.task)
