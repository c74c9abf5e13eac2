"""A running job is heard of for as long as it runs."""

from __future__ import annotations

from queue import Queue
from typing import Any

import pytest

from tieout.errors import MetaStoreError
from tieout.verify import heartbeat as beating


class Jobs:
    """The second beat finds a store that can't be written."""

    def __init__(self) -> None:
        self.heard: Queue[str] = Queue()
        self._beats = 0

    def heartbeat(self, job_id: str) -> None:
        self._beats += 1
        if self._beats == 2:
            raise MetaStoreError("the disk is full")
        self.heard.put(job_id)


def test_a_running_job_is_heard_of_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beating, "HEARTBEAT_SECONDS", 0.01)
    jobs: Any = Jobs()
    with beating.heartbeat(jobs, "v-1"):
        assert [jobs.heard.get(timeout=10) for _ in range(3)] == ["v-1"] * 3
