"""Columns that a task leaves out and that the source loses while it is moved: nothing of what is moved has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.moving.ahead import prevents
from tests.integration.moving.pairs import ONE_OF_ALL, ONE_WAY, Moving
from tests.integration.moving.test_work_on_the_way import asking
from tests.integration.tasks.tables import request_of, verified
from tieout import api
from tieout.errors import TieoutError, UnsupportedError
from tieout.model.requests import TableRequest
from tieout.model.results import Verdict

LEFT_OUT = TableRequest("t", exclude_columns=("secret",))


def names(moving: Moving) -> list[str]:
    return sorted(name for (name,) in moving.target.rows("SELECT name FROM t"))


def begun(moving: Moving) -> Moving:
    """A task that has copied one row, without one of its columns."""
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), secret VARCHAR(20), more INT)")
    moving.source.execute("INSERT INTO t VALUES (1, 'a', 'x', 1)")
    asked = asking(moving, LEFT_OUT)
    asked.run()
    return asked


@ONE_WAY
def test_the_source_drops_a_column_that_is_left_out(moving: Moving) -> None:
    asked = begun(moving)
    moving.source.execute("ALTER TABLE t DROP COLUMN secret")
    moving.source.execute("INSERT INTO t (id, name) VALUES (2, 'b')")
    assert prevents(api.preflight(request_of(asked), asked.meta, move=asked.request, spark=asked.spark)) == {}
    asked.run()
    moving.source.execute("INSERT INTO t (id, name) VALUES (3, 'c')")
    status = asked.run()
    assert (names(moving), status["state"]) == (["a", "b", "c"], "caught up")
    assert verified(asked).verdict is Verdict.EQUAL

    corrected = asking(moving, replace(LEFT_OUT, exclude_columns=()))
    moving.source.execute("INSERT INTO t (id, name) VALUES (4, 'd')")
    corrected.run()
    assert names(moving) == ["a", "b", "c", "d"]
    for wrong in ("more", "nothing"):
        with pytest.raises(UnsupportedError, match=f"exclude_columns was not given and is {wrong}"):
            asking(moving, replace(LEFT_OUT, exclude_columns=(wrong,))).run()


@ONE_OF_ALL
def test_the_log_still_has_rows_of_before_the_column_was_dropped(moving: Moving) -> None:
    asked = begun(moving)
    moving.source.execute("UPDATE t SET name = 'b' WHERE id = 1")
    moving.source.execute("ALTER TABLE t DROP COLUMN secret")
    moving.source.execute("INSERT INTO t (id, name) VALUES (2, 'c')")
    asked = asking(moving, replace(LEFT_OUT, exclude_columns=()))
    status = asked.run()
    assert (names(moving), status["tables"][0]["stopped"]) == (["b", "c"], None)
    moving.source.execute("INSERT INTO t (id, name) VALUES (3, 'd')")
    asked.run()
    assert names(moving) == ["b", "c", "d"]


@ONE_WAY
def test_a_table_is_not_emptied_for_an_entry_that_names_a_lost_column(moving: Moving) -> None:
    asked = begun(moving)
    moving.source.execute("ALTER TABLE t DROP COLUMN secret")
    with pytest.raises(TieoutError, match="can't be copied again: it has no column secret: correct exclude_columns"):
        api.restart_table(asked.request, "t", asked.meta)
    asked.run()
    assert names(moving) == ["a"]
    moving.source.execute("CREATE TABLE u (id INT PRIMARY KEY)")
    both = asking(moving, LEFT_OUT, TableRequest("u"))
    both.run()
    moving.source.execute("ALTER TABLE t DROP COLUMN name")
    both.run()
    ahead = api.preflight(request_of(both), both.meta, move=both.request, spark=both.spark)
    assert prevents(ahead) == {}
    (told,) = [problem for problem in ahead.problems if problem.message.startswith("it is stopped: ")]
    assert (str(told.table).split(".")[1], "tieout task restart" in (told.fix or "")) == ("t", True)
