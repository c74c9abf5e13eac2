"""A comparison of two tables in this process, without Spark, with a second look at what differs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from tieout.config.urls import parse_url
from tieout.connectors.registry import open_endpoint
from tieout.model.keys import EVERYTHING
from tieout.model.requests import TableRequest, VerifyRequest
from tieout.verification.compare import compare_rows
from tieout.verification.localise import Found, Localised, Rechecking, RowRecheck, shape_of
from tieout.verification.plan import TablePlan
from tieout.verification.plan_tables import plan_tables
from tieout.verification.rows import read_rows

WRITTEN = (None, None)
"""Marks that can't tell whether anything was written: every difference is looked at again."""


@contextmanager
def planned(source: str, target: str, request: TableRequest) -> Iterator[TablePlan]:
    with closing(open_endpoint(parse_url(source))) as left, closing(open_endpoint(parse_url(target))) as right:
        (table,) = plan_tables(left, right, VerifyRequest(source, target, (request,)))
        assert table.plan is not None, table.failure
        yield table.plan


def compared_twice(plan: TablePlan) -> Localised:
    found = Found(shape_of(plan), None)
    rechecks = RowRecheck(plan, Rechecking(after=0.0, times=1, marks=WRITTEN), found)
    source = read_rows(plan.source.reader, plan.source.scan, EVERYTHING)
    target = read_rows(plan.target.reader, plan.target.scan, EVERYTHING)
    rechecks.add(compare_rows(found.shape, source, target))
    rechecks.finish()
    return found.result()
