"""Verdicts: a false "equal" is the worst bug, so every fact that forbids one has its line here."""

from dataclasses import replace
from itertools import product

import pytest

from tieout.model.differences import DifferenceCounts
from tieout.model.results import SchemaFinding, TableResult, UnverifiedColumn, Verdict
from tieout.verification.judge import judge_all, judge_table

NOTHING = {
    "one_sided": None,
    "findings": (),
    "unverified": (),
    "counts": DifferenceCounts(),
    "failure": None,
    "incomplete": None,
    "other_counts": None,
}
DIFFERENT = {
    "one_sided": "source",
    "findings": (SchemaFinding("column", "is only on the source", "c", breaks=True),),
    "counts": DifferenceCounts(changed=1),
    "other_counts": "the source has 2 rows, the target 1",
}
DOUBTFUL = {
    "unverified": (UnverifiedColumn("shape", "geometry"),),
    "failure": "the server went away",
    "incomplete": "rows were only counted",
}


def test_without_any_doubt_a_table_is_equal():
    assert judge_table(**NOTHING) == (Verdict.EQUAL, None)


@pytest.mark.parametrize("fact", DIFFERENT)
def test_each_difference_alone_makes_a_table_different(fact):
    assert judge_table(**{**NOTHING, fact: DIFFERENT[fact]})[0] is Verdict.DIFFERENT


@pytest.mark.parametrize("fact", DOUBTFUL)
def test_each_doubt_alone_leaves_a_table_unverified_with_a_reason(fact):
    verdict, reason = judge_table(**{**NOTHING, fact: DOUBTFUL[fact]})
    assert verdict is Verdict.UNVERIFIED
    assert reason


@pytest.mark.parametrize(("fact", "doubt"), list(product(DIFFERENT, DOUBTFUL)))
def test_a_difference_stays_one_whatever_else_is_in_doubt(fact, doubt):
    verdict, _ = judge_table(**{**NOTHING, fact: DIFFERENT[fact], doubt: DOUBTFUL[doubt]})
    assert verdict is Verdict.DIFFERENT


def test_findings_that_only_inform_change_nothing():
    assert judge_table(**{**NOTHING, "findings": (SchemaFinding("type", "int → bigint", "c"),)})[0] is Verdict.EQUAL


def _table(verdict):
    return replace(TableResult("s.t", "s.t", Verdict.EQUAL), verdict=verdict)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Verdict.UNVERIFIED),
        ([Verdict.EQUAL], Verdict.EQUAL),
        ([Verdict.EQUAL, Verdict.UNVERIFIED], Verdict.UNVERIFIED),
        ([Verdict.UNVERIFIED, Verdict.DIFFERENT, Verdict.EQUAL], Verdict.DIFFERENT),
    ],
)
def test_the_whole_is_as_good_as_its_worst_table(verdicts, expected):
    assert judge_all([_table(verdict) for verdict in verdicts]) is expected
