"""Jobs are created, seen, steered from elsewhere, resumed and ended."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from tieout.errors import MetaStoreError, UsageError
from tieout.meta import Job, JobKind, JobState, MetaStore, Wanted, ownership


def verification(store: MetaStore, task: str | None = None) -> Job:
    return store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={"tables": ["t"]}, task=task)


def make_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "STALE_AFTER", timedelta(seconds=-1))


def let_another_process_own(monkeypatch: pytest.MonkeyPatch, name: str = "elsewhere:1:1") -> None:
    monkeypatch.setattr(ownership, "this_process", lambda: name)


class TestCreating:
    def test_a_new_job_runs_and_keeps_what_was_asked(self, store: MetaStore) -> None:
        job = verification(store, task="shop")
        assert job.state is JobState.RUNNING
        assert (job.kind, job.task, job.source, job.target) == (JobKind.VERIFICATION, "shop", "a", "b")
        assert job.request == {"tables": ["t"]}
        assert store.jobs.get(job.id) == job

    def test_its_id_says_kind_and_time(self, store: MetaStore) -> None:
        assert re.fullmatch(r"v-\d{8}-\d{6}-[a-z2-9]{4}", verification(store).id)
        repair = store.jobs.create(JobKind.REPAIR, source="a", target=None, request={})
        assert repair.id.startswith("r-")


class TestFinding:
    def test_by_the_beginning_of_its_id(self, store: MetaStore) -> None:
        job = verification(store)
        repair = store.jobs.create(JobKind.REPAIR, source="a", target="b", request={})
        assert store.jobs.get(job.id[:12]).id == job.id
        assert store.jobs.get("r").id == repair.id

    def test_last_is_the_newest(self, store: MetaStore) -> None:
        verification(store)
        newest = verification(store)
        assert store.jobs.get("last") == newest

    def test_a_beginning_of_several_is_refused_and_names_them(self, store: MetaStore) -> None:
        jobs = [verification(store), verification(store)]
        with pytest.raises(UsageError, match="matches several") as refused:
            store.jobs.get("v-")
        assert all(job.id in refused.value.message for job in jobs)

    @pytest.mark.parametrize("reference", ["v-1999", "", "%", "_", "V", "é", "\udc80", "a\0"])
    def test_what_is_no_job_is_refused(self, store: MetaStore, reference: str) -> None:
        verification(store)
        with pytest.raises(UsageError, match="there is no job"):
            store.jobs.get(reference)

    def test_last_of_none(self, store: MetaStore) -> None:
        with pytest.raises(UsageError, match="there is no job 'last'"):
            store.jobs.get("last")


class TestListing:
    def test_newest_first_by_state_and_task_up_to_a_limit(self, store: MetaStore) -> None:
        first, second, third = verification(store), verification(store, "shop"), verification(store)
        store.jobs.finish(second.id, verdict="equal")
        assert [job.id for job in store.jobs.list()] == [third.id, second.id, first.id]
        assert [job.id for job in store.jobs.list(limit=1)] == [third.id]
        assert [job.id for job in store.jobs.list(state=JobState.DONE)] == [second.id]
        assert [job.id for job in store.jobs.list(task="shop")] == [second.id]

    def test_a_silent_job_becomes_interrupted(self, store: MetaStore, monkeypatch: pytest.MonkeyPatch) -> None:
        job = verification(store)
        make_silent(monkeypatch)
        assert [each.state for each in store.jobs.list()] == [JobState.INTERRUPTED]
        assert store.jobs.get(job.id).state is JobState.INTERRUPTED

    def test_one_that_was_to_be_cancelled_is_then(self, store: MetaStore, monkeypatch: pytest.MonkeyPatch) -> None:
        job = verification(store)
        store.jobs.set_wanted(job.id, Wanted.CANCEL)
        make_silent(monkeypatch)
        assert store.jobs.get(job.id).state is JobState.CANCELLED

    def test_one_that_was_only_asleep_runs_again(self, store: MetaStore, monkeypatch: pytest.MonkeyPatch) -> None:
        job = verification(store)
        with monkeypatch.context() as patched:
            make_silent(patched)
            assert store.jobs.get(job.id).state is JobState.INTERRUPTED
        store.jobs.heartbeat(job.id)
        assert store.jobs.get(job.id).state is JobState.RUNNING


class TestSteering:
    def test_a_running_job_learns_what_is_wanted(self, store: MetaStore) -> None:
        job = verification(store)
        assert store.jobs.heartbeat(job.id) is None
        store.jobs.set_wanted(job.id[:-1], Wanted.PAUSE)
        assert store.jobs.wanted(job.id) is Wanted.PAUSE
        assert store.jobs.heartbeat(job.id) is Wanted.PAUSE
        store.jobs.set_wanted("last", None)
        assert store.jobs.heartbeat(job.id) is None

    def test_a_paused_job_is_cancelled_at_once(self, store: MetaStore) -> None:
        job = verification(store)
        store.jobs.stop(job.id, JobState.PAUSED)
        assert store.jobs.set_wanted(job.id, Wanted.CANCEL).state is JobState.CANCELLED

    def test_nothing_is_wanted_of_a_finished_job(self, store: MetaStore) -> None:
        job = verification(store)
        store.jobs.finish(job.id, verdict="equal")
        for wanted in (Wanted.PAUSE, Wanted.CANCEL):
            with pytest.raises(UsageError, match=f"is done: there is nothing to {wanted}"):
                store.jobs.set_wanted(job.id, wanted)


class TestEnding:
    def test_done_keeps_verdict_and_document(self, store: MetaStore) -> None:
        job = verification(store)
        done = store.jobs.finish(job.id, verdict="different", result={"differences": [{"key": {"id": "1"}}]})
        assert (done.state, done.verdict) == (JobState.DONE, "different")
        assert done.finished_at is not None
        assert store.jobs.result(job.id) == {"differences": [{"key": {"id": "1"}}]}

    def test_failed_keeps_the_reason_whatever_it_holds(self, store: MetaStore) -> None:
        failed = store.jobs.fail(verification(store).id, "bad byte \0 and \udcff")
        assert (failed.state, failed.error) == (JobState.FAILED, "bad byte \\x00 and \\udcff")

    def test_nothing_is_recorded_after_the_end(self, store: MetaStore) -> None:
        job = verification(store)
        store.jobs.finish(job.id, verdict="equal")
        with pytest.raises(MetaStoreError, match="is done: this process can no longer record"):
            store.jobs.heartbeat(job.id)

    def test_nor_for_a_job_that_is_not_there(self, store: MetaStore) -> None:
        with pytest.raises(UsageError, match="there is no job v-0"):
            store.jobs.heartbeat("v-0")


class TestResuming:
    @pytest.mark.parametrize("state", [JobState.PAUSED, JobState.INTERRUPTED])
    def test_a_stopped_job(self, store: MetaStore, state: JobState) -> None:
        job = verification(store)
        store.jobs.set_wanted(job.id, Wanted.PAUSE)
        store.jobs.stop(job.id, state)
        resumed = store.jobs.resume("last")
        assert (resumed.id, resumed.state, resumed.wanted, resumed.finished_at) == (
            job.id,
            JobState.RUNNING,
            None,
            None,
        )
        store.jobs.heartbeat(job.id)

    def test_a_failed_job_forgets_its_error(self, store: MetaStore) -> None:
        job = verification(store)
        store.jobs.fail(job.id, "the source went away")
        assert store.jobs.resume(job.id).error is None

    def test_a_finished_or_cancelled_job_is_refused(self, store: MetaStore) -> None:
        done, cancelled = verification(store), verification(store)
        store.jobs.finish(done.id, verdict="equal")
        store.jobs.stop(cancelled.id, JobState.CANCELLED)
        for job in (done, cancelled):
            with pytest.raises(UsageError, match="can't be resumed"):
                store.jobs.resume(job.id)

    def test_a_job_that_runs_elsewhere_is_refused(self, store: MetaStore, monkeypatch: pytest.MonkeyPatch) -> None:
        job = verification(store)
        let_another_process_own(monkeypatch)
        with pytest.raises(UsageError, match=rf"is already running \(process {job.pid} on "):
            store.jobs.resume(job.id)

    def test_the_process_that_was_given_up_records_no_more(
        self, store: MetaStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = verification(store)
        with monkeypatch.context() as patched:
            make_silent(patched)
            let_another_process_own(patched)
            store.jobs.resume(job.id)
        with pytest.raises(MetaStoreError, match=r"another process .* resumed job"):
            store.jobs.heartbeat(job.id)
        with pytest.raises(MetaStoreError, match=r"another process .* resumed job"):
            store.tables.add(job.id, [("t", "t")])
        with pytest.raises(MetaStoreError, match=r"another process .* resumed job"):
            store.jobs.finish(job.id, verdict="equal")
