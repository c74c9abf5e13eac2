"""Runs the checks of one table: indexes, constraints, values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from tieout.checks.checked import UNREADABLE, Checked, Unit, not_checked
from tieout.checks.constraints import ConstraintChecks
from tieout.checks.indexes.checks import IndexChecks
from tieout.checks.options import CheckOptions
from tieout.checks.planner import PlannedTable
from tieout.checks.progress import Ledger
from tieout.checks.values import ValueChecks, reported_by
from tieout.connectors.protocols.check import Checker, releasing_snapshot
from tieout.connectors.protocols.paths import exact_key
from tieout.model.check_statements import Family
from tieout.model.tables import Table

Check = Callable[[PlannedTable, Unit], Iterator[Checked]]


@dataclass
class TableChecks:
    spark: SparkSession
    checker: Checker
    options: CheckOptions
    ledger: Ledger

    def run(self, planned: PlannedTable) -> Iterator[Checked]:
        """Checks constraints before values, so that value checks skip failures that constraints reported."""
        before: list[Checked] = []
        families: dict[Family, Check] = {
            Family.INDEX: self._indexes,
            Family.CONSTRAINT: self._constraints,
            Family.VALIDITY: partial(self._values, before),
        }
        for family, check in families.items():
            if family in planned.families:
                made = partial(self._made, family, check, planned)
                for checked in self.ledger.checked(_parts(planned.table), family, made):
                    before.append(checked)
                    yield checked

    def _made(self, family: Family, check: Check, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        """Reports an unreadable table as not checked, so that the others go on. A lost server ends the job."""
        if planned.undescribed is not None:
            yield not_checked(family, planned.table, None, planned.undescribed)
            return
        try:
            yield from check(planned, unit)
        except UNREADABLE as error:
            yield not_checked(family, planned.table, None, str(error))

    def _constraints(self, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        yield from ConstraintChecks(self.spark, self.checker, self.options, unit.rest).run(planned.constraints)

    def _values(self, before: Sequence[Checked], planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        checks = ValueChecks(self.spark, self.checker, self.options, unit.rest)
        yield from checks.run(planned.table, exact_key(planned.table), reported_by(before))

    def _indexes(self, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        if planned.unlisted is not None:
            yield not_checked(Family.INDEX, planned.table, None, planned.unlisted)
        with releasing_snapshot(self.checker):
            yield from IndexChecks(self.spark, self.checker, self.options, unit).run(planned.table, planned.indexes)


def _parts(table: Table) -> tuple[str, ...]:
    return table.name.schema, table.name.name
