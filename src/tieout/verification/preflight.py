"""Every problem of a request at once, each with its fix. Reads catalogs, and asks each table for no rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint, reading
from tieout.connectors.sql.internal_tables import is_own
from tieout.errors import AccessError, TieoutError
from tieout.model.forecast import Preflight, Problem, Severity, TableForecast
from tieout.model.keys import EVERYTHING
from tieout.model.requests import TableRequest, VerifyRequest
from tieout.tasks.preflight import as_problem, examine, untested, with_problems
from tieout.tasks.table_matching import NamePair, Names, pair_tables
from tieout.verification.endpoints import open_any
from tieout.verification.forecast import forecast_of
from tieout.verification.plan import Side
from tieout.verification.planning import PlannedTable, plan_pair
from tieout.verification.schema_problems import table_problems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE = 4


def preflight_verification(
    request: VerifyRequest, urls: tuple[EndpointUrl, EndpointUrl], meta: str, session: Callable[[], SparkSession]
) -> Preflight:
    """All that stands in the way of a verification, and how its tables would fare."""

    def look(source: Endpoint, target: Endpoint, found: Preflight) -> Preflight:
        problems, tables = look_ahead(source, target, request)
        return replace(with_problems(found, problems), tables=tuple(tables))

    return examine(urls, meta, lambda url: open_any(url, session), look)


def look_ahead(source: Endpoint, target: Endpoint, request: VerifyRequest) -> tuple[list[Problem], list[TableForecast]]:
    """What stands in the way of `request` between two endpoints that were reached, and how its tables would fare."""
    problems = [*untested("source", source), *untested("target", target)]
    pairs = _pairs(source, target, request.tables, problems)
    planned = [table for pair in pairs if (table := _planned(source, target, pair, request, problems)) is not None]
    if not planned and not problems:
        problems.append(Problem(Severity.PREVENTS, "there is no table to compare", "check the schema in the URLs"))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for table, unreadable in zip(planned, pool.map(_unreadable, planned), strict=True):
            problems += [*unreadable, *table_problems(table)]
    return problems, [forecast_of(table) for table in planned]


def _pairs(
    source: Endpoint, target: Endpoint, requests: Sequence[TableRequest], problems: list[Problem]
) -> list[NamePair]:
    left, right = (
        Names(tuple(name for name in side.tables() if not is_own(name)), side.default_schema())
        for side in (source, target)
    )
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
        return plan_pair(source, target, pair, tables, request.options, seed=0)
    except TieoutError as error:
        problems.append(as_problem(error, Severity.PREVENTS, table=str(pair.source)))
        return None


def _unreadable(table: PlannedTable) -> list[Problem]:
    """What each side answers to the very statement that would read it, asked for no rows."""
    if table.plan is None:
        return []
    found = []
    for side, name in ((table.plan.source, "source"), (table.plan.target, "target")):
        try:
            _ask(side)
        except AccessError as error:
            found.append(as_problem(error, Severity.UNVERIFIED, name, table.plan.name))
        except TieoutError as error:
            found.append(as_problem(error, Severity.PREVENTS, name, table.plan.name))
    return found


def _ask(side: Side) -> None:
    if side.is_frame:
        return  # it was opened to describe it; to read none of its rows tells no more
    where = f"({side.scan.where}\n) AND 1 = 0" if side.scan.where else "1 = 0"
    scan = replace(side.scan, where=where)
    reading(side.reader, lambda reader: deque(reader.read(scan, EVERYTHING), maxlen=0))
