"""Tables of a target whose storage engine has no transactions: what is there is not lost while it is written again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.integration.moving.ahead import Ahead, between, notes, prevents
from tests.integration.moving.pairs import Moving
from tieout.errors import TieoutError, UnsupportedError
from tieout.model.moves import Delivery

TO_MARIADB = pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
LARGE = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 1000) AS n)"
"""Too large to be stored with its row, and to become small."""


def asking(moving: Moving, *tables: str, **options: Any) -> Moving:
    """With what the target can give."""
    asked = moving.asking(*tables, **options)
    return replace(asked, request=replace(asked.request, delivery=None))


@TO_MARIADB
def test_an_engine_without_transactions_that_a_table_gets_while_it_is_copied(moving: Moving) -> None:
    """Its other chunks are there: no chunk of several empties the table."""
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    moving.source.executemany("INSERT INTO t VALUES (%s, %s)", [(n, n) for n in range(100)])
    moving.target.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT, CHECK (n < 95))")
    asked = asking(moving, "t", chunk_rows=10)
    with pytest.raises(TieoutError):
        asked.run()
    before = moving.rows("t")[1]
    assert 0 < len(before) < 100
    moving.source.execute("UPDATE t SET n = 0")
    moving.target.execute("ALTER TABLE t ENGINE = Aria")
    with pytest.raises(UnsupportedError, match="got a storage engine without transactions while it was copied"):
        asked.run()
    assert moving.rows("t")[1] == before
    moving.target.execute("ALTER TABLE t ENGINE = InnoDB")
    asked.run()
    assert moving.rows("t")[0] == moving.rows("t")[1]


@TO_MARIADB
def test_values_that_the_log_left_out_stop_a_table(moving: Moving) -> None:
    """A mover that is killed between two statements would take them with it. A whole row of the log is enough."""
    for table, identity in (("lean", "DEFAULT"), ("whole", "FULL")):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, large TEXT, n INT)")
        moving.source.execute(f"ALTER TABLE {table} REPLICA IDENTITY {identity}")
        moving.source.execute(f"INSERT INTO {table} VALUES (1, {LARGE}, 1)")
        moving.target.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, large LONGTEXT, n INT) ENGINE = Aria")
    asked = asking(moving, "lean", "whole")
    asked.run()
    for table in ("lean", "whole"):
        moving.source.execute(f"INSERT INTO {table} VALUES (2, {LARGE}, 1)")
    asked.run()
    before = moving.rows("lean")[1]
    assert before == moving.rows("lean")[0]
    for table in ("lean", "whole"):
        moving.source.execute(f"UPDATE {table} SET n = 2 WHERE id = 1")
    status = asked.run()
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in status["tables"]}
    assert "the log left out values of 1 changed rows" in stopped["lean"]
    assert stopped["whole"] is None
    assert moving.rows("lean")[1] == before
    assert moving.rows("whole")[0] == moving.rows("whole")[1]


@between("postgres-mariadb")
def test_a_preflight_says_which_rows_the_log_has_to_have(ahead: Ahead) -> None:
    for table, engine in (("files", "Aria"), ("numbers", "Aria"), ("sound", "InnoDB")):
        kind = "int" if table == "numbers" else "text"
        ahead.source.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v {kind})")
        ahead.target.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v {kind}) ENGINE = {engine}")
    found = ahead.look("files", "numbers", "sound")
    assert prevents(found) == {}
    (note,) = [problem for problem in found.problems if "its log leaves out large values" in problem.message]
    assert (note.table, note.fix) == ("public.files", "ALTER TABLE public.files REPLICA IDENTITY FULL")
    ahead.source.execute("ALTER TABLE files REPLICA IDENTITY FULL")
    assert "leaves out" not in notes(ahead.look("files"))


@between("mariadb-mariadb")
def test_a_table_without_a_key_has_no_level_of_keys(ahead: Ahead) -> None:
    for table in ("keyed", "keyless"):
        key = " PRIMARY KEY" if table == "keyed" else ""
        ahead.source.execute(f"CREATE TABLE {table} (id INT{key})")
        ahead.target.execute(f"CREATE TABLE {table} (id INT{key}) ENGINE = Aria")
    for delivery in (Delivery.AT_LEAST_ONCE, Delivery.EXACTLY_ONCE):
        forecast = ahead.look("keyed", "keyless", delivery=delivery).move
        assert forecast is not None
        assert [str(table.target_level) for table in forecast.tables] == ["unique-key", "primitive"]
