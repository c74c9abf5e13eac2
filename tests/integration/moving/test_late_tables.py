"""Tables that come and go between two runs of a task."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.moving.pairs import ONE_WAY, Moving
from tieout.model.requests import TableRequest

TABLE = "CREATE TABLE {} (id INT PRIMARY KEY, note VARCHAR(20))"


@ONE_WAY
def test_a_table_that_came_later(moving: Moving) -> None:
    """It joins: it is copied, and followed with the others from then on."""
    moving.source.execute(TABLE.format("first"))
    moving.source.execute("INSERT INTO first VALUES (1, 'a')")
    asked = replace(moving, request=replace(moving.request, tables=()))
    asked.run()
    moving.source.execute(TABLE.format("late"))
    moving.source.execute("INSERT INTO late VALUES (1, 'a')")
    moving.source.execute("INSERT INTO first VALUES (2, 'b')")

    asked.run()
    moving.source.execute("UPDATE late SET note = 'changed'")
    moving.source.execute("UPDATE first SET note = 'changed' WHERE id = 1")
    status = asked.run()

    assert asked.rows("first")[0] == asked.rows("first")[1]
    assert asked.rows("late")[0] == asked.rows("late")[1] == [(1, "changed")]
    assert status["state"] == "caught up"


@pytest.mark.parametrize("moving", ["mariadb-postgres", "postgres-mariadb"], indirect=True)
@pytest.mark.parametrize("away", ["left out", "renamed"])
def test_a_table_that_is_away_for_a_run(moving: Moving, away: str) -> None:
    """The log is read on without it, so it can't be followed any more: that is said, and nothing is pretended."""
    for name in ("first", "second"):
        moving.source.execute(TABLE.format(name))
    asked = replace(moving, request=replace(moving.request, tables=()))
    asked.run()
    moving.source.execute("INSERT INTO second VALUES (1, 'a')")
    moving.source.execute("INSERT INTO first VALUES (1, 'a')")
    if away == "left out":
        replace(moving, request=replace(moving.request, tables=(TableRequest("first"),))).run()
    else:
        moving.source.execute("ALTER TABLE second RENAME TO other")
        replace(moving, request=replace(moving.request, tables=(TableRequest("first"), TableRequest("second")))).run()
        moving.source.execute("ALTER TABLE other RENAME TO second")
    moving.source.execute("INSERT INTO second VALUES (2, 'b')")

    status = asked.run()

    assert asked.rows("first")[0] == asked.rows("first")[1]
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in status["tables"]}
    assert stopped["first"] is None
    assert "the task no longer has it" in (stopped["second"] or "")
