"""Values that seem wrong: those that still do at a second look are failures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tieout.checks.options import CheckOptions
from tieout.checks.values import Found, Reported, ValueChecks
from tieout.connectors.protocols.paths import BrokenValue, ValueRule
from tieout.model.failures import FailureKind, Status
from tieout.model.tables import Table, TableName

RULE = ValueRule(FailureKind.INVALID_JSON, "doc", "it is JSON", "NOT json_valid(doc)", ())
SPARK: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))


class Looks(ValueChecks):
    """Each look finds that the values of these rows are wrong."""

    def __init__(self, *looks: tuple[int, ...]) -> None:
        path = SimpleNamespace(parts=lambda most: [0], rules=(RULE,), unchecked_columns=(), key=("id",), evidence="")
        checker: Any = SimpleNamespace(database="shop", value_path=lambda table, key: path)
        self.rests: list[float] = []
        super().__init__(SPARK, checker, CheckOptions(recheck_after=0.5), self.rests.append)
        self._looks = iter(looks)

    def _judged(self, path: Any, parts: Any) -> list[Found]:
        (rows,) = (next(self._looks) for _ in parts)
        broken = (BrokenValue(0, RULE.kind, None, (str(row),), (("doc", f"of row {row}"),)) for row in rows)
        return [Found(100, tuple(broken))]


def failed(looks: Looks) -> tuple[Status, list[object]]:
    (checked,) = looks.run(Table(TableName("main", "t"), (), ("id",)), (), Reported(frozenset()))
    return checked.result.status, [(failure.primary_key or {}).get("id") for failure in checked.failures]


def test_what_is_wrong_at_both_looks_is_a_failure() -> None:
    looks = Looks((1, 2, 3), (3, 1))
    assert failed(looks) == (Status.FAILURES, ["1", "3"])
    assert looks.rests == [0.5]


def test_what_is_right_at_the_second_look_is_none() -> None:
    assert failed(Looks((1,), ())) == (Status.OK, [])


def test_nothing_wrong_takes_no_rest() -> None:
    looks = Looks(())
    assert (failed(looks), looks.rests) == ((Status.OK, []), [])
