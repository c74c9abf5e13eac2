"""Preflight of a verification: finds every problem of a request at once, each with its fix, and what the result would
be worth.

Reads catalogs, and reads no rows of any table. Also reports what the plan of a table shows: gaps, differences and weak
spots.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint, retry_cautiously
from tieout.errors import AccessError, TieoutError
from tieout.model.keys import EVERYTHING
from tieout.model.preflight import Guarantee, Preflight, Problem, Severity, TableForecast
from tieout.model.requests import Meaning, TableRequest, VerifyRequest
from tieout.model.results import SchemaFinding, Strategy
from tieout.model.tables import Table
from tieout.tasks.endpoints import open_any
from tieout.tasks.expressions import Skips, refuse_alike_shards, refuse_wrong_expressions
from tieout.tasks.preflight import as_problem, examine, untested, with_problems
from tieout.tasks.routing import NothingToMove
from tieout.tasks.table_matching import NamePair, names_of, pair_tables
from tieout.verification.moved_task_plan import move_request
from tieout.verification.parts import can_look_up, parts_of
from tieout.verification.plan import PairPlanner, PlannedTable, Side, TablePlan
from tieout.verification.plan_tables import plan_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def forecast_of(planned: PlannedTable) -> TableForecast:
    comparison, plan = planned.comparison, planned.plan
    return TableForecast(
        planned.source_name,
        planned.target_name,
        planned.explanation,
        guarantee_of(plan) if plan else None,
        planned.failure or _one_sided(planned),
        plan.key_names if plan else (),
        comparison.unverified if comparison else (),
        comparison.findings if comparison else (),
    )


def _one_sided(planned: PlannedTable) -> str | None:
    if planned.pair.source is None:
        return "the table is only on the target"
    return "the table is only on the source" if planned.pair.target is None else None


def guarantee_of(plan: TablePlan) -> Guarantee:
    if plan.strategy is Strategy.COUNTS:
        return Guarantee(None, "only row counts are compared: no table can be verified as equal", False, False)
    bits = plan.hash.bits if plan.hash else 128
    # An engine's own hash is mixed a second time: either pass may collide.
    chance = bits - 1 if plan.hash and plan.hash.native else bits
    return Guarantee(
        bits,
        f"two different ranges of rows pass as equal with probability 2^-{chance}",
        rechecks=bool(plan.key) and all(can_look_up(side) for side in (plan.source, plan.target)),
        resumes=bool(plan.source.scan.ordered_by and plan.target.scan.ordered_by),
    )


def table_problems(table: PlannedTable, meaning: Meaning = Meaning.ENGINE) -> Iterator[Problem]:
    name = table.name
    if table.pair.source is None or table.pair.target is None:
        side = "target" if table.pair.source is None else "source"
        fix = "create it on the other side, or leave it out with --exclude"
        yield Problem(Severity.DIFFERENT, f"the table is only on the {side}", fix, table=name)
    if table.failure is not None:
        yield Problem(Severity.UNVERIFIED, table.failure, None, table=name)
    if table.comparison is not None:
        yield from (_of_schema(name, finding) for finding in table.comparison.findings)
        for column in table.comparison.unverified:
            fix = f"use --expr '{column.column}=…|…', or leave it out with --exclude-columns {column.column}"
            if meaning is Meaning.MOVED:  # the task says what its columns hold
                fix = f"leave it out with --exclude-columns {column.column}"
            yield Problem(Severity.UNVERIFIED, f"column {column.column}: {column.reason}", fix, table=name)
    if table.plan is not None:
        yield from _of_plan(name, table.plan, asked_key=table.pair.request.key)


def _of_schema(table: str, finding: SchemaFinding) -> Problem:
    words = f"{finding.aspect} of {finding.column}" if finding.column and finding.aspect != "column" else finding.aspect
    message = f"{words}{f' {finding.column}' if finding.aspect == 'column' else ''}: {finding.message}"
    if finding.breaks:
        fix = f"add it on the other side, or leave it out with --exclude-columns {finding.column}"
        return Problem(Severity.DIFFERENT, message, fix, table=table)
    return Problem(Severity.NOTE, message, None, table=table)


def _of_plan(table: str, plan: TablePlan, asked_key: tuple[str, ...] | None) -> Iterator[Problem]:
    if plan.strategy is Strategy.COUNTS:
        yield Problem(Severity.UNVERIFIED, "rows are only counted", "remove --counts-only", table=table)
    if not plan.key:
        message = "no key: rows are a multiset, a changed row shows as one missing and one extra"
        yield Problem(Severity.NOTE, message, "give --key, or add a primary key", table=table)
    elif asked_key is not None:
        sides = (("source", plan.source.scan), ("target", plan.target.scan))
        for side, scan in sides:
            names = {column.name for column in scan.key_columns}
            if not _is_unique(scan.table, names):
                message = f"no unique index on ({', '.join(sorted(names))}): rows with the same key are ambiguous"
                yield Problem(Severity.NOTE, message, "add a unique index", side, table)


def _is_unique(table: Table, names: set[str]) -> bool:
    return any(index.unique and set(index.columns) <= names for index in table.indexes)


_AT_ONCE = 4


def preflight_verification(
    request: VerifyRequest,
    urls: tuple[EndpointUrl, EndpointUrl],
    meta: str,
    session: Callable[[], SparkSession],
    skips: Skips = lambda name: False,
) -> Preflight:
    """Everything that prevents a verification, and how it would treat each table."""

    def look(source: Endpoint, target: Endpoint, found: Preflight) -> Preflight:
        problems, tables = look_ahead(source, target, request, session, skips)
        return replace(with_problems(found, problems), tables=tuple(tables))

    return examine(urls, meta, lambda url: open_any(url, session), look)


def look_ahead(
    source: Endpoint,
    target: Endpoint,
    request: VerifyRequest,
    session: Callable[[], SparkSession] | None = None,
    skips: Skips = lambda name: False,
) -> tuple[list[Problem], list[TableForecast]]:
    """What prevents `request` between two endpoints that answered, and how it would treat each table.

    Only Spark knows its SQL: `session` is called if a task has some.
    """
    problems = [*untested("source", source), *untested("target", target)]
    if request.meaning is Meaning.ENGINE:
        pairs = _pairs(source, target, request.tables, problems)
        planned = [table for pair in pairs if (table := _planned(source, target, pair, request, problems)) is not None]
    else:
        planned = _of_task(source, target, request, session, problems, skips)
    if not planned and not problems:
        problems.append(Problem(Severity.PREVENTS, "no tables to compare", "check the schema in the URLs"))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for table, unreadable in zip(planned, pool.map(_unreadable, planned), strict=True):
            problems += [*unreadable, *table_problems(table, request.meaning)]
    return problems, [forecast_of(table) for table in planned]


def _of_task(
    source: Endpoint,
    target: Endpoint,
    request: VerifyRequest,
    session: Callable[[], SparkSession] | None,
    problems: list[Problem],
    skips: Skips,
) -> list[PlannedTable]:
    try:
        if request.meaning is Meaning.MOVED and session is not None:
            with suppress(NothingToMove):  # what the target has of the task is a difference
                refuse_wrong_expressions(source, target, move_request(request), session, skips)
                refuse_alike_shards(source, target, move_request(request), session, skips)
        return plan_tables(source, target, request, 0, session)
    except TieoutError as error:
        problems.append(as_problem(error, Severity.PREVENTS))
        return []


def _pairs(
    source: Endpoint, target: Endpoint, requests: Sequence[TableRequest], problems: list[Problem]
) -> list[NamePair]:
    left = names_of(source, requests, of_target=False).without_own()
    right = names_of(target, requests, of_target=True).without_own()
    known = []
    for request in requests:
        try:
            pair_tables(left, right, [request])
            known.append(request)
        except TieoutError as error:
            problems.append(as_problem(error, Severity.PREVENTS))
    return pair_tables(left, right, known) if known or not requests else []


def _planned(
    source: Endpoint, target: Endpoint, pair: NamePair, request: VerifyRequest, problems: list[Problem]
) -> PlannedTable | None:
    if pair.source is None or pair.target is None:
        return PlannedTable(pair)
    try:
        tables = source.describe([pair.source])[0], target.describe([pair.target])[0]
        return PairPlanner(source, target, request.options, seed=0).plan(pair, tables)
    except TieoutError as error:
        problems.append(as_problem(error, Severity.PREVENTS, table=str(pair.source)))
        return None


def _unreadable(table: PlannedTable) -> list[Problem]:
    """Problems with the very statement that would read each side, run for no rows."""
    if table.plan is None:
        return []
    found = []
    for side, name in ((table.plan.source, "source"), (table.plan.target, "target")):
        try:
            for each in _read_sides(side):
                _ask(each)
        except AccessError as error:
            found.append(as_problem(error, Severity.UNVERIFIED, name, table.plan.name))
        except TieoutError as error:
            found.append(as_problem(error, Severity.PREVENTS, name, table.plan.name))
    return found


def _read_sides(side: Side) -> list[Side]:
    """The tables that are read for a side."""
    return [Side(part.reader, part.scan) for part in parts_of(side)] or [side]


def _ask(side: Side) -> None:
    if side.is_frame:
        return  # describing it has opened it; reading none of its rows shows nothing more
    where = f"({side.scan.where}\n) AND 1 = 0" if side.scan.where else "1 = 0"
    scan = replace(side.scan, where=where)
    retry_cautiously(side.reader, lambda reader: deque(reader.read(scan, EVERYTHING), maxlen=0))
