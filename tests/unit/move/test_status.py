"""What a mover says of how far it is."""

from __future__ import annotations

from typing import Any

import pytest

from tieout.connectors.protocols.change_log import LogLag
from tieout.model.levels import Levels
from tieout.model.moves import Consistency, Delivery, StoppedTable, Version
from tieout.model.requests import MoveRequest
from tieout.model.tables import TableName
from tieout.move import status as module
from tieout.move.status import StatusKeeper, TableStatus

LEVELS = Levels(Delivery.EXACTLY_ONCE, Consistency.TRANSACTION)


class Clock:
    now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


class Told:
    def set_status(self, job: str, task: str, document: dict[str, Any]) -> None: ...


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def keeper(clock: Clock) -> StatusKeeper:
    return StatusKeeper(Told(), "m-1", MoveRequest("t", "", ""), LEVELS, state="following")  # type: ignore[arg-type]


def test_lag_is_not_known_before_it_was_looked_for(keeper: StatusKeeper) -> None:
    assert (keeper.lag_seconds, keeper.seconds_left) == (None, None)


def test_nothing_behind_is_no_lag_however_old_the_last_change_is(keeper: StatusKeeper) -> None:
    keeper.newest = 1_000_000
    keeper.set_lag(LogLag(0))
    assert (keeper.lag_seconds, keeper.seconds_left) == (0.0, 0.0)


def test_lag_counts_from_when_it_had_caught_up_or_from_the_last_change(keeper: StatusKeeper, clock: Clock) -> None:
    keeper.set_lag(LogLag(0))
    clock.now += 7
    keeper.set_lag(LogLag(100))
    assert keeper.lag_seconds == 7
    keeper.newest = int((clock.now - 3) * 1e6)
    assert keeper.lag_seconds == 3
    keeper.newest = int((clock.now + 5) * 1e6)  # the source's clock is ahead
    assert keeper.lag_seconds == 0


def test_the_time_left_is_what_the_lag_shrinks_by(keeper: StatusKeeper, clock: Clock) -> None:
    keeper.set_lag(LogLag(1_000))
    clock.now += 2
    keeper.set_lag(LogLag(800))
    assert keeper.seconds_left == 8
    clock.now += 2
    keeper.set_lag(LogLag(1_200))
    assert keeper.seconds_left is None, "it grows"


def test_the_time_left_of_a_copy_is_never_negative(keeper: StatusKeeper, clock: Clock) -> None:
    table = TableStatus("a", "a", chunks=2, rows_copied=0, rows_estimated=100)
    keeper.state, keeper.tables = "copying", {"a": table}
    assert keeper.seconds_left is None
    keeper._count(10)
    clock.now += 1
    keeper._count(10)
    assert keeper.seconds_left == 10
    table.rows_copied = 150  # the estimate was too low
    assert keeper.seconds_left == 0


def test_lag_is_not_known_while_a_server_is_waited_for(keeper: StatusKeeper) -> None:
    keeper.set_lag(LogLag(0))
    keeper.become("waiting", "it restarts")
    assert (keeper.status().lag_seconds, keeper.status().lag_bytes) == (None, None)
    keeper.become("following")
    keeper.set_lag(LogLag(5))
    assert keeper.status().lag_bytes == 5


def test_one_line_tells_of_tables_that_were_stopped(keeper: StatusKeeper) -> None:
    keeper.tables = {name: TableStatus(name, name) for name in ("a", "b", "c")}
    assert keeper.status().message is None
    keeper.stopped_before([StoppedTable("b", None, "b is gone")])
    assert keeper.status().message == "1 of 3 tables stopped: b is gone"
    keeper.become("waiting", "it restarts")
    assert keeper.status().message == "it restarts; 1 of 3 tables stopped"


def test_what_changed_a_stopped_table_last_is_told(keeper: StatusKeeper) -> None:
    keeper.changed_before({"a.b": Version("0-1-7", 5)})
    keeper.stopped_before([StoppedTable("b", "a.b", "b got a column"), StoppedTable("c", None, "c is gone")])
    assert [(table.transaction, table.committed_at) for table in keeper.status().tables] == [
        ("0-1-7", 5),
        (None, None),
    ]


def test_no_value_is_quoted_of_why_a_table_is_stopped(clock: Clock) -> None:
    request = MoveRequest("t", "", "", redact_values=True)
    keeper = StatusKeeper(Told(), "m-1", request, LEVELS, state="following")  # type: ignore[arg-type]
    reason = "a.b: Incorrect value: '4929 1234'"
    keeper.stopped_before([StoppedTable("a.b", "a.b", reason, ())])
    keeper.tables["a.c"] = TableStatus("a.c", "a.c")
    keeper.stopped(TableName("a", "c"), reason)
    assert "4929" not in str(keeper.status())
    assert keeper.tables["a.b"].stopped == keeper.tables["a.c"].stopped == "a.b: Incorrect value: ***"
