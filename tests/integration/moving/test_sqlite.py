"""SQLite files are moved like databases of servers: copied and followed, with triggers in the place of a log."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults.moving.mover import Mover
from tests.integration.moving.pairs import Moving, remarks_of
from tests.integration.moving.test_consistency import in_background
from tests.servers.sqlite import SqliteDatabase
from tests.variants import later
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_endpoint
from tieout.errors import UnsupportedError, UsageError
from tieout.model.requests import MoveRequest, VerifyRequest
from tieout.spark import executor_work
from tieout.verification.plan_tables import plan_tables
from tieout.verification.preflight import look_ahead

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRUCTURE = """
CREATE TABLE parent (id INTEGER PRIMARY KEY AUTOINCREMENT, u TEXT UNIQUE, n INT NOT NULL DEFAULT 5, -- a comment, with (
  twice AS (n * 2), CONSTRAINT both UNIQUE (u, n), CHECK (n > 0));
CREATE TABLE "odd 'name" ("a b" TEXT COLLATE NOCASE, [c"d] INT REFERENCES parent(id), e, PRIMARY KEY ("a b", [c"d]))
  WITHOUT ROWID;
CREATE TABLE named (name TEXT NOT NULL UNIQUE, v);
CREATE TABLE loose (a, b REAL, c BLOB);
CREATE INDEX by_n ON parent (n DESC) WHERE n > 3;
CREATE UNIQUE INDEX by_e ON "odd 'name" (e);
"""
TABLES = ("parent", '"odd \'name"', "named", "loose")


@pytest.fixture
def moving(sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path) -> Moving:
    source, target = sqlite_db("source"), sqlite_db("target")
    target.path.touch()
    request = MoveRequest("sqlite", source.url, target.url)
    return Moving(source, target, spark, tmp_path, request)  # type: ignore[arg-type]


def exact(database: Any, table: str) -> list[str]:
    """Every value to the bit, with its class: a float is written with all its digits, and 1 is not 1.0."""
    return sorted(map(repr, database.rows(f"SELECT * FROM {table}")))


def assert_equal(moving: Moving) -> None:
    for table in TABLES:
        assert exact(moving.source, table) == exact(moving.target, table), table


def names(database: Any) -> list[tuple[Any, ...]]:
    return database.rows("SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE 'sqlite_auto%' ORDER BY 2")


def compared(moving: Moving) -> list[str]:
    """The tables that a verification and its preflight see."""
    request = VerifyRequest(moving.source.url, moving.target.url)
    with (
        closing(open_endpoint(parse_url(moving.source.url))) as source,
        closing(open_endpoint(parse_url(moving.target.url))) as target,
    ):
        planned = [str(each.pair.source or each.pair.target) for each in plan_tables(source, target, request)]
        forecasts = look_ahead(source, target, request)[1]
        assert [forecast.source_table or forecast.target_table for forecast in forecasts] == planned
    return [name.removeprefix("main.") for name in planned]


def fill(database: Any, rows: int) -> None:
    database.executemany("INSERT INTO parent (id, u, n) VALUES (?, ?, 7)", [(n - 20, f"u{n}") for n in range(rows)])
    database.executemany("""INSERT INTO "odd 'name" VALUES (?, ?, ?)""", [(f"k{n}", n % 3, n) for n in range(rows)])
    database.executemany("INSERT INTO named VALUES (?, ?)", [(f"n\t{n}\\N", None) for n in range(rows)])
    values = [None, 1, 1.0, -0.0, 0.1 + 0.2, "1", "", b"1", b"", float("inf"), "a\0\t\n\\\r", 1 << 62]
    database.executemany("INSERT INTO loose VALUES (?, ?, ?)", [(v, n % 3, v) for n in range(4) for v in values])
    database.execute("INSERT INTO loose VALUES (CAST(X'ff' AS TEXT), 0, CAST(X'61ff' AS TEXT))")


def writer(database: Any, count: list[int]) -> Callable[[Event], None]:
    """Changes of every sort, in transactions of several tables."""

    def work(done: Event) -> None:
        chance = Random(3)
        with database.connect() as connection:
            connection.execute("PRAGMA busy_timeout = 60000")
            while not done.wait(0.002):
                count.append(1)
                write(connection, chance, 10_000 + len(count))

    return work


def write(connection: sqlite3.Connection, chance: Random, number: int) -> None:
    some, other = chance.randrange(400) - 20, chance.randrange(400)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("REPLACE INTO parent (id, u, n) VALUES (?, ?, ?)", [some, f"u{other}", other + 1])
    connection.execute("UPDATE OR REPLACE parent SET id = id + 10000 WHERE id = ?", [other])
    connection.execute("""UPDATE OR REPLACE "odd 'name" SET "a b" = upper("a b"), e = e + 1 WHERE e = ?""", [some])
    connection.execute("INSERT INTO named VALUES (?, ?) ON CONFLICT DO UPDATE SET v = 2", [f"n\t{other}\\N", 0.5])
    connection.execute("DELETE FROM named WHERE name = ?", [f"n\t{some}\\N"])
    connection.execute("INSERT INTO loose VALUES (?, ?, ?)", [chance.choice([1, 1.0, "1", None]), number, b"new"])
    connection.execute("UPDATE loose SET a = CAST(a AS REAL), c = a WHERE rowid = ?", [chance.randrange(100)])
    connection.execute("DELETE FROM loose WHERE rowid = ?", [chance.randrange(100)])
    connection.execute("COMMIT")


def test_copied_and_followed_while_it_is_written_to(moving: Moving) -> None:
    moving.source.execute(STRUCTURE)
    fill(moving.source, 400)
    before = names(moving.source)
    asked = moving.asking(chunk_rows=100)
    count: list[int] = []
    with in_background(writer(moving.source, count)):
        copied = asked.run()
    followed = asked.run()
    # The writer may have taken rows away before the table was cut.
    assert max(table["chunks"] for table in copied["tables"]) > 1
    assert copied["changes"] + followed["changes"] > len(count) > 10
    assert remarks_of(copied) + remarks_of(followed) == []
    assert_equal(moving)
    assert compared(moving) == ["loose", "named", "odd 'name", "parent"], "a mover's own tables are left out"
    numbered = "SELECT seq FROM sqlite_sequence WHERE name = 'parent'"
    assert moving.target.rows(numbered) >= moving.source.rows(numbered), "a number would be given out again"
    moving.drop()
    assert names(moving.source) == before
    made = {name for _, name, _ in names(moving.target)}
    assert {name for _, name, _ in before} <= made
    assert not {name for name in made if name.startswith("tieout")}
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        moving.target.execute("INSERT INTO parent (u) SELECT u FROM parent WHERE u IS NOT NULL LIMIT 1")


@pytest.fixture
def mover(moving: Moving) -> Iterator[Mover]:
    request = moving.request
    asked = {
        "task": request.task,
        "source": request.source,
        "target": request.target,
        "meta": moving.meta,
        "tables": [],
        "delivery": "exactly-once",
        "options": {"chunk_rows": 100},
    }
    yield Mover(moving.spark, moving.directory, asked)
    # As after other movers that were killed: their sources have to be ours again.
    executor_work._REGISTERED.clear()
    Path(os.environ["TIEOUT_FAILPOINT"]).unlink(missing_ok=True)


@pytest.mark.parametrize(("place", "times"), [("chunk-before-commit", 3), later("after-merge", 1)])
def test_killed_and_resumed(moving: Moving, mover: Mover, place: str, times: int) -> None:
    """Exactly once, without a key too."""
    moving.source.execute(STRUCTURE)
    fill(moving.source, 400)
    with in_background(writer(moving.source, [])):
        killed = mover.run((place, times))
        assert killed.killed, killed.words
    executor_work._REGISTERED.clear()
    Path(os.environ["TIEOUT_FAILPOINT"]).unlink()
    moving.asking(chunk_rows=100).run()
    assert_equal(moving)


def test_no_part_of_a_transaction_is_seen(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, n INT); CREATE TABLE b (n INT)")
    moving.source.executemany("INSERT INTO a VALUES (?, 100)", [(n,) for n in range(50)])
    moving.source.execute("INSERT INTO b VALUES (0)")
    asked = moving.asking(chunk_rows=10)
    asked.run()
    seen: list[Any] = []

    def transfer(done: Event) -> None:
        with moving.source.connect() as connection:
            while not done.wait(0.001):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("UPDATE a SET n = n - 1 WHERE id = ?", [len(seen) % 50])
                connection.execute("UPDATE b SET n = n + 1")
                connection.execute("COMMIT")

    def look(done: Event) -> None:
        with moving.target.connect() as connection:
            while not done.wait(0.001):
                seen.append(connection.execute("SELECT (SELECT SUM(n) FROM a) + (SELECT SUM(n) FROM b)").fetchone()[0])

    with in_background(transfer), in_background(look):
        for _ in range(3):
            asked.run()
    assert set(seen) == {5000}
    assert moving.target.rows("SELECT n FROM b")[0][0] > 10, "nothing was followed"


def test_columns_that_come_and_a_table_that_goes(moving: Moving) -> None:
    moving.source.execute(
        "CREATE TABLE one (id INTEGER PRIMARY KEY, a INT); INSERT INTO one VALUES (1, 1), (2, 2), (3, 3)"
    )
    moving.source.execute("CREATE TABLE two (id INTEGER PRIMARY KEY, a INT); INSERT INTO two VALUES (1, 1)")
    asked = moving.asking("one", "two")
    asked.run()
    moving.source.execute("UPDATE one SET a = 5 WHERE id = 1; ALTER TABLE one ADD COLUMN b TEXT DEFAULT 'x'")
    moving.source.execute("UPDATE one SET b = 'y' WHERE id = 2; INSERT INTO one VALUES (9, 4, NULL)")
    moving.source.execute("ALTER TABLE two RENAME COLUMN a TO other; UPDATE two SET other = 9")
    status = asked.run()
    stopped = {table["source"]: table["stopped"] for table in status["tables"]}
    assert stopped["main.one"] is None
    assert "main.two no longer has a column a" in stopped["main.two"]
    assert moving.rows("one")[0] == moving.rows("one")[1]
    moving.source.execute("UPDATE one SET b = 'z' WHERE id = 3")
    again = asked.run()
    assert again["state"] == "stopped in part"
    assert {table["source"]: table["stopped"] for table in again["tables"]} == stopped, "it stays stopped, and told of"
    assert moving.rows("one")[0] == moving.rows("one")[1]


def test_what_is_not_moved(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
    moving.target.execute("CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TABLE log (n)")
    moving.target.execute("CREATE TRIGGER noted AFTER INSERT ON t BEGIN INSERT INTO log VALUES (NEW.id); END")
    with pytest.raises(UnsupportedError, match="has a trigger in the target, noted"):
        moving.asking("t").run()
    assert moving.target.rows("SELECT * FROM t") == []


def test_sqlite_is_moved_to_sqlite_alone(moving: Moving, pg_db: Any) -> None:
    moving.source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    for source, target in ((moving.source.url, pg_db.url), (pg_db.url, moving.target.url)):
        with pytest.raises(UnsupportedError, match="move sqlite to sqlite"):
            replace(moving, request=MoveRequest("strange", source, target)).run()


def test_no_task_has_the_name_of_tables_that_join_another(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    joining = replace(moving, request=replace(moving.request, task="shop+joining"))
    with pytest.raises(UsageError, match="give it another name"):
        joining.run()
    assert moving.target.rows("SELECT name FROM sqlite_master") == []


def test_a_row_that_the_target_lacks_is_kept_with_its_key(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE t (k BLOB PRIMARY KEY, v INT); INSERT INTO t VALUES (x'00ff', 1), (x'01', 1)")
    asked = moving.asking("t")
    asked.run()
    moving.target.execute("DELETE FROM t WHERE k = x'00ff'")
    moving.source.execute("UPDATE t SET v = 2")
    expected = [("main.t", "update", {"k": "0x00ff"}, 1)]
    for _ in ("when it happens", "and in the next run"):
        found = asked.run()["not_found"]
        assert [(row["table"], row["kind"], row["key"], row["rows"]) for row in found] == expected
    assert moving.target.rows("SELECT hex(k), v FROM t ORDER BY k") == [("00FF", 2), ("01", 2)]


def test_keys_that_only_the_target_considers_equal(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE t (k TEXT PRIMARY KEY, v INT); INSERT INTO t VALUES ('a', 1)")
    moving.target.execute("CREATE TABLE t (k TEXT COLLATE NOCASE PRIMARY KEY, v INT)")
    asked = moving.asking("t")
    asked.run()
    moving.source.execute("INSERT INTO t VALUES ('A', 2); DELETE FROM t WHERE k = 'A'")
    asked.run()
    assert moving.target.rows("SELECT k, v FROM t") == [("a", 1)]
    moving.source.execute("UPDATE t SET k = 'A'")
    asked.run()
    assert moving.target.rows("SELECT k, v FROM t") == [("A", 1)]
