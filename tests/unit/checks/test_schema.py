"""What is wrong in a definition is looked at twice before it is called so."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import cast

import pytest

from tieout.checks.checked import Checked
from tieout.checks.indexes.compare import CheckOptions
from tieout.checks.schema import SchemaChecks
from tieout.connectors.protocols.check import Checker, Inspection, SchemaFailure, StatementError, statement_errors
from tieout.model.failures import FailureKind, Status
from tieout.model.tables import TableName

T = TableName("public", "t")
V = TableName("public", "v")


def defect(place: str, next_value: str = "1") -> SchemaFailure:
    return SchemaFailure(FailureKind.SEQUENCE_BEHIND, {"next": next_value}, place=place)


class Looks:
    """A checker that finds something else at each look; it notes what it was asked for."""

    database = "shop"

    def __init__(self, *looks: list[Inspection]) -> None:
        self._looks = list(looks)
        self.asked: list[Collection[TableName] | None] = []

    def inspect(self, names: Collection[TableName] | None) -> Iterable[Inspection]:
        self.asked.append(names)
        return self._looks.pop(0)


def checked(looks: Looks) -> tuple[list[Checked], list[float]]:
    rests: list[float] = []
    checks = SchemaChecks(cast("Checker", looks), CheckOptions(recheck_after=2.0), rests.append)
    return list(checks.run(None)), rests


def test_what_is_there_at_both_looks_is_a_failure_as_it_was_last_seen() -> None:
    looks = Looks([Inspection(T, failures=[defect("a"), defect("b")]), Inspection(V, "view")])
    looks._looks.append([Inspection(T, failures=[defect("b", "7"), defect("c")])])
    (table, view), rests = checked(looks)
    assert [(failure.place, failure.details) for failure in table.failures] == [("b", {"next": "7"})]
    assert (table.result.status, table.result.failures) == (Status.FAILURES, 1)
    assert (view.result.status, view.result.name) == (Status.OK, "view")
    assert looks.asked == [None, {T}]
    assert rests == [2.0]


@pytest.mark.parametrize("second", [[], [Inspection(T)], [Inspection(T, "view", [defect("a")])]])
def test_what_is_gone_at_the_second_look_is_none(second: list[Inspection]) -> None:
    (table,), _ = checked(Looks([Inspection(T, failures=[defect("a")])], second))
    assert table.result.status is Status.OK
    assert table.failures == ()


def test_what_was_left_out_is_not_ok() -> None:
    (table,), rests = checked(Looks([Inspection(T, left_out=["column a: no time"], remarks=["by the way"])]))
    assert table.result.status is Status.NOT_CHECKED
    assert table.result.reason == "column a: no time; by the way"
    assert rests == []


def test_trouble_that_tells_nothing_is_left_out() -> None:
    inspection = Inspection(T)
    inspection.record(StatementError("permission denied", conclusive=False), defect("column a"))
    inspection.record(StatementError("no such function"), defect("column b"))
    assert inspection.left_out == ["column a: permission denied"]
    assert [each.place for each in inspection.failures] == ["column b"]


def test_troubles_are_found_by_halves() -> None:
    asked: list[list[int]] = []

    def attempt(some: Iterable[int]) -> StatementError | None:
        asked.append(list(some))
        return StatementError("no") if {3, 97} & set(some) else None

    assert set(statement_errors(range(100), attempt)) == {3, 97}
    assert len(asked) < 30
    assert statement_errors([], attempt) == {}
