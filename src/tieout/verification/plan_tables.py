"""Plans a verification: which pairs of tables it compares, and each of them. Reads catalogs, no rows."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.sql.internal_tables import is_own
from tieout.errors import TieoutError
from tieout.model.requests import Meaning, VerifyRequest
from tieout.model.tables import Table, TableName
from tieout.tasks.table_matching import Names, names_of, pair_tables
from tieout.verification.moved_task_plan import MovedTaskPlanner
from tieout.verification.plan import PairPlanner, PlannedTable, described, refuse_unknown_columns
from tieout.verification.transformed_plan import TransformedPlanner
from tieout.verification.unmoved_task_plan import UnmovedTaskPlanner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_tables(
    source: Endpoint,
    target: Endpoint,
    request: VerifyRequest,
    seed: int | None = None,
    session: Callable[[], SparkSession] | None = None,
    *,
    began: bool = False,
) -> list[PlannedTable]:
    """Plans all tables of a request.

    `session` is called if a task has Spark SQL. Without one, nobody looks at it, and tables that need its types have no
    plan. `began`: it is the request of a verification that began before.
    """
    planner = PairPlanner(source, target, request.options, secrets.randbits(62) if seed is None else seed)
    if request.meaning is Meaning.ENGINE:
        return _pairs_of_endpoints(planner, request)
    transformed = TransformedPlanner(planner, request.meaning, session)
    if request.meaning is Meaning.MOVED:
        return MovedTaskPlanner(planner, request, transformed, began).plan()
    return UnmovedTaskPlanner(planner, request, transformed, began).plan()


def _pairs_of_endpoints(planner: PairPlanner, request: VerifyRequest) -> list[PlannedTable]:
    source, target = planner.source, planner.target
    left, right = _names(source, target, request)
    pairs = pair_tables(left.without_own(), right.without_own(), request.tables)
    sources = described(source, [pair.source for pair in pairs if pair.source and pair.target])
    targets = described(target, [pair.target for pair in pairs if pair.source and pair.target])
    refuse_unknown_columns(pairs, sources, targets)
    planned = []
    for pair in pairs:
        if pair.source is None or pair.target is None:
            planned.append(PlannedTable(pair))
            continue
        left_table, right_table = sources[pair.source], targets[pair.target]
        if isinstance(left_table, Table) and isinstance(right_table, Table):
            planned.append(planner.plan(pair, (left_table, right_table)))
        else:
            reason = next(t for t in (left_table, right_table) if isinstance(t, TieoutError))
            planned.append(PlannedTable(pair, failure=str(reason)))
    return planned


def left_out(source: Endpoint, target: Endpoint, request: VerifyRequest) -> list[TableName]:
    """Tables that are not compared, because their names are reserved for Tieout."""
    return sorted({name for side in _names(source, target, request) for name in side.tables if is_own(name)})


def schemas_left_out(source: Endpoint, request: VerifyRequest) -> list[str]:
    """Schemas of the source with tables that nobody chose to leave out: neither the URL nor the request names any."""
    if source.names_schema or request.tables:
        return []
    others = [schema for schema in source.schemas() if schema != source.default_schema()]
    return sorted({table.schema for table in source.tables(others)}) if others else []


def _names(source: Endpoint, target: Endpoint, request: VerifyRequest) -> tuple[Names, Names]:
    return names_of(source, request.tables, of_target=False), names_of(target, request.tables, of_target=True)
