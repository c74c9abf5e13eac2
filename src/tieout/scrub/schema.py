"""Checks of definitions: that what objects refer to is there, that they can be used, that sequences are far enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from tieout.connectors.checking import Checker
from tieout.connectors.inspecting import Defect, Inspection
from tieout.model.failures import CheckResult, Failure, Status
from tieout.model.statements import Family
from tieout.model.tables import TableName
from tieout.scrub.checked import Checked
from tieout.scrub.options import CheckOptions

_Object = tuple[TableName, str | None]


@dataclass
class SchemaChecks:
    """`rest` waits so many seconds, or raises to end it all."""

    checker: Checker
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, names: Collection[TableName] | None) -> Iterator[Checked]:
        """Of these tables and the views that read them; None: of all that the database has."""
        started = time.monotonic()
        found = list(self.checker.inspect(names))
        self._settle(found)
        seconds = time.monotonic() - started
        for inspection in found:
            yield self._checked(inspection, seconds)

    def _settle(self, found: list[Inspection]) -> None:
        """What is wrong is looked at again: a definition may have been on its way to another."""
        suspects = {_object(each): each for each in found if each.defects}
        if not suspects:
            return
        self.rest(self.options.recheck_after)
        again = {_object(each): each for each in self.checker.inspect({name for name, _ in suspects})}
        for key, inspection in suspects.items():
            second = again.get(key)
            seen = {} if second is None else {_identity(defect): defect for defect in second.defects}
            first = [_identity(defect) for defect in inspection.defects]
            inspection.defects = [seen[identity] for identity in first if identity in seen]
            if second is not None:
                inspection.left_out = second.left_out

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
            for defect in inspection.defects
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


def _identity(defect: Defect) -> tuple[object, ...]:
    return defect.kind, defect.columns, *defect.part
