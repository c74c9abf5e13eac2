"""One incremental run of CHECK … CHANGED: checks the rows that changed between the last checked positions and the
current end of the logs, against their indexes and constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tieout.checks.changed.indexes import ChangedChecks, Known, distinct
from tieout.checks.changed.log_batches import ChangedLog, Span
from tieout.checks.checked import UNREADABLE, Checked, constraint_not_checked, not_checked
from tieout.checks.constraints import ConstraintChecks
from tieout.checks.planner import PlannedTable
from tieout.checks.table_checks import TableChecks
from tieout.connectors.protocols.check import Literals
from tieout.connectors.protocols.paths import OnlyRows
from tieout.model.check_statements import Family
from tieout.model.constraints import ConstraintInfo, ConstraintKind
from tieout.model.failures import ChangedSpan, Failure, Status
from tieout.model.keys import Key
from tieout.model.tables import Table

OF_ROWS = frozenset({Family.INDEX, Family.CONSTRAINT})
"""What CHANGED covers: what a change of a row can break."""
_VALUES = "CHECK … VALIDITY checks the values of all rows: remove CHANGED"


@dataclass
class ChangedRound:
    """`whole` checks the tables whose rows must all be read."""

    log: ChangedLog
    whole: TableChecks
    known: Known

    def run(self, planned: Sequence[PlannedTable], reported: list[ChangedSpan]) -> Iterator[Checked]:
        """Adds what was checked to `reported`. Positions move only when everything is done."""
        requested = [replace(each, families=each.families & OF_ROWS) for each in planned]
        if not any(each.families for each in requested):
            yield from (not_checked(Family.VALIDITY, each.table, None, _VALUES) for each in planned)
            return
        described = [each for each in requested if each.undescribed is None]
        reasons = self.log.refused(described) | {
            each.table.name: each.undescribed for each in requested if each.undescribed
        }
        for each in requested:
            if each.table.name in reasons:
                for family in sorted(each.families):
                    yield not_checked(family, each.table, None, reasons[each.table.name])
        spans = list(self.log.spans([each for each in described if each.table.name not in reasons]))
        reported += [span.reported for span in spans]
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
                except UNREADABLE as error:
                    yield not_checked(family, span.planned.table, None, str(error))

    def _indexes(self, span: Span, spans: Sequence[Span]) -> Iterator[Checked]:
        def gone(table: Table) -> set[Literals]:
            return self.log.gone(span)

        whole = self.whole
        checks = ChangedChecks(whole.spark, whole.checker, whole.options, whole.ledger.rest, self.known, gone)
        yield from checks.run(span.planned, span.changed)

    def _constraints(self, span: Span, spans: Sequence[Span]) -> Iterator[Checked]:
        whole = self.whole
        checks = ConstraintChecks(whole.spark, whole.checker, whole.options, whole.ledger.rest)
        yield from ChangedConstraints(checks, self.known, spans).run(span)


def _left_out(checked: Checked) -> bool:
    """Whether no check of a family could run on a table: the next run starts from the old position."""
    return checked.result.status is Status.NOT_CHECKED and checked.result.name is None


@dataclass
class ChangedConstraints:
    """Constraints of rows that changed, and of rows that refer to them.

    `spans` are all spans of this run: a change in one table may break a constraint of another.
    """

    checks: ConstraintChecks
    known: Known
    spans: Sequence[Span]

    def run(self, span: Span) -> Iterator[Checked]:
        """The checks, in any order."""
        parents: dict[str, tuple[Key, ...]] = {}
        some: list[ConstraintInfo] = []
        whole: list[ConstraintInfo] = []
        for constraint in span.planned.constraints:
            if constraint.reference is None:
                some.append(constraint)
                continue
            parent = next((s for s in self.spans if s.planned.table.name == constraint.reference.parent), None)
            if parent is None:
                name = constraint.reference.parent
                remedy = f"use CHECK TABLE {name}, … CHANGED to follow both tables"
                reason = f"rows of {name} that were deleted are not followed: {remedy}"
                yield constraint_not_checked(constraint, reason)
                continue
            left = self._left(span, parent, constraint)
            if left is None:
                whole.append(constraint)
            else:
                parents[constraint.name] = tuple(left)
                some.append(constraint)
        yield from self.checks.run(whole)
        yield from self._of_rows(span, some, parents)

    def _left(self, span: Span, parent: Span, constraint: ConstraintInfo) -> list[Key] | None:
        """Keys that rows may have referred to and that are gone; None if only a complete check can tell."""
        assert constraint.reference is not None
        together = (parent.log, parent.since) == (span.log, span.since)
        return parent.changed.left(constraint.reference.columns) if together and not parent.changed.whole else None

    def _of_rows(
        self, span: Span, constraints: Sequence[ConstraintInfo], parents: dict[str, tuple[Key, ...]]
    ) -> Iterator[Checked]:
        table = span.planned.table
        before = {each.name: self.known(Family.CONSTRAINT, str(table.name), each.name) for each in constraints}
        named = {each.name: each for each in constraints}
        keys = dict.fromkeys(span.changed.keys())
        lasting: dict[str, list[Failure]] = {name: [] for name in before}
        for name, failures in before.items():
            for failure in failures:
                key = [(failure.primary_key or {}).get(column) for column in table.key]
                if key and None not in key:
                    keys[tuple(part for part in key if part is not None)] = None
                else:
                    lasting[name].append(failure)
        if not keys and not any(parents.values()):
            yield from (_nothing(each, lasting[each.name]) for each in constraints)
            return
        for checked in self.checks.run(constraints, OnlyRows(tuple(keys), parents)):
            name = str(checked.result.name)
            still = before[name] if checked.result.status is Status.NOT_CHECKED else lasting[name]
            yield _with(self._evident(checked, named[name]), still)

    def _evident(self, checked: Checked, constraint: ConstraintInfo) -> Checked:
        """Adds to the evidence that a lookup by key misses rows that the primary key's index does not lead to."""
        by_key = self.checks.checker.addresses_are_keys(constraint.table)
        if constraint.kind is not ConstraintKind.PRIMARY_KEY or by_key or checked.result.evidence is None:
            return checked
        unseen = "only a complete check finds a second row of a key that no entry leads to"
        return replace(checked, result=replace(checked.result, evidence=f"{checked.result.evidence}; {unseen}"))


def _nothing(constraint: ConstraintInfo, failures: Sequence[Failure]) -> Checked:
    checked = constraint_not_checked(constraint, "")
    result = replace(checked.result, status=Status.OK, reason=None, rows=0, evidence="no row changed")
    if constraint.unchecked:
        return constraint_not_checked(constraint, constraint.unchecked)
    return _with(Checked(result), failures)


def _with(checked: Checked, failures: Sequence[Failure]) -> Checked:
    """Adds failures that were found before and could not be rechecked."""
    if not failures:
        return checked
    found = distinct([*checked.failures, *failures])
    return Checked(replace(checked.result, status=Status.FAILURES, failures=len(found)), found)
