"""What is said of a mover, by itself and once it is gone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.meta.conftest import Child
from tieout import api
from tieout.errors import UsageError
from tieout.meta import Job, JobKind, JobState, MetaStore, Wanted
from tieout.model.documents import move_status_document

TOLD: dict[str, Any] = {
    "kind": "status",
    "finish": None,
    "not_found": [],
    "task": "shop",
    "state": "following",
    "message": None,
    "delivery": "at-least-once",
    "consistency": "table",
    "chosen": ["consistency table: the strongest that the source can give"],
    "position": "bin.1:4",
    "consistent_from": None,
    "changes": 7,
    "rows_per_second": 3.0,
    "newest_commit": None,
    "lag_seconds": 0.0,
    "lag_bytes": 0,
    "log_kept_bytes": 12,
    "log_limit": None,
    "log_warning": None,
    "left_behind": None,
    "seconds_left": 0.0,
    "tables": [],
    "remarks": [],
}
UNKNOWN = ("rows_per_second", "lag_seconds", "lag_bytes", "log_kept_bytes", "seconds_left")

MOVER = f"""
    import os, signal, sys
    from tieout.meta import JobKind, open_store

    with open_store(sys.argv[1]) as store:
        job = store.jobs.create(JobKind.MOVE, source="a", target="b", request={{}}, task="shop")
        store.moves.set_status(job.id, "shop", {TOLD!r})
        print(job.id, flush=True)
        sys.stdin.readline()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def told(url: str) -> dict[str, Any]:
    found = api.move_status("shop", url)
    assert found is not None
    assert api.move_statuses(url) == [found]
    return move_status_document(found)


def move(store: MetaStore) -> Job:
    return store.jobs.create(JobKind.MOVE, source="a", target="b", request={}, task="shop")


def test_a_mover_that_is_killed_does_not_follow_any_more(store: MetaStore, url: str, child: Child) -> None:
    process = child(MOVER, url)
    assert process.stdout is not None
    job = store.jobs.get(process.stdout.readline().strip())
    alive = told(url)
    assert alive == TOLD | {"updated_at": store.jobs.get(job.id).heartbeat_at.isoformat()}
    process.communicate("\n")

    gone = told(url)
    assert gone["state"] == "interrupted"
    assert gone["message"] == f"its process is gone ({job.pid} on {job.host}); start it again: tieout run shop"
    assert [gone[name] for name in UNKNOWN] == [None] * 5
    assert gone["updated_at"] == alive["updated_at"], "that is when it was last heard of"
    assert (gone["position"], gone["changes"]) == ("bin.1:4", 7)


@pytest.mark.parametrize("state", ["caught up", "stopped in part", "stopped", "failed"])
def test_a_mover_that_ended_in_order_has_the_last_word(store: MetaStore, url: str, state: str) -> None:
    job = move(store)
    store.moves.set_status(job.id, "shop", TOLD | {"state": state, "message": "so"})
    store.jobs.stop(job.id, JobState.INTERRUPTED)
    found = told(url)
    assert (found["state"], found["message"], found["lag_seconds"]) == (state, "so", None)


def test_a_mover_that_failed_without_a_word(store: MetaStore, url: str) -> None:
    job = move(store)
    store.moves.set_status(job.id, "shop", TOLD)
    store.jobs.fail(job.id, "no room")
    assert (told(url)["state"], told(url)["message"]) == ("failed", "no room")


def test_a_verification_of_the_task_is_not_its_mover(store: MetaStore, url: str) -> None:
    mover = move(store)
    store.moves.set_status(mover.id, "shop", TOLD)
    looked = store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={}, task="shop")
    assert api.control_move("shop", Wanted.STOP, url).job == mover.id
    store.jobs.stop(mover.id, JobState.INTERRUPTED)
    assert told(url)["state"] == "interrupted"
    with pytest.raises(UsageError, match="no process runs task shop"):
        api.control_move("shop", Wanted.STOP, url)
    assert store.jobs.get(looked.id).wanted is None
