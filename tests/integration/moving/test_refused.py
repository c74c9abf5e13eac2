"""What can't be moved without losing something is refused by name, before anything is copied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tieout.errors import TieoutError, UnsupportedError
from tieout.model.requests import TableRequest

MARIADB = pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)


def refused(moving: Moving, *tables: str) -> str:
    with pytest.raises(UnsupportedError) as error:
        moving.asking(*tables).run()
    return str(error.value)


@MARIADB
def test_tables_without_transactions(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE a (id INT PRIMARY KEY) ENGINE = MyISAM")
    moving.source.execute("CREATE TABLE b (id INT PRIMARY KEY) ENGINE = Aria")
    words = refused(moving, "a", "b")
    assert ".a: its storage engine is MyISAM" in words
    assert ".b: its storage engine is Aria" in words


@MARIADB
def test_rows_that_change_below_the_log(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE parent (id INT PRIMARY KEY)")
    moving.source.execute(
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT up FOREIGN KEY (p) REFERENCES parent (id) "
        "ON DELETE CASCADE)"
    )
    assert "foreign key up" in refused(moving, "parent", "child")


@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_an_identity_that_is_not_the_key(moving: Moving) -> None:
    """The log would tell of a deleted row without saying which; of one whose key changed, as of a new one."""
    moving.source.execute("CREATE TABLE t (id int PRIMARY KEY, code int NOT NULL UNIQUE)")
    moving.source.execute("ALTER TABLE t REPLICA IDENTITY USING INDEX t_code_key")
    assert "the replica identity of public.t leaves out its key (id)" in refused(moving, "t")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"key": ("a",)}, "a move does not support `key` yet"),
        ({"expressions": {"a": ("a + 1", "a")}}, "computes columns from source columns only"),
    ],
    ids=["key", "expression of the target"],
)
def test_what_a_mover_does_not_do(mariadb_to_postgres: Moving, asked: dict[str, Any], said: str) -> None:
    mariadb_to_postgres.source.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
    tables = (replace(TableRequest("t"), **asked),)
    with pytest.raises(TieoutError, match=said):
        replace(mariadb_to_postgres, request=replace(mariadb_to_postgres.request, tables=tables)).run()
