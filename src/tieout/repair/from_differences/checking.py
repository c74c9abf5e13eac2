"""Whether the rows of a plan are equal now, on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tieout.meta import MetaStore, RepairPlan
from tieout.model.differences import Difference
from tieout.repair.from_differences.deciding import key_of
from tieout.repair.from_differences.sides import Sides
from tieout.runtime.ranges import Portions
from tieout.verify.compare import compare_rows
from tieout.verify.localise import shape_of
from tieout.verify.rows import LOOKUP, look_up_rows


def still_different(store: MetaStore, plan: RepairPlan, sides: Sides) -> Iterator[Difference]:
    """The differences that are left among the rows of the plan, read anew, compared as the verification does."""
    for name, changes in groupby(store.repairs.changes(plan.id, rows=False), key=lambda change: change.table):
        table = sides.tables.get(name)
        if table is None:
            continue
        portions = Portions(LOOKUP)
        keys = (key for change in changes if (key := key_of(table, change.key)) is not None)
        for some in portions.of(keys):
            source = look_up_rows(table.plan.source.reader, table.plan.source.scan, some)
            target = look_up_rows(table.plan.target.reader, table.plan.target.scan, some)
            shape = shape_of(table.plan)
            yield from map(shape.shown, compare_rows(shape, source, target).differences())
            portions.took(max(source.size, target.size))
