"""A mover whose connection to the target is cut while its COMMIT waits for a replica."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tests.integration.failover import own_servers as own
from tests.integration.failover.tasks import DATABASE, Task, following
from tests.servers.proxy import Proxy


@dataclass
class Cut:
    """A mover whose batch waits for the row that progress is kept in."""

    task: Task
    proxy: Proxy
    locking: Any

    def merge_until(self, blocked: Callable[[], object]) -> None:
        self.task.write([100])
        own.until(blocked)

    def now(self, committing: Callable[[], object], again: Callable[[], object]) -> None:
        """While COMMIT waits for a replica; until the mover has read how far it is, and waits for it once more."""
        self.locking.rollback()
        own.until(committing)
        self.proxy.cut()
        own.until(again)


@contextmanager
def cut_while_committing(task: Task, progress: str) -> Iterator[Cut]:
    """Whatever the block does, each change has to arrive once."""
    proxy = Proxy(task.target.host, task.target.port)
    with (
        following(replace(task, target=replace(task.target, port=proxy.port))),
        task.target.connect(DATABASE) as locking,
        locking.cursor() as cursor,
    ):
        cursor.execute("BEGIN")
        cursor.execute(f"SELECT * FROM {progress} FOR UPDATE")
        yield Cut(task, proxy, locking)
        own.until(lambda: 100 in task.arrived()[1])
        task.write([101])
        own.until(lambda: 101 in task.arrived()[1])
    proxy.close()
    assert task.is_equal(), task.arrived()
