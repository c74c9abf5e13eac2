"""Checks definitions: that the objects they refer to exist, that the engine can use them, and that sequences are ahead
of their columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tieout.checks.checked import Checked
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.check import Checker, Inspection, SchemaFailure
from tieout.model.check_statements import Family
from tieout.model.failures import CheckResult, Failure, Status
from tieout.model.tables import TableName
from tieout.runtime.recheck import RecheckPolicy, recheck

_Object = tuple[TableName, str | None]
_Suspect = tuple[TableName, str | None, tuple[object, ...]]


@dataclass
class SchemaChecks:
    """`rest` waits, or raises to stop the job."""

    checker: Checker
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, names: Collection[TableName] | None) -> Iterator[Checked]:
        """Checks these tables and the views that read them; None: the whole database."""
        started = time.monotonic()
        found = list(self.checker.inspect(names))
        self._recheck(found)
        seconds = time.monotonic() - started
        for inspection in found:
            yield self._checked(inspection, seconds)

    def _recheck(self, found: list[Inspection]) -> None:
        """Rechecks failures: somebody may have been changing a definition."""
        wrong = {_object(each): each for each in found if each.failures}

        def look_again(_: Mapping[_Suspect, SchemaFailure]) -> dict[_Suspect, SchemaFailure]:
            again = [each for each in self.checker.inspect({name for name, _ in wrong}) if _object(each) in wrong]
            for each in again:
                wrong[_object(each)].left_out = each.left_out
            return _suspects(again)

        suspects = _suspects(wrong.values())
        policy = RecheckPolicy(self.options.recheck_after, times=1)
        certain = recheck(suspects, look_again, policy, self.rest).certain
        for key, inspection in wrong.items():
            keys = [(*key, _identity(defect)) for defect in inspection.failures]
            inspection.failures = [certain[each] for each in keys if each in certain]

    def _checked(self, inspection: Inspection, seconds: float) -> Checked:
        failures = tuple(
            Failure(
                defect.kind,
                self.checker.database,
                str(inspection.name),
                defect.columns,
                defect.index,
                defect.constraint,
                None,
                defect.place,
                defect.details,
            )
            for defect in inspection.failures
        )
        status = Status.FAILURES if failures else Status.NOT_CHECKED if inspection.left_out else Status.OK
        result = CheckResult(
            Family.SCHEMA,
            str(inspection.name),
            inspection.what,
            status,
            "; ".join([*inspection.left_out, *inspection.remarks]) or None,
            failures=len(failures),
            evidence=", ".join(f"{noun}: {count:,}" for noun, count in inspection.looked_at.items()) or None,
            seconds=seconds,
            cut=bool(inspection.left_out),
        )
        return Checked(result, failures)


def _object(inspection: Inspection) -> _Object:
    return inspection.name, inspection.what


def _suspects(inspections: Iterable[Inspection]) -> dict[_Suspect, SchemaFailure]:
    return {(*_object(each), _identity(defect)): defect for each in inspections for defect in each.failures}


def _identity(defect: SchemaFailure) -> tuple[object, ...]:
    return defect.kind, defect.columns, *defect.part
