"""What can be done about each kind of failure."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tieout.model.documents import failure_document, failure_from
from tieout.model.failures import Failure, FailureKind
from tieout.model.repair_choices import UNKNOWN, Category, Choice, advice_for, advice_on


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_has_advice(kind: FailureKind) -> None:
    advice = advice_for(kind)
    assert advice is not UNKNOWN
    assert "\n" not in advice.suggestion
    many = {Category.AUTOMATIC: range(1, 2), Category.DECISION: range(2, 9), Category.NOT_REPAIRABLE: range(1)}
    assert len(advice.choices) in many[advice.category]


def test_a_row_that_nothing_calls_is_not_changed() -> None:
    keyless = Failure(FailureKind.CHECK_VIOLATION, "d", "t", ("v",))
    assert advice_on(keyless).category is Category.NOT_REPAIRABLE
    assert advice_on(replace(keyless, place="(0,1)")).category is Category.DECISION
    entry = Failure(FailureKind.MISSING_INDEX_ENTRY, "d", "t", ("v",), index="i")
    assert advice_on(entry).choices == (Choice.CREATE,)


def test_documents_carry_advice_and_come_back() -> None:
    at = datetime(2026, 11, 16, 3, 0, tzinfo=UTC)
    failure = Failure(
        FailureKind.STALE_INDEX_ENTRY, "d", "t", ("v",), "i", None, {"id": "1"}, "(0,1)", {"row.v": None}, at
    )
    document = failure_document(failure)
    assert (document["category"], document["detected_at"]) == ("automatic", "2026-11-16T03:00:00+00:00")
    assert failure_from(document) == failure
    older = {name: document[name] for name in document if name not in ("category", "suggestion", "detected_at")}
    assert failure_from(older) == replace(failure, detected_at=None)


def test_the_manual_has_every_choice() -> None:
    text = (Path(__file__).parents[3] / "docs/how-to/repair.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    told = {kind: row for row in rows for kind in re.findall(r"`(\w+)`", row.split("|")[1])}
    for kind in FailureKind:
        for choice in advice_for(kind).choices:
            assert f"`{choice}`" in told[kind].split("|")[2], f"{kind} {choice}"
