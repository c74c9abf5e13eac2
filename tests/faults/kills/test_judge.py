"""The judge of killed movers: what each delivery may do it lets pass, and whatever is more it finds."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.kills.judge import Contents, Judgement, judge
from tests.faults.kills.record import BEFORE, Record, Row, Step, key_of

KILLS = [20.5, 40.5]
BATCH = 500


@pytest.fixture
def record() -> Record:
    """Fifty transactions, one a second, of a hundred bytes each: an event, and a change of row `number % 5`."""
    kept = Record()
    kept.changed(BEFORE, {("keyed", (key,)): (key, BEFORE, 0, "") for key in range(5)})
    kept.copies.update([(1, "a"), (1, "a")])
    kept.ever |= set(kept.copies)
    for number in range(1, 51):
        key = number % 5
        kept.changed(
            number,
            {("events", (number, "event")): (number, "event"), ("keyed", (key,)): (key, number, 0, "")},
        )
        kept.steps.append(Step(number, float(number), number * 100))
    return kept


def now(record: Record) -> dict[str, Counter[Row]]:
    return {table: record.now(table) for table in record.tables}


def without(record: Record, *lost: int) -> dict[str, Counter[Row]]:
    """What a target holds that never saw some transactions."""
    held = Record()
    for table, histories in record.histories.items():
        for key, history in histories.items():
            held.histories[table][key] = [(number, row) for number, row in history if number not in lost]
    return {table: held.now(table) for table in held.tables} | {"copies": record.now("copies")}


def judged(record: Record, delivery: str, target: Contents, batch: int | None = BATCH) -> Judgement:
    return judge(record, delivery, KILLS, now(record), target, batch)


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once", "at-most-once"])
def test_what_is_equal_is_what_all_promise(record: Record, delivery: str) -> None:
    found = judged(record, delivery, now(record))
    assert (found.violations, found.lost, found.repeated) == ([], set(), set())


def test_one_batch_for_each_kill_may_be_lost_at_most_once(record: Record) -> None:
    lost = {18, 19, 20, 38, 39, 40}
    found = judged(record, "at-most-once", without(record, *lost))
    # A later change of the same row, or a kill's two batches side by side, hide nothing of an event.
    assert (found.violations, found.lost) == ([], lost)
    for other in ("exactly-once", "at-least-once"):
        assert "were lost" in judged(record, other, without(record, *lost)).violations[0]


@pytest.mark.parametrize(
    "lost",
    [
        {3, 10, 30},  # three places, and two kills
        set(range(10, 21)) | {30},  # longer than a batch
        {45},  # behind the last kill
        {21, 41},  # the same, each behind its kill: the second is blamed on nobody
    ],
)
def test_more_than_a_batch_is_found(record: Record, lost: set[int]) -> None:
    found = judged(record, "at-most-once", without(record, *lost))
    assert any("more than one batch for each kill" in each for each in found.violations)


def test_a_batch_of_any_length_is_one_where_batches_have_none(record: Record) -> None:
    assert judged(record, "at-most-once", without(record, *range(5, 20)), batch=None).violations == []


def test_a_row_that_is_behind_tells_what_was_lost(record: Record) -> None:
    target = now(record)
    del target["keyed"][4, 49, 0, ""]
    target["keyed"][4, 34, 0, ""] = 1
    assert judged(record, "exactly-once", target).lost == {39, 44, 49}


def test_events_may_be_repeated_at_least_once(record: Record) -> None:
    target = now(record)
    target["events"].update([(19, "event"), (20, "event"), (38, "event")])
    found = judged(record, "at-least-once", target)
    assert (found.violations, found.repeated) == ([], {19, 20, 38})
    for other in ("exactly-once", "at-most-once"):
        assert "were applied again" in judged(record, other, target).violations[0]
    target["events"].update([(3, "event")])
    assert "more than one batch" in judged(record, "at-least-once", target).violations[0]


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once", "at-most-once"])
def test_what_nobody_may_do(record: Record, delivery: str) -> None:
    target = now(record)
    target["keyed"][0, 50, 0, ""] = 2
    assert "two rows have the key (0,)" in judged(record, delivery, target).violations[0]
    target = now(record)
    target["keyed"][99, 1, 0, ""] = 1
    assert "a row that the source never had" in judged(record, delivery, target).violations[0]
    target = now(record)
    del target["keyed"][0, 50, 0, ""]
    target["keyed"][0, 50, 7, ""] = 1
    assert "the source never had (0, 50, 7, '')" in judged(record, delivery, target).violations[0]
    target = now(record)
    target["copies"][9, "x"] = 1
    assert "copies: " in judged(record, delivery, target).violations[0]
    source = now(record)
    source["events"].clear()
    assert "the record is wrong" in judge(record, delivery, KILLS, source, now(record), BATCH).violations[0]


def test_rows_of_before_are_never_lost(record: Record) -> None:
    record.changed(BEFORE, {("loose", (0, 1, "first")): (0, 1, "first")})
    target = now(record)
    target["loose"].clear()
    assert "before the mover began" in judged(record, "at-most-once", target).violations[0]


def test_copies_are_counted(record: Record) -> None:
    target = now(record)
    target["copies"][1, "a"] += 1
    assert judged(record, "exactly-once", target).violations == ["copies: other numbers of (1, 'a')"]
    assert judged(record, "at-least-once", target).violations == []


def test_a_deleted_row_without_a_key_that_is_there(record: Record) -> None:
    """At most once, its deletion was lost; at least once, it came again."""
    row: Row = (7, 1, "loose")
    record.changed(7, {("loose", key_of("loose", row)): row})
    record.changed(19, {("loose", key_of("loose", row)): None})
    target = now(record)
    target["loose"][row] = 1
    assert judged(record, "at-most-once", target).lost == {19}
    assert judged(record, "at-least-once", target).repeated == {7}


def test_the_judge_and_its_witnesses_know_no_tieout() -> None:
    for module in ("judge", "record", "writer", "watcher", "places"):
        source = (Path(__file__).parent / f"{module}.py").read_text()
        assert not re.search(r"^\s*(from|import) tieout", source, re.MULTILINE), module
