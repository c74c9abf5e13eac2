"""Makes the checks of one table after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import SparkSession

from tieout.checks.checked import Checked, not_checked
from tieout.checks.constraints.checks import ConstraintChecks
from tieout.checks.indexes.checks import IndexChecks
from tieout.checks.options import CheckOptions
from tieout.checks.planner import PlannedTable
from tieout.checks.progress import Ledger, Unit
from tieout.checks.values.already_reported import told_by
from tieout.checks.values.checks import ValueChecks
from tieout.checks.values.engine_checker import OWN, EngineCheckerAbsent, own_checked
from tieout.connectors.protocols.check import Checker, let_go_after
from tieout.connectors.protocols.paths import exact_key
from tieout.errors import AccessError, BusyError, MissingObjectError, ReadError, UnsupportedError
from tieout.model.check_statements import EngineChecker, Family
from tieout.model.tables import Table

Check = Callable[[PlannedTable, Unit], Iterator[Checked]]

OF_THE_TABLE = (AccessError, BusyError, MissingObjectError, ReadError, UnsupportedError)
"""What keeps one table from being read."""


@dataclass
class TableChecks:
    spark: SparkSession
    checker: Checker
    options: CheckOptions
    ledger: Ledger
    notes: list[str] = field(default_factory=list)
    """What the report is to say of all tables."""

    def run(self, planned: PlannedTable) -> Iterator[Checked]:
        """Constraints before values, which leave to them what is theirs."""
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
        """What keeps one table from being read is no reason to leave the others; a server that is gone is."""
        if planned.undescribed is not None:
            yield not_checked(family, planned.table, None, planned.undescribed)
            return
        try:
            yield from check(planned, unit)
        except OF_THE_TABLE as error:
            yield not_checked(family, planned.table, None, str(error))

    def _constraints(self, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        yield from ConstraintChecks(self.spark, self.checker, self.options, unit.rest).run(planned.constraints)

    def _values(self, before: Sequence[Checked], planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        checks = ValueChecks(self.spark, self.checker, self.options, unit.rest)
        yield from checks.run(planned.table, exact_key(planned.table), told_by(before))

    def last(self, planned: Sequence[PlannedTable]) -> Iterator[Checked]:
        """What is left for the end: the engine's own checker. On some engines, what it finds can't be read any more."""
        marking = self.options.engine_checker == EngineChecker.EXTENDED
        asked = [each for each in planned if Family.VALIDITY in each.families and each.undescribed is None]
        if not asked or self.options.engine_checker == EngineChecker.NONE:
            return
        if self.checker.own_check_marks is not None and not marking:
            self.notes.append(f"{self.checker.own_check_marks}; --engine-checker=extended asks for it")
            return
        for each in asked:
            self.ledger.rest(0)
            try:
                yield own_checked(self.checker, each.table, self.options)
            except EngineCheckerAbsent as absent:
                self.notes.append(f"the engine's own checker was not run: {absent}")
                return
            except OF_THE_TABLE as error:
                yield not_checked(Family.VALIDITY, each.table, OWN, str(error))

    def _indexes(self, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        if planned.unlisted is not None:
            yield not_checked(Family.INDEX, planned.table, None, planned.unlisted)
        with let_go_after(self.checker):
            yield from IndexChecks(self.spark, self.checker, self.options, unit).run(planned.table, planned.indexes)


def _parts(table: Table) -> tuple[str, ...]:
    return table.name.schema, table.name.name
