"""What triggers tell of an SQLite table: played back, it is what the table came to, whatever was done to it."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.log_items import only_told
from tests.servers.sqlite import SqliteDatabase
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_endpoint, open_source
from tieout.connectors.sqlite.capture.log import SQLiteLog, real
from tieout.connectors.sqlite.capture.log_tables import position
from tieout.errors import LogLostError
from tieout.model.row_changes import Begin, ChangeKind, Commit, Rows
from tieout.model.tables import TableName

TASK = "captured"


@pytest.fixture
def db(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    return sqlite_db("source")


def begin(db: SqliteDatabase, *tables: str, task: str = TASK) -> SQLiteLog:
    source = open_source(parse_url(db.url))
    source.begin_log(task, [TableName("main", table) for table in tables])
    log = source.log(task)
    assert isinstance(log, SQLiteLog)
    return log


def told(log: SQLiteLog, *tables: str, after: int = 0) -> list[Rows]:
    """The changes of tables, in order; how they come is checked on the way."""
    ends = [position(after)]
    while found := log.ends(ends[-1], 1, 1):
        ends += found
    assert ends[-1] == log.now()
    wanted = frozenset(TableName("main", table) for table in tables)
    changes: list[Rows] = []
    for start, end in pairwise(ends):
        items = only_told(log.read(start, end, wanted))
        rows = [item for item in items if isinstance(item, Rows)]
        if not rows:
            assert items == []
            continue
        begins = [item for item in items if isinstance(item, Begin)]
        assert [begin.position.place for begin in begins] == sorted({begin.position.place for begin in begins})
        assert all(start.place <= begin.position.place < end.place for begin in begins)
        (commit,) = (item for item in items if isinstance(item, Commit))
        assert commit == items[-1]
        assert commit.position == end
        changes += rows
    return changes


class Played:
    """A table as its changes leave it: a multiset of rows."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.rows = Counter(exact(row) for row in rows)

    def play(self, changes: list[Rows]) -> Played:
        for change in changes:
            if change.kind is not ChangeKind.INSERT:
                for row in change.before or change.rows:
                    assert row is not None
                    assert self.rows[row] > 0, f"{row} goes, and was not there"
                    self.rows[row] -= 1
            if change.kind is not ChangeKind.DELETE:
                self.rows.update(change.rows)
        self.rows = +self.rows
        return self


def exact(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(real, row))


def contents(db: SqliteDatabase, table: str) -> Counter[tuple[Any, ...]]:
    return Counter(exact(row) for row in db.rows(f"SELECT * FROM {table}"))


TABLES = {
    "alias": "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, u TEXT UNIQUE, v, w INT, UNIQUE (v, w))",
    "folded": "CREATE TABLE t (id TEXT PRIMARY KEY COLLATE NOCASE, a INT, u TEXT UNIQUE COLLATE NOCASE, v, w REAL)",
    "without rowid": "CREATE TABLE t (id TEXT COLLATE NOCASE, a INT, u, v, w REAL, PRIMARY KEY (id, a)) WITHOUT ROWID",
    "no key": "CREATE TABLE t (id, a INT, u TEXT UNIQUE, v, w)",
    "nothing unique": "CREATE TABLE t (id, a INT, u TEXT, v, w)",
    "late index": "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, u, v, w); "
    "CREATE UNIQUE INDEX part ON t (v COLLATE NOCASE) WHERE a > 3",
}


@pytest.mark.parametrize("recursive", [False, True], ids=["", "recursive"])
@pytest.mark.parametrize("table", TABLES)
def test_whatever_is_done_is_told(db: SqliteDatabase, table: str, recursive: bool) -> None:
    """Also what REPLACE takes away without a word, under every sort of conflict."""
    chance = random.Random(f"{table} {recursive}")
    db.execute(TABLES[table])
    with db.connect() as connection:
        connection.execute(f"PRAGMA recursive_triggers = {recursive:d}")
        connection.execute("PRAGMA synchronous = OFF")
        for _ in range(30):
            change(connection, chance)
        before = Played(db.rows("SELECT * FROM t"))
        log = begin(db, "t")
        for _ in range(400):
            change(connection, chance)
    assert before.play(told(log, "t")).rows == contents(db, "t")


def change(connection: sqlite3.Connection, chance: random.Random) -> None:
    """A statement of any sort; those that the table does not take leave it as it was."""
    values = {
        "id": chance.choice([1, 2, 3, 4, 5, "a", "A", "b"]),
        "a": chance.randrange(6),
        "u": chance.choice([None, "x", "X", "y", 7]),
        "v": chance.choice([None, 1, 1.0, "1", b"1", 2.5, "k", "K"]),
        "w": chance.choice([None, 0, 1, 0.5]),
    }
    some = chance.sample(sorted(values), chance.randint(1, 3))
    how = chance.choice(["", "", "OR REPLACE", "OR REPLACE", "OR IGNORE", "OR FAIL"])
    where = chance.choice(["a = :a", "id = :id", "u IS :u", "rowid % 3 = 0" if chance.random() < 0.5 else "a > 3", "1"])
    sets = ", ".join(f"{name} = {'id || 1' if name == 'id' and chance.random() < 0.1 else ':' + name}" for name in some)
    statement = chance.choice(
        [
            f"INSERT {how} INTO t VALUES (:id, :a, :u, :v, :w)",
            f"INSERT {how} INTO t VALUES (:id, :a, :u, :v, :w), (:id, :a + 1, :v, :u, :w)",
            f"INSERT {how} INTO t (a, u, v) VALUES (:a, :u, :v)",
            "INSERT INTO t VALUES (:id, :a, :u, :v, :w) ON CONFLICT DO UPDATE SET a = a + 1",
            "INSERT INTO t VALUES (:id, :a, :u, :v, :w) ON CONFLICT DO NOTHING",
            f"INSERT {how} INTO t SELECT id, a + 1, v, u, w FROM t LIMIT 2",
            f"UPDATE {how} t SET {sets} WHERE {where}",
            f"UPDATE {how} t SET {sets} WHERE {where}",
            f"DELETE FROM t WHERE {where} AND a <> 2",
        ]
    )
    with suppress(sqlite3.Error):
        connection.execute(statement, values)


def test_every_value_is_told_as_it_is(db: SqliteDatabase) -> None:
    values = [
        None,
        0,
        -(1 << 63),
        (1 << 63) - 1,
        0.1,
        -0.0,
        5e-324,
        float("inf"),
        "",
        "a\0b",
        "ü\U0001f600",
        b"",
        b"\0\xff",
    ]
    db.execute("CREATE TABLE t (v)")
    log = begin(db, "t")
    db.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    db.execute("INSERT INTO t VALUES (CAST(X'61ff62' AS TEXT))")
    found = [change.rows[0][0] for change in told(log, "t")]
    assert [(type(value), repr(value)) for value in found[:-1]] == [
        (type(real(value)), repr(real(value))) for value in values
    ]
    assert found[-1].encode("utf-8", "surrogateescape") == b"a\xffb"


def test_a_column_takes_what_its_affinity_makes_of_a_value(db: SqliteDatabase) -> None:
    db.execute("CREATE TABLE t (i INTEGER, r REAL, s TEXT, n NUMERIC, b BLOB, g AS (i + 1))")
    log = begin(db, "t")
    db.execute("INSERT INTO t VALUES ('5', 1, 2.50, '3.0', 4)")
    db.execute("UPDATE t SET r = '7', s = 8")
    (inserted, updated) = told(log, "t")
    assert inserted.table.columns == ("i", "r", "s", "n", "b")
    assert inserted.rows == [exact((5, 1.0, "2.5", 3, 4))]
    assert updated.before == inserted.rows
    assert updated.rows == [exact((5, 7.0, "8", 3, 4))]


def test_other_triggers_may_be_faster(db: SqliteDatabase) -> None:
    """One that is made later than ours runs before it, and tells a row's next state first."""
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 1)")
    log = begin(db, "t")
    db.execute("CREATE TRIGGER stamp AFTER INSERT ON t BEGIN UPDATE t SET a = 100 WHERE id = NEW.id; END")
    db.execute("INSERT INTO t VALUES (2, 2)")
    last = {row[0]: row for change in told(log, "t") for row in change.rows}
    assert last[2] == (2, 100)


def test_a_column_that_is_added(db: SqliteDatabase) -> None:
    """What it got before anybody looked is told once somebody does, behind a cut in the log."""
    db.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
    log = begin(db, "t")
    db.execute("UPDATE t SET a = 3 WHERE a = 1")
    db.execute("ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'as ever'; UPDATE t SET b = 'early' WHERE a = 2")
    first, *rest = log.ends(position(0), 1, 9)
    assert rest, "rows of two shapes are not read together"
    db.execute("UPDATE t SET b = 'late' WHERE a = 3")
    shapes = [change.table.columns for change in told(log, "t")]
    assert shapes == [("a",)] * 2 + [("a", "b")] * 3
    with_default = Played([(1, "as ever"), (2, "as ever")])
    changes = [widened(change) for change in told(log, "t")]
    assert with_default.play(changes).rows == contents(db, "t")
    assert first.offset == 2


def widened(change: Rows) -> Rows:
    def wide(row: Any) -> Any:
        return row if len(row) == 2 else (*row, "as ever")

    before = change.before and [wide(row) for row in change.before]
    return Rows(change.table, change.kind, [wide(row) for row in change.rows], before)


def test_a_unique_index_that_is_added(db: SqliteDatabase) -> None:
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
    log = begin(db, "t")
    db.execute("CREATE UNIQUE INDEX one ON t (a)")
    log.now()
    db.execute("INSERT INTO t VALUES (1, 7)")
    db.execute("REPLACE INTO t VALUES (2, 7)")
    assert Played([]).play(told(log, "t")).rows == contents(db, "t") == Counter([(2, 7)])


def test_a_row_that_comes_into_a_partial_index(db: SqliteDatabase) -> None:
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b INT); CREATE UNIQUE INDEX part ON t (a) WHERE b > 0")
    db.execute("INSERT INTO t VALUES (1, 7, 1), (2, 7, 0)")
    before = Played(db.rows("SELECT * FROM t"))
    log = begin(db, "t")
    db.execute("UPDATE OR REPLACE t SET b = 1 WHERE id = 2")
    assert before.play(told(log, "t")).rows == contents(db, "t") == Counter([(2, 7, 1)])


@pytest.mark.parametrize("statement", ["ALTER TABLE t RENAME TO other", "DROP TABLE t"])
def test_a_table_that_goes_has_no_columns_any_more(db: SqliteDatabase, statement: str) -> None:
    db.execute("CREATE TABLE t (a INT); CREATE TABLE u (a INT)")
    log = begin(db, "t", "u")
    db.execute(statement)
    db.execute("INSERT INTO u VALUES (1)")
    assert [(change.table.name.name, change.table.columns) for change in told(log, "t", "u")] == [
        ("u", ("a",)),
        ("t", ()),
    ]


def test_lost_triggers_are_a_lost_log(db: SqliteDatabase) -> None:
    db.execute("CREATE TABLE t (a INT)")
    log = begin(db, "t")
    db.execute("DROP TABLE t; CREATE TABLE t (a INT)")
    with pytest.raises(LogLostError, match="lost its capture triggers"):
        log.now()


def test_what_is_confirmed_is_forgotten_when_nobody_wants_it(db: SqliteDatabase) -> None:
    db.execute("CREATE TABLE t (a INT)")
    one, two = begin(db, "t", task="one"), begin(db, "t", task="two")
    db.execute("INSERT INTO t VALUES (1), (2)")
    start, end = position(0), one.now()
    one.confirm(end)
    assert len(told(two, "t")) == 2
    with pytest.raises(LogLostError, match="were deleted"):
        list(one.read(start, end, frozenset()))
    two.confirm(end)
    assert db.rows("SELECT a FROM tieout_changes, t WHERE new0 = a") == [(2,)], "all but the last"
    db.execute("INSERT INTO t VALUES (3)")
    assert [change.rows for change in told(two, "t", after=end.offset)] == [[(3,)]], "numbers are not given out twice"


def test_the_last_task_leaves_nothing_behind(db: SqliteDatabase) -> None:
    db.execute("CREATE TABLE t (a INT); CREATE TABLE u (a INT)")
    before = db.rows("SELECT type, name, sql FROM sqlite_master")
    one = begin(db, "t", "u", task="one")
    begin(db, "t", task="two")
    source = open_source(parse_url(db.url))
    source.drop_task("two")
    db.execute("INSERT INTO t VALUES (1)")
    assert len(told(one, "t")) == 1
    source.drop_task("one")
    assert db.rows("SELECT type, name, sql FROM sqlite_master") == before
    source.drop_task("one")
    with pytest.raises(LogLostError, match="no longer captured for the task one"):
        one.now()


def test_a_reader_never_stops_inside_of_a_transaction(db: SqliteDatabase) -> None:
    db.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a INT)")
    log = begin(db, "t")
    with db.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (1)")
        assert log.now().offset == 0
        connection.execute("INSERT INTO t VALUES (2)")
        connection.execute("COMMIT")
    assert log.now().offset == 2


KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
connection.executemany("INSERT INTO t VALUES (?)", [("x" * 5000,)] * 100)
os._exit(9)
"""


def test_what_a_killed_writer_left_is_taken_back(db: SqliteDatabase) -> None:
    """Pages of its transaction are in the file, and who only reads could not even open it."""
    db.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    log = begin(db, "t")
    assert subprocess.run([sys.executable, "-c", KILLED, str(db.path)], check=False).returncode == 9
    assert Path(f"{db.path}-journal").stat().st_size > 0
    with closing(open_endpoint(parse_url(db.url))) as endpoint:
        assert TableName("main", "t") in endpoint.tables()
    assert log.now().place == position(0).place
    assert db.rows("SELECT * FROM t") == [(1,)]


REFUSED = {
    "CREATE TABLE t (id TEXT PRIMARY KEY); INSERT INTO t VALUES (NULL)": "its key id is NULL",
    "CREATE TABLE t (a TEXT); CREATE UNIQUE INDEX i ON t (lower(a))": "unique index on an expression",
    "CREATE TABLE t (rowid, _rowid_, oid)": "hide the rowid",
    "CREATE VIRTUAL TABLE t USING fts5(a)": "virtual table",
}


@pytest.mark.parametrize("statements", REFUSED)
def test_refused(db: SqliteDatabase, statements: str) -> None:
    db.execute(statements)
    with closing(open_endpoint(parse_url(db.url))) as endpoint:
        (table,) = endpoint.describe([TableName("main", "t")])
    assert REFUSED[statements] in (open_source(parse_url(db.url)).refuses(table) or "")
