"""What a resumed verification must find unchanged: ranges that were digested before count only then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from tieout.errors import UsageError
from tieout.meta import Job
from tieout.verification.parts import Part, parts_of
from tieout.verification.plan import PlannedTable


def pair_names(table: PlannedTable) -> tuple[str | None, str | None]:
    return table.source_name, table.target_name


def plan_document(table: PlannedTable) -> dict[str, Any]:
    """Everything that a digest depends on: recorded ranges are valid only while it stays the same."""
    plan = table.plan
    assert plan is not None
    document = {
        "strategy": plan.strategy.value,
        "aligned": plan.aligned,
        "buckets": plan.buckets,
        "as_sent": plan.as_sent,
        "bits": plan.hash.bits if plan.hash else 128,
        "key": list(plan.key_names),
        "columns": [
            [a.name, b.name, str(a.kind), str(a.column.type), str(b.column.type), a.expression, b.expression]
            for a, b in zip(plan.source.scan.columns, plan.target.scan.columns, strict=True)
        ],
        "where": [plan.source.scan.where, plan.target.scan.where],
    }
    parts = [[_part_document(part) for part in parts_of(side)] for side in (plan.source, plan.target)]
    return document | {"parts": parts} if any(parts) else document


def _part_document(part: Part) -> list[Any]:
    """What the rows of one table of a side depend on."""
    shape = part.transfer.shape
    assert shape is not None
    read = [[column.name, str(column.kind), str(column.column.type)] for column in part.scan.columns]
    holders = [[str(column.type), column.collation] for column in part.holders]
    return [str(part.name), read, list(part.columns), list(shape.cells), shape.where, part.scan.where, holders]


def with_buckets_of(kept: Sequence[Mapping[str, Any] | None], planned: Sequence[PlannedTable]) -> list[PlannedTable]:
    """The tables, divided in as many buckets as when the job began. That number follows from the server's estimate of
    their rows, which changes without anything having changed, and any number will do.
    """
    return [
        replace(table, plan=replace(table.plan, buckets=then["buckets"]))
        if table.plan is not None and not table.plan.aligned and then is not None and not then["aligned"]
        else table
        for then, table in zip_longest(kept[: len(planned)], planned)
    ]


def check_same_plan(
    job: Job, kept: Sequence[tuple[Mapping[str, Any] | None, str | None, str | None]], planned: Sequence[PlannedTable]
) -> None:
    now = [(plan_document(t) if t.plan else None, *pair_names(t)) for t in planned]
    for then, here in zip(kept, now, strict=False):
        if then[1:] != here[1:] or (then[0] is not None and dict(then[0]) != here[0]):
            raise UsageError(
                f"the definition of {then[1] or then[2]} changed since job {job.id} started", "start a new verification"
            )
    if len(kept) != len(now):
        raise UsageError(f"tables were added or dropped since job {job.id} started", "start a new verification")
