"""Constraints of rows that were changed, and of those that refer to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tieout.checks.changed.indexes import Known, distinct
from tieout.checks.changed.log_batches import Span
from tieout.checks.checked import Checked, constraint_not_checked
from tieout.checks.constraints.checks import ConstraintChecks
from tieout.connectors.protocols.paths import OnlyRows
from tieout.model.check_statements import Family
from tieout.model.constraints import ConstraintInfo, ConstraintKind
from tieout.model.failures import Failure, Status
from tieout.model.keys import Key


@dataclass
class ChangedConstraints:
    """`spans` are all that are checked in this round: a row may break what another table's row says."""

    checks: ConstraintChecks
    known: Known
    spans: Sequence[Span]

    def run(self, span: Span) -> Iterator[Checked]:
        """In no order."""
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
                reason = f"rows of {name} that went are not seen: CHECK TABLE {name}, … CHANGED follows both"
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
        """What may have been referred to and is gone; None if only a look at all rows can tell."""
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
        """A row that the index of the primary key does not lead to is not found by its key."""
        by_key = self.checks.checker.addresses_are_keys(constraint.table)
        if constraint.kind is not ConstraintKind.PRIMARY_KEY or by_key or checked.result.evidence is None:
            return checked
        unseen = "a second row of a key that no entry leads to is seen by a whole check alone"
        return replace(checked, result=replace(checked.result, evidence=f"{checked.result.evidence}; {unseen}"))


def _nothing(constraint: ConstraintInfo, failures: Sequence[Failure]) -> Checked:
    checked = constraint_not_checked(constraint, "")
    result = replace(checked.result, status=Status.OK, reason=None, rows=0, evidence="no row was changed")
    if constraint.unchecked:
        return constraint_not_checked(constraint, constraint.unchecked)
    return _with(Checked(result), failures)


def _with(checked: Checked, failures: Sequence[Failure]) -> Checked:
    """With what was found before and could not be looked at again."""
    if not failures:
        return checked
    found = distinct([*checked.failures, *failures])
    return Checked(replace(checked.result, status=Status.FAILURES, failures=len(found)), found)
