"""Looks at a target all the time while movers are killed: whatever the delivery, no row goes back in time.

Knows no Tieout. A batch is one transaction of the target, and one that is applied again has to be the same batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

from tests.faults.kills.places import Place
from tests.faults.kills.record import KEYS, Key
from tests.faults.kills.writer import COLUMNS, say

_EVERY = 0.05
_MOST = 5
_WATCHED = ("keyed", "named", "emptied")


@dataclass
class Watcher:
    """Of the newest transaction that each key was seen with."""

    target: Place
    violations: list[str] = field(default_factory=list)
    looks: int = 0
    _newest: dict[tuple[str, Key], tuple[int, bool]] = field(default_factory=dict)
    _done: Event = field(default_factory=Event)

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = Thread(target=self._run, name="watcher")
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join()

    def _run(self) -> None:
        connection: Any = None
        while not self._done.wait(_EVERY):
            try:
                connection = connection or self.target.open()
                for table in _WATCHED:
                    self._look(table, connection)
                self.looks += 1
            except Exception:  # a table that is not there yet, a connection that was cut, a file that is locked
                with suppress(Exception):
                    connection.close()
                connection = None
                time.sleep(_EVERY)
        if connection is not None:
            connection.close()

    def _look(self, table: str, connection: Any) -> None:
        width = KEYS[table]
        assert width is not None
        columns = ", ".join([*COLUMNS[table][:width], "t"])
        rows = say(self.target.engine, connection, f"SELECT {columns} FROM {table}")
        there = {tuple(key): number for *key, number in rows}
        for key, number in there.items():
            self._saw(table, key, number)
        for (seen_in, key), (number, _) in list(self._newest.items()):
            if seen_in == table and key not in there:
                self._newest[table, key] = number, False

    def _saw(self, table: str, key: Key, number: int) -> None:
        """A row that was gone comes back with a later transaction alone."""
        newest, is_there = self._newest.get((table, key), (-1, True))
        if number < newest or (number == newest and not is_there):
            how = f"transaction {newest}, then" if is_there else f"transaction {newest}, then not at all, then"
            if len(self.violations) < _MOST:
                self.violations.append(f"{table}: {key} was seen as of {how} as of {number}: it went back in time")
        self._newest[table, key] = number, True
