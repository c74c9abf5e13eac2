"""Corrupt, check, plan, apply, check again clean, undo, check again: with what the checks themselves found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import mariadb, postgres, sqlite
from tests.integration.checking.repairing import Repairing, counts
from tests.variants import later
from tieout.model.failures import CheckReport, CheckVerdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database
    from tests.servers.sqlite import SqliteDatabase

TABLES = (
    "CREATE TABLE parents (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL)",
    """CREATE TABLE t (id INTEGER PRIMARY KEY, p INTEGER, q INTEGER, u VARCHAR(20), CONSTRAINT t_q CHECK (q > 0),
       CONSTRAINT t_p FOREIGN KEY (p) REFERENCES parents (id))""",
    "CREATE INDEX t_u ON t (u)",
    "INSERT INTO parents VALUES (1, 'one')",
    "INSERT INTO t VALUES " + ", ".join(f"({n}, 1, {n}, 'u{n}')" for n in range(1, 21)),
)
STATEMENT = "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS INDEX ALL, CONSTRAINT ALL"
ROWS = "SELECT id, p, q, u FROM t ORDER BY id"
CHOICES = ("foreign_key_violation=insert_parent", "check_violation=replace")
FOUND = {("foreign_key_violation", "3"), ("check_violation", "5")}


def found(report: CheckReport) -> set[tuple[str, str | None]]:
    return {(each.kind.value, (each.primary_key or {}).get("id")) for each in report.failures}


def round_trip(database: Any, repairing: Repairing) -> None:
    before = database.rows(ROWS)
    report = repairing.check(STATEMENT)
    assert found(report) == FOUND
    plan = repairing.plan(report.job, *CHOICES, q="500", **{"parents.name": "new"})
    assert plan.complete
    assert database.rows(ROWS) == before
    assert counts(repairing.apply(plan.plan)) == {"done": 2}
    again = repairing.check(STATEMENT)
    assert (again.verdict, again.failures) == (CheckVerdict.CLEAN, ())
    assert database.rows("SELECT q FROM t WHERE id = 5") == [(500,)]
    assert database.rows("SELECT id, name FROM parents ORDER BY id") == [(1, "one"), (77, "new")]
    assert counts(repairing.undo(plan.plan)) == {"done": 2}
    assert database.rows(ROWS) == before
    assert database.rows("SELECT id FROM parents") == [(1,)]
    assert found(repairing.check(STATEMENT)) == FOUND


def test_sqlite(sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path) -> None:
    database = sqlite_db("shop")
    for statement in TABLES:
        database.execute(statement)
    sqlite.wrong_reference(database, "t", "id = 3", {"p": 77})
    sqlite.violated_check(database, "t", "id = 5", {"q": -5})
    round_trip(database, Repairing(database.url, tmp_path, spark))


@pytest.mark.parametrize("engine", [later("mariadb"), "postgres"])
def test_servers(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, engine: str) -> None:
    database: Database = request.getfixturevalue({"mariadb": "mysql_db", "postgres": "db"}[engine])
    recipes = {"mariadb": mariadb, "postgres": postgres}[engine]
    for statement in TABLES:
        database.execute(statement)
    recipes.wrong_reference(database, "t", "id = 3", {"p": 77})
    recipes.violated_check(database, "t", "id = 5", {"q": -5})
    round_trip(database, Repairing(database.url, tmp_path, spark))
