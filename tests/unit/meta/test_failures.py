"""Failures over time: seen first, seen last, gone, seen again, and what people say of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tieout.errors import UsageError
from tieout.meta import Job, JobKind, MetaStore
from tieout.model.check_statements import Family
from tieout.model.failures import CheckResult, Failure, FailureKind, FailureState, Status

AT = "postgresql://host/shop"
CHECK = CheckResult(Family.INDEX, "public.orders", "orders_sku", Status.FAILURES)
OTHER = replace(CHECK, name="orders_qty")
MISSING = Failure(
    FailureKind.MISSING_INDEX_ENTRY,
    "shop",
    "public.orders",
    ("sku",),
    index="orders_sku",
    primary_key={"id": "17"},
    place="(0,7)",
    details={"row.sku": "a"},
)
DANGLING = replace(
    MISSING, kind=FailureKind.DANGLING_INDEX_ENTRY, primary_key=None, details={"entry.sku": None}, place="(0,8)"
)


@pytest.fixture
def job(store: MetaStore) -> Job:
    return store.jobs.create(JobKind.CHECK, source=AT, target=None, request={})


def test_what_is_found_is_kept(store: MetaStore, job: Job) -> None:
    store.failures.record(job.id, AT, CHECK, [MISSING, DANGLING])
    found = {each.failure.kind: each for each in store.failures.list()}
    assert set(found) == {"missing_index_entry", "dangling_index_entry"}
    kept = found["missing_index_entry"]
    assert (kept.job_id, kept.endpoint, kept.state, kept.note) == (job.id, AT, FailureState.OPEN, None)
    assert kept.failure.primary_key == {"id": "17"}
    assert kept.first_seen == kept.last_seen
    assert kept.gone_since is None
    assert store.failures.get(kept.id) == kept


def test_seen_again_it_is_the_same_one(store: MetaStore, job: Job) -> None:
    """Even if an update has moved its row."""
    store.failures.record(job.id, AT, CHECK, [MISSING])
    (first,) = store.failures.list()
    store.failures.record(job.id, AT, CHECK, [replace(MISSING, place="(9,9)")])
    (again,) = store.failures.list()
    assert (again.id, again.first_seen) == (first.id, first.first_seen)
    assert again.last_seen > first.last_seen
    assert again.failure.place == "(9,9)"


def test_a_dangling_entry_that_was_kept_without_its_key_is_the_same_one(store: MetaStore, job: Job) -> None:
    """As it is after an upgrade: earlier versions did not tell the key."""
    kept = replace(DANGLING, place="17")
    store.failures.record(job.id, AT, CHECK, [kept])
    (first,) = store.failures.list()
    store.failures.record(job.id, AT, CHECK, [replace(kept, primary_key={"id": "17"})])
    (again,) = store.failures.list(gone=True)
    assert (again.id, again.first_seen) == (first.id, first.first_seen)
    assert again.failure.primary_key == {"id": "17"}


def test_one_that_its_check_does_not_find_any_more_is_gone(store: MetaStore, job: Job) -> None:
    store.failures.record(job.id, AT, CHECK, [MISSING, DANGLING])
    store.failures.record(job.id, AT, OTHER, [])
    assert len(store.failures.list()) == 2
    store.failures.record(job.id, AT, CHECK, [DANGLING])
    assert [each.failure.kind for each in store.failures.list()] == ["dangling_index_entry"]
    gone = {each.failure.kind: each.gone_since for each in store.failures.list(gone=True)}
    assert gone["missing_index_entry"] is not None
    assert gone["dangling_index_entry"] is None
    store.failures.record(job.id, AT, CHECK, [MISSING])
    assert [each.failure.kind for each in store.failures.list()] == ["missing_index_entry"]


def test_what_a_check_did_not_reach_is_not_gone(store: MetaStore, job: Job) -> None:
    store.failures.record(job.id, AT, CHECK, [MISSING, DANGLING])
    store.failures.record(job.id, AT, replace(CHECK, cut=True), [DANGLING])
    assert len(store.failures.list()) == 2
    store.failures.record(job.id, AT, CHECK, [DANGLING])
    assert len(store.failures.list()) == 1


def test_another_database_has_failures_of_its_own(store: MetaStore, job: Job) -> None:
    store.failures.record(job.id, AT, CHECK, [MISSING])
    store.failures.record(job.id, "postgresql://other/shop", CHECK, [MISSING])
    assert {each.endpoint for each in store.failures.list()} == {AT, "postgresql://other/shop"}
    store.failures.record(job.id, AT, CHECK, [])
    assert [each.endpoint for each in store.failures.list()] == ["postgresql://other/shop"]


def test_what_people_say(store: MetaStore, job: Job) -> None:
    store.failures.record(job.id, AT, CHECK, [MISSING, DANGLING])
    missing, dangling = sorted(store.failures.list(), key=lambda each: each.failure.kind, reverse=True)
    store.failures.judge(missing.id, FailureState.RESOLVED, "reindexed")
    store.failures.judge(dangling.id, FailureState.IGNORED, "known")
    assert [each.note for each in store.failures.list(state=FailureState.RESOLVED)] == ["reindexed"]
    store.failures.record(job.id, AT, CHECK, [MISSING, DANGLING])
    assert store.failures.get(missing.id).state is FailureState.OPEN
    assert store.failures.get(dangling.id).state is FailureState.IGNORED
    with pytest.raises(UsageError, match="there is no failure"):
        store.failures.get("f-nothing")


def test_rows_without_key_and_place_are_told_apart(store: MetaStore, job: Job) -> None:
    """By their values; and equal ones by their number."""
    check = replace(CHECK, family=Family.CONSTRAINT, name="positive")
    nowhere = replace(MISSING, kind=FailureKind.CHECK_VIOLATION, primary_key=None, place=None, index=None)
    found = [replace(nowhere, details={"qty": value}) for value in ("-1", "-2", "-1", "-1")]
    store.failures.record(job.id, AT, check, found)
    first = {each.id: each.failure.details["qty"] for each in store.failures.list()}
    assert sorted(first.values()) == ["-1", "-1", "-1", "-2"]
    store.failures.record(job.id, AT, check, found[::-1])
    again = {each.id: each.failure.details["qty"] for each in store.failures.list(gone=True)}
    assert again == first, "seen again, they are the same"
    store.failures.record(job.id, AT, check, found[1:3])
    assert sorted(each.failure.details["qty"] for each in store.failures.list()) == ["-1", "-2"]
    store.failures.record(job.id, AT, OTHER, [MISSING, MISSING])
    assert len(store.failures.list()) == 3, "one row, told of twice"


def test_a_definition_stays_the_same_one_whatever_is_told_of_it(store: MetaStore, job: Job) -> None:
    check = replace(CHECK, family=Family.SCHEMA, name=None)
    behind = replace(MISSING, kind=FailureKind.SEQUENCE_BEHIND, primary_key=None, place=None, details={"next": "7"})
    store.failures.record(job.id, AT, check, [behind])
    store.failures.record(job.id, AT, check, [replace(behind, details={"next": "8"})])
    assert len(store.failures.list(gone=True)) == 1


def test_many_at_once(store: MetaStore, job: Job) -> None:
    many = [replace(MISSING, primary_key={"id": str(number)}) for number in range(1200)]
    store.failures.record(job.id, AT, CHECK, many)
    store.failures.record(job.id, AT, CHECK, many[:700])
    assert len(store.failures.list(limit=5000)) == 700
    assert len(store.failures.list(limit=5000, gone=True)) == 1200
