"""Keys that the target's collation considers equal, and the source does not: each row is another one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.moving.pairs import Moving
from tests.variants import later
from tieout.model.requests import TableRequest

WAYS = pytest.mark.parametrize("moving", ["postgres-mariadb", later("postgres-postgres")], indirect=True)


def begun(moving: Moving, where: str | None = None) -> Moving:
    moving.source.execute("CREATE TABLE t (k varchar(20) PRIMARY KEY, v int)")
    moving.source.execute("INSERT INTO t VALUES ('a', 1), ('q', 2), ('w', 3)")
    if moving.target.server.scheme == "mysql":
        moving.target.execute("CREATE TABLE t (k VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT)")
    else:
        moving.target.execute("CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
        moving.target.execute("CREATE TABLE t (k varchar(20) COLLATE ci PRIMARY KEY, v int)")
    asked = moving.asking("t")
    asked = replace(asked, request=replace(asked.request, tables=(TableRequest("t", where=where),)))
    asked.run()
    return asked


@WAYS
def test_a_row_that_comes_and_goes_takes_no_other_with_it(moving: Moving) -> None:
    asked = begun(moving)
    with moving.source.connect() as connection, connection.cursor() as cursor:
        for statement in ("BEGIN", "INSERT INTO t VALUES ('A', 9)", "DELETE FROM t WHERE k = 'A'", "COMMIT"):
            cursor.execute(statement)
    moving.source.execute("INSERT INTO t VALUES ('Q', 1)")
    moving.source.execute("UPDATE t SET k = 'temp' WHERE k = 'Q'")
    moving.source.execute("DELETE FROM t WHERE k = 'temp'")
    asked.run()
    assert sorted(moving.target.rows("SELECT k, v FROM t")) == [("a", 1), ("q", 2), ("w", 3)]


@WAYS
def test_a_row_that_the_filter_leaves_out_takes_no_other_with_it(moving: Moving) -> None:
    asked = begun(moving, where="v > 0")
    moving.source.execute("INSERT INTO t VALUES ('A', -1)")
    moving.source.execute("UPDATE t SET v = -2 WHERE k = 'A'")
    asked.run()
    assert sorted(moving.target.rows("SELECT k, v FROM t")) == [("a", 1), ("q", 2), ("w", 3)]


@WAYS
def test_a_key_changes_its_case(moving: Moving) -> None:
    asked = begun(moving)
    moving.source.execute("UPDATE t SET k = 'A', v = 7 WHERE k = 'a'")
    asked.run()
    assert sorted(moving.target.rows("SELECT k, v FROM t")) == [("A", 7), ("q", 2), ("w", 3)]
