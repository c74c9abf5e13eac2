"""Indexes of SQLite files that really disagree with their table: each fault by its name and key, and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import sqlite
from tests.integration.checking.checks import Checking
from tieout.checks.indexes import checks, compare
from tieout.checks.indexes.digest_stage import IndexDigests
from tieout.checks.indexes.work import ScanIndex, ScanTable, TogetherAtOnce
from tieout.model.failures import CheckVerdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.sqlite import SqliteDatabase

TABLE = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, sku TEXT, qty REAL, UNIQUE (id, qty));
CREATE INDEX by_sku ON orders (sku);
CREATE INDEX few ON orders (qty DESC, sku COLLATE NOCASE) WHERE qty < 5 AND sku IS NOT NULL;
CREATE TABLE pairs (a TEXT, b INTEGER, c BLOB, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE INDEX by_c ON pairs (c)"""
LOWERED = "CREATE INDEX lowered ON orders (lower(sku) || ',' DESC, qty)"


@pytest.fixture(params=["where it is", "in a copy"])
def shop(request: pytest.FixtureRequest, sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    """With an index on an expression, all of the table is read in a copy."""
    database = sqlite_db("shop")
    database.execute(TABLE)
    if request.param == "in a copy":
        database.execute(LOWERED)
    rows = [(n, None if n % 7 == 0 else f"Sku-{n % 97}", n % 11 + (0.5 if n % 2 else 0)) for n in range(1, 1001)]
    database.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    pairs = [(f"a{n % 9}", n, None if n % 5 == 0 else bytes([n % 256])) for n in range(300)]
    database.executemany("INSERT INTO pairs VALUES (?, ?, ?)", pairs)
    return database


@pytest.fixture
def checking(shop: SqliteDatabase, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


def test_a_clean_file(shop: SqliteDatabase, checking: Checking) -> None:
    shop.execute("UPDATE orders SET sku = 'x' WHERE id % 3 = 0")
    shop.execute("DELETE FROM orders WHERE id % 10 = 1")
    report = checking.run("INSPECT DATABASE shop")
    assert report.failures == ()
    assert report.verdict is CheckVerdict.CLEAN
    names = {check.name for check in report.checks} - {"lowered"}
    assert names == {"by_sku", "few", "sqlite_autoindex_orders_1", "by_c"}


def test_faults_of_every_kind(shop: SqliteDatabase, checking: Checking) -> None:
    sqlite.missing_entry(shop, "orders", "by_sku", "id = 100")
    sqlite.dangling_entry(shop, "orders", "by_sku", "id = 200")
    sqlite.stale_entry(shop, "orders", "by_sku", "id = 300", {"sku": None})
    sqlite.wrong_row_entry(shop, "orders", "by_sku", "id = 400", {"sku": "other"})
    found = {
        (kind, key["id"] if key else None) for kind, index, key in checking.found("CHECK TABLE orders INDEX by_sku")
    }
    assert found == {
        ("missing_index_entry", "100"),
        ("dangling_index_entry", "200"),
        ("stale_index_entry", "300"),
        ("wrong_row_reference", "400"),
    }


def test_a_table_without_rowid_and_a_partial_index(shop: SqliteDatabase, checking: Checking) -> None:
    sqlite.missing_entry(shop, "pairs", "by_c", "a = 'a3' AND b = 3")
    sqlite.stale_entry(shop, "orders", "few", "id = 13", {"qty": 100.0})
    assert sorted(checking.found("INSPECT DATABASE shop")) == [
        ("missing_index_entry", "by_c", {"a": "a3", "b": "3"}),
        ("stale_index_entry", "few", {"id": "13"}),
    ]


def test_a_dangling_entry_names_the_key_where_it_holds_one(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path
) -> None:
    """Without a rowid it holds the key; else the rowid, which is not the key unless that is an INTEGER PRIMARY KEY. A
    key of days is held as it was written, which is not how keys are told."""
    keys = {
        "numbered": ("id INTEGER PRIMARY KEY, v", "({n}, {v})", {"id": "7"}),
        "named": ("id TEXT PRIMARY KEY, v", "('{n}', {v})", None),
        "counted": ("id INT PRIMARY KEY, v", "({n}, {v})", None),
        "pairs": ("a INTEGER, b TEXT, v, PRIMARY KEY (b, a)", "({n}, 'b, {n}', {v})", {"b": "b, 7", "a": "7"}),
        "days": ("id INTEGER, d DATE, v, PRIMARY KEY (id, d)", "({n}, '2026-11-{n:02}', {v})", None),
    }
    database = sqlite_db("shop")
    for name, (columns, row, _) in keys.items():
        ending = "WITHOUT ROWID" if name in ("pairs", "days") else ""
        rows = ", ".join(row.format(n=n, v=10 * n) for n in range(1, 21))
        database.execute(f"""
            CREATE TABLE {name} ({columns}) {ending};
            CREATE INDEX {name}_v ON {name} (v);
            INSERT INTO {name} VALUES {rows}""")
    for name in keys:
        sqlite.dangling_entry(database, name, f"{name}_v", "v = 70")
    failures = Checking(database.url, spark, tmp_path).run("INSPECT DATABASE shop").failures
    assert {each.kind.value for each in failures} == {"dangling_index_entry"}
    assert {each.table: each.primary_key for each in failures} == {
        f"main.{name}": key for name, (_, _, key) in keys.items()
    }


def test_an_expression(sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path) -> None:
    database = sqlite_db("shop")
    database.execute(f"{TABLE}; {LOWERED}")
    database.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(n, f"S{n}", n) for n in range(100)])
    sqlite.stale_entry(database, "orders", "lowered", "id = 7", {"sku": "T7"})
    (failure,) = Checking(database.url, spark, tmp_path).run("INSPECT TABLE orders").failures
    assert (failure.kind.value, failure.index, failure.primary_key) == ("stale_index_entry", "lowered", {"id": "7"})
    assert failure.details["row.lower(sku) || ','"] == "t7,"
    assert failure.details["entry.lower(sku) || ','"] == "s7,"


def test_entries_in_another_order(shop: SqliteDatabase, checking: Checking) -> None:
    """Values of all sorts in a column of any type, and texts that differ in case alone, are in order before."""
    shop.execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, v, s TEXT)")
    values = [None, 1, -2.5, "1", "b", "B", b"\x00", b"b", 2**60, ""]
    rows = [(n, values[n % 10], f"{'aA'[n % 2]}{n % 3}") for n in range(60)]
    shop.executemany("INSERT INTO odd VALUES (?, ?, ?)", rows)
    shop.execute(
        "CREATE INDEX mixed ON odd (v DESC, s COLLATE NOCASE); CREATE INDEX texts ON odd (s COLLATE NOCASE, id)"
    )
    report = checking.run("INSPECT TABLE odd")
    assert report.verdict is CheckVerdict.CLEAN
    assert {(check.evidence or "").count("order") for check in report.checks} == {0}
    sqlite.redeclared(shop, "texts", "s COLLATE NOCASE", "s")
    sqlite.redeclared(shop, "few", "qty DESC", "qty")
    found = checking.run("INSPECT DATABASE shop").failures
    assert {(each.kind.value, each.index) for each in found} == {("index_order", "texts"), ("index_order", "few")}
    pairs = {(each.details["first.s"], each.details["second.s"]) for each in found if each.index == "texts"}
    assert pairs == {("a0", "A0"), ("a1", "A1"), ("a2", "A2")}
    ordered = {(each.details["first.qty"], each.details["second.qty"]) for each in found if each.index == "few"}
    assert ("4.5", "4") not in ordered
    assert {float(str(a)) - float(str(b)) > 0 for a, b in ordered} == {True}


@pytest.mark.thorough
def test_names_that_are_words_and_rows_without_a_key(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path
) -> None:
    """NULLs in some columns, both directions, days before 1970, and of two identical indexes the one that is wrong."""
    database = sqlite_db("db")
    database.execute("""CREATE TABLE "Order" ("Select" INT, "when" TEXT, "De""sc" TEXT);
        CREATE INDEX "Group" ON "Order" ("when" DESC, "Select");
        CREATE INDEX "group Too" ON "Order" ("when" DESC, "Select")""")
    rows = [(n, None if n % 3 == 0 else f"19{n:02}-02-03", None if n % 2 else "x") for n in range(90)]
    database.executemany('INSERT INTO "Order" VALUES (?, ?, ?)', rows)
    checking = Checking(database.url, spark, tmp_path)
    assert checking.run('INSPECT TABLE "Order"').verdict is CheckVerdict.CLEAN
    sqlite.missing_entry(database, "Order", "group Too", '"Select" = 61')
    (failure,) = checking.run('INSPECT TABLE "Order"').failures
    assert (failure.kind.value, failure.index, failure.place) == ("missing_index_entry", "group Too", "62")
    assert failure.details == {"row.when": "1961-02-03", "row.Select": "61"}


def test_spellings_of_one_value_are_two_keys(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path
) -> None:
    database = sqlite_db("spelt")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, j JSON)")
    database.execute("CREATE INDEX by_d ON t (d); CREATE INDEX by_j ON t (j)")
    database.executemany("INSERT INTO t VALUES (?, '2020-01-01', '{\"a\":1,\"b\":2}')", [(n,) for n in range(1, 9)])
    sqlite.stale_entry(database, "t", "by_d", "id = 4", {"d": "2020-01-01 00:00:00"})
    sqlite.stale_entry(database, "t", "by_j", "id = 5", {"j": '{"b":2,"a":1}'})
    found = Checking(database.url, spark, tmp_path).found("INSPECT TABLE t")
    assert found == [("stale_index_entry", "by_d", {"id": "4"}), ("stale_index_entry", "by_j", {"id": "5"})]


def test_an_index_with_many_faults_does_not_hide_one_of_another(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = sqlite_db("many")
    database.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b); CREATE INDEX by_a ON t (a + 1); CREATE INDEX by_b ON t (b)"
    )
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(n, n, n) for n in range(1, 101)])
    sqlite.redeclared(database, "by_a", "a + 1", "a + 2")
    sqlite.missing_entry(database, "t", "by_b", "id = 77")
    for module in (compare, compare, checks):
        monkeypatch.setattr(module, "MOST", 10)
    report = Checking(database.url, spark, tmp_path).run("INSPECT TABLE t")
    assert {(check.name, check.failures) for check in report.checks} == {("by_a", 10), ("by_b", 1)}
    assert [check.reason for check in report.checks if check.reason] == [
        "listed the first 10 failures: there may be more"
    ]


def test_a_value_that_goes_to_and_fro_while_it_is_checked(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table and index are read at two moments, and are wrong in the same way each time: a look at one moment tells."""
    database = sqlite_db("flag")
    database.execute(
        "PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, flag INT); CREATE INDEX by_flag ON t (flag)"
    )
    database.executemany("INSERT INTO t VALUES (?, 0)", [(n,) for n in range(1, 31)])
    find = compare.find_mismatches

    def between(spark: SparkSession, tasks: Any) -> Any:
        """The sides one after the other, with a change in between, unless they are looked at together."""
        if any(isinstance(piece, TogetherAtOnce) for task in tasks for piece in task):
            return find(spark, tasks)
        flat = [piece for task in tasks for piece in task]
        rows = [piece for piece in flat if isinstance(piece, ScanTable)]
        entries = [piece for piece in flat if isinstance(piece, ScanIndex)]
        return find(spark, [[*rows, Turn(str(database.path)), *entries, Turn(str(database.path))]])

    monkeypatch.setattr(compare, "find_mismatches", between)
    monkeypatch.setattr(IndexDigests, "differing", lambda self: frozenset(range(64)))
    report = Checking(database.url, spark, tmp_path).run("INSPECT TABLE t")
    assert report.failures == ()
    assert report.verdict is CheckVerdict.CLEAN


@dataclass(frozen=True)
class Turn:
    """Turns every flag."""

    path: str

    def run(self) -> Iterator[Any]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("UPDATE t SET flag = 1 - flag")
        return iter(())
