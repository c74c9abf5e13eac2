"""One round of checks of what was changed: from the last checked positions to where the logs end now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tieout.checks.changed.constraints import ChangedConstraints
from tieout.checks.changed.indexes import ChangedChecks, Known
from tieout.checks.changed.log_batches import ChangedLog, Span
from tieout.checks.checked import Checked, not_checked
from tieout.checks.constraints.checks import ConstraintChecks
from tieout.checks.planner import PlannedTable
from tieout.checks.table_checks import OF_THE_TABLE, TableChecks
from tieout.connectors.protocols.check import Literals
from tieout.model.check_statements import Family
from tieout.model.failures import ChangedSpan, Status
from tieout.model.tables import Table

OF_ROWS = frozenset({Family.INDEX, Family.CONSTRAINT})
"""What CHANGED is about: what a change of a row can break."""
_VALUES = "values are checked by CHECK … VALIDITY, of all rows: leave CHANGED out"


@dataclass
class ChangedRound:
    """`whole` makes the checks of tables of which all rows are to be looked at."""

    log: ChangedLog
    whole: TableChecks
    known: Known

    def run(self, planned: Sequence[PlannedTable], told: list[ChangedSpan]) -> Iterator[Checked]:
        """What was looked at is added to `told`. Positions move when all is done, and not if it ends before."""
        asked = [replace(each, families=each.families & OF_ROWS) for each in planned]
        if not any(each.families for each in asked):
            yield from (not_checked(Family.VALIDITY, each.table, None, _VALUES) for each in planned)
            return
        described = [each for each in asked if each.undescribed is None]
        reasons = self.log.refused(described) | {
            each.table.name: each.undescribed for each in asked if each.undescribed
        }
        for each in asked:
            if each.table.name in reasons:
                for family in sorted(each.families):
                    yield not_checked(family, each.table, None, reasons[each.table.name])
        spans = list(self.log.spans([each for each in described if each.table.name not in reasons]))
        told += [span.told for span in spans]
        made: list[Span] = []
        for span in spans:
            self.whole.ledger.rest(0)
            is_made = True
            for checked in self._checked(span, spans):
                is_made = is_made and not _left_out(checked)
                yield checked
            made += [span] if is_made else []
        self.log.keep(made)

    def _checked(self, span: Span, spans: Sequence[Span]) -> Iterator[Checked]:
        if span.changed.whole is not None:
            yield from self.whole.run(span.planned)
            return
        for family, check in ((Family.INDEX, self._indexes), (Family.CONSTRAINT, self._constraints)):
            if family in span.planned.families:
                try:
                    yield from check(span, spans)
                except OF_THE_TABLE as error:
                    yield not_checked(family, span.planned.table, None, str(error))

    def _indexes(self, span: Span, spans: Sequence[Span]) -> Iterator[Checked]:
        def gone(table: Table) -> set[Literals]:
            return self.log.gone(span)

        whole = self.whole
        checks = ChangedChecks(whole.spark, whole.checker, whole.options, whole.ledger.rest, self.known, gone)
        yield from checks.run(span.planned, span.changed)

    def _constraints(self, span: Span, spans: Sequence[Span]) -> Iterator[Checked]:
        whole = self.whole
        asked = ConstraintChecks(whole.spark, whole.checker, whole.options, whole.ledger.rest)
        yield from ChangedConstraints(asked, self.known, spans).run(span)


def _left_out(checked: Checked) -> bool:
    """Whether nothing of a table's family could be looked at: its rows are to be looked at again, from where it was."""
    return checked.result.status is Status.NOT_CHECKED and checked.result.name is None
