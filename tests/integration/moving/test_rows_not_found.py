"""Updates and deletes whose rows the target does not have: kept with their keys, whoever asks later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.integration.moving.pairs import ACROSS, Moving
from tests.variants import later
from tieout import api
from tieout.connectors.sql import rows_not_found
from tieout.connectors.sql.target import SqlTarget
from tieout.errors import UnsupportedError
from tieout.model.moves import Consistency, Delivery

WAYS = pytest.mark.parametrize("moving", [ACROSS[0], *(later(way) for way in ACROSS[1:])], indirect=True)


def found(status: dict[str, Any]) -> set[tuple[Any, ...]]:
    rows = status["not_found"]
    return {(row["table"].split(".")[1], row["kind"], tuple((row["key"] or {}).items()), row["rows"]) for row in rows}


def begun(moving: Moving, rows: int) -> Moving:
    moving.source.execute("CREATE TABLE t (a INT, b VARCHAR(9), v INT, PRIMARY KEY (a, b))")
    moving.source.executemany("INSERT INTO t VALUES (%s, %s, 0)", [(n, f"k{n}") for n in range(1, rows + 1)])
    asked = moving.asking("t")
    asked.run()
    return asked


@WAYS
def test_their_keys_outlive_the_mover(moving: Moving) -> None:
    asked = begun(moving, 5)
    moving.target.execute("DELETE FROM t WHERE a IN (2, 3)")
    moving.source.execute("UPDATE t SET v = 1 WHERE a < 4")
    moving.source.execute("DELETE FROM t WHERE a IN (3, 4)")
    expected = {("t", "update", (("a", "2"), ("b", "k2")), 1), ("t", "delete", (("a", "3"), ("b", "k3")), 1)}
    assert found(asked.run()) == expected
    assert asked.rows("t")[0] == asked.rows("t")[1], "what was not there and stays was inserted"
    # Another mover, with a meta store that knows nothing.
    elsewhere = asked.directory / "elsewhere"
    elsewhere.mkdir()
    assert found(replace(asked, directory=elsewhere).run()) == expected
    hidden = replace(asked, request=replace(asked.request, redact_values=True)).run()
    assert found(hidden) == {("t", "update", (), 1), ("t", "delete", (), 1)}
    # A table that is copied again has all of its rows.
    api.restart_table(asked.request, "t", asked.meta)
    assert found(asked.run()) == set()


@WAYS
def test_what_is_not_listed_is_counted(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_not_found, "_LISTED", 3)
    monkeypatch.setattr(rows_not_found, "_STORED", 4)
    asked = begun(moving, 41)
    moving.target.execute("DELETE FROM t WHERE a <= 40")
    moving.source.execute("UPDATE t SET v = 1")
    first = asked.run()["not_found"]
    assert (len(first), sum(row["rows"] for row in first)) == (4, 40)
    moving.target.execute("DELETE FROM t WHERE a <= 40")
    moving.source.execute("DELETE FROM t WHERE a <= 40")
    assert sum(row["rows"] for row in asked.run()["not_found"]) == 80
    again = asked.run()["not_found"]
    assert (len(again), sum(row["rows"] for row in again)) == (4, 80)


@WAYS
def test_each_share_of_a_table_looks_for_its_own(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    moving.source.executemany("INSERT INTO t VALUES (%s, 0)", [(n,) for n in range(1, 31)])
    asked = moving.asking("t", merge_connections=3)
    asked = replace(asked, request=replace(asked.request, consistency=Consistency.ROW))
    asked.run()
    moving.target.execute("DELETE FROM t WHERE id <= 6")
    moving.source.execute("UPDATE t SET v = 1")
    assert found(asked.run()) == {("t", "update", (("id", str(n)),), 1) for n in range(1, 7)}


@WAYS
def test_a_row_without_a_key_is_counted(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE t (v INT)")
    moving.source.execute("INSERT INTO t VALUES (1), (1), (2)")
    if moving.source.server.scheme == "postgresql":
        moving.source.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    asked = moving.asking("t")
    asked.run()
    moving.target.execute("DELETE FROM t WHERE v = 1")
    moving.source.execute("DELETE FROM t WHERE v = 1")
    expected = {("t", "delete", (), 2)}
    assert found(asked.run()) == expected
    assert found(asked.run()) == expected


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
def test_what_another_delivery_may_have_applied_was_there(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of at-least-once whose position was not stored is applied again, by whichever delivery comes next."""
    asked = begun(moving, 3)
    asked = replace(asked, request=replace(asked.request, delivery=Delivery.AT_LEAST_ONCE))
    asked.run()
    moving.source.execute("DELETE FROM t WHERE a = 1")
    with monkeypatch.context() as patched:
        patched.setattr(SqlTarget, "record", _fails)
        with pytest.raises(UnsupportedError, match="not stored"):
            asked.run()
    exactly = replace(asked, request=replace(asked.request, delivery=Delivery.EXACTLY_ONCE))
    assert found(exactly.run()) == set()
    assert exactly.rows("t")[0] == exactly.rows("t")[1]


def _fails(*arguments: object, **more: object) -> None:
    raise UnsupportedError("not stored")
