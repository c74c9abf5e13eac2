"""Rows of SQLite that break what their tables declare: each by its name and key, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import sqlite
from tests.integration.checking.checks import Checking, all_constraints_of, asked_of
from tieout.checks.constraints import ConstraintChecks
from tieout.checks.indexes.compare import CheckOptions
from tieout.config.urls import parse_url
from tieout.connectors.protocols.paths import NotCheckable, OnlyRows
from tieout.connectors.registry import open_checker
from tieout.model.constraints import Enforcement
from tieout.model.failures import CheckVerdict, Status
from tieout.model.tables import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.sqlite import SqliteDatabase
    from tieout.connectors.protocols.check import Checker

TABLES = """
CREATE TABLE customers (country TEXT COLLATE NOCASE, number INT, name TEXT, PRIMARY KEY (country, number));
CREATE TABLE "Order" (
  id INTEGER PRIMARY KEY, sku TEXT COLLATE NOCASE NOT NULL CONSTRAINT sku_once UNIQUE, qty INT CHECK (qty > 0),
  country TEXT, number TEXT, "before it" INT REFERENCES "ORDER", note TEXT,
  CONSTRAINT few CHECK (qty < 1000 -- of what is noted
    OR note IS NULL), CONSTRAINT customer FOREIGN KEY (country, number) REFERENCES Customers (Country, NUMBER),
  UNIQUE (id, note));
CREATE UNIQUE INDEX of_few ON "Order" (qty, upper(note)) WHERE id < 100;
CREATE TABLE "select" (k TEXT, v INT, w TEXT NOT NULL, CONSTRAINT own PRIMARY KEY (k, v)) WITHOUT ROWID;
CREATE UNIQUE INDEX by_w ON "select" (w);
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 50)
INSERT INTO customers SELECT 'de', n, 'c' || n FROM s;
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 500)
INSERT INTO "Order" SELECT n, 'sku-' || n, n % 11 + 1, 'DE', n % 50 + 1, nullif(n - 1, 0), 'n' || n FROM s;
INSERT INTO "Order" VALUES (501, 'none', NULL, NULL, 7, NULL, NULL), (502, 'none too', NULL, NULL, NULL, NULL, NULL);
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 50)
INSERT INTO "select" SELECT 'k' || n, n, 'w' || n FROM s;
"""

NAMES = {
    *("Order check_1", "Order few", "Order sku_not_null", "Order primary_key", "Order sku_once", "Order of_few"),
    *("Order sqlite_autoindex_Order_2", "Order customer", "Order fk1", "customers primary_key"),
    *("select own", "select by_w", "select k_not_null", "select v_not_null", "select w_not_null"),
}


@pytest.fixture
def shop(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    database = sqlite_db("shop")
    database.execute(TABLES)
    return database


@pytest.fixture
def checking(shop: SqliteDatabase, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


@pytest.fixture
def checker(shop: SqliteDatabase) -> Iterator[Checker]:
    with closing(open_checker(parse_url(shop.url))) as checker:
        yield checker


def test_clean_tables(shop: SqliteDatabase, checking: Checking) -> None:
    report = checking.run(all_constraints_of(shop.url))
    assert [(check.name, check.reason) for check in report.checks if check.reason] == []
    assert report.verdict is CheckVerdict.CLEAN
    assert {f"{check.table.removeprefix('main.')} {check.name}" for check in report.checks} == NAMES
    by_name = {check.name: check for check in report.checks}
    customer = by_name["customer"]
    assert (customer.enforcement, customer.evidence) == (Enforcement.DISABLED, "SCAN Order, SCAN customers")
    assert (customer.rows, by_name["of_few"].rows, by_name["few"].rows) == (500, 99, 502)


def test_every_kind_at_once(shop: SqliteDatabase, checking: Checking) -> None:
    """Neither of what is twice is in an index twice, and parents are gone that an index has."""
    sqlite.violated_check(shop, "Order", "id = 110", {"qty": 0})
    sqlite.violated_check(shop, "Order", "id = 111", {"qty": 2000})
    sqlite.null_value(shop, "Order", "sku", "id = 112")
    sqlite.duplicate_without_entry(
        shop, "Order", "sqlite_autoindex_Order_1", "id = 113", {"id": 1113, "sku": "SKU-113"}
    )
    sqlite.duplicate_entry(shop, "Order", "of_few", "id = 30", {"id": 0, "sku": "zero", "note": "N30"})
    sqlite.wrong_reference(shop, "Order", "id = 114", {"number": 99})
    sqlite.wrong_reference(shop, "Order", "id = 115", {"number": None})
    sqlite.wrong_reference(shop, "Order", "id = 116", {"before it": 77777})
    sqlite.orphaned_rows(shop, "Order", "id = 300")
    sqlite.dangling_entry(shop, "customers", "sqlite_autoindex_customers_1", "number = 42")
    shop.execute("""UPDATE "Order" SET country = NULL WHERE number = '42' AND id <> 441""")
    sqlite.missing_entry(shop, "customers", "sqlite_autoindex_customers_1", "number = 43")
    sqlite.duplicate_without_entry(shop, "select", "by_w", "v = 7", {"v": 8})
    sqlite.null_value(shop, "select", "w", "v = 9")
    names = "check_1, few, sku_not_null, sku_once, of_few, customer, fk1, primary_key, by_w, own, w_not_null"
    report = checking.run(f'CHECK TABLE "Order", customers, "select" CONSTRAINT {names}')
    found = sorted((each.kind.value, each.constraint, *(each.primary_key or {}).values()) for each in report.failures)
    assert found == [
        ("check_violation", "check_1", "110"),
        ("check_violation", "few", "111"),
        ("foreign_key_violation", "customer", "114"),
        ("foreign_key_violation", "customer", "441"),
        ("foreign_key_violation", "fk1", "116"),
        ("foreign_key_violation", "fk1", "301"),
        ("not_null_violation", "sku_not_null", "112"),
        ("not_null_violation", "w_not_null", "k9", "9"),
        ("unique_violation", "by_w", "k7", "7"),
        ("unique_violation", "by_w", "k7", "8"),
        ("unique_violation", "of_few", "0"),
        ("unique_violation", "of_few", "30"),
        ("unique_violation", "sku_once", "1113"),
        ("unique_violation", "sku_once", "113"),
    ]
    details = {(each.constraint, *(each.primary_key or {}).values()): each.details for each in report.failures}
    assert details["of_few", "0"] == {"qty": "9", "upper(note)": "N30", "same_as": "id=30"}
    assert details["by_w", "k7", "8"] == {"w": "w7", "same_as": "k=k7, v=7"}
    assert details["fk1", "116"] == {"before it": "77777", "refers_to": "main.Order (id)"}


def test_only_some_rows(shop: SqliteDatabase, spark: SparkSession, checker: Checker) -> None:
    sqlite.violated_check(shop, "Order", "id IN (110, 111)", {"qty": 0})
    sqlite.duplicate_entry(shop, "Order", "of_few", "id = 30", {"id": 0, "sku": "zero", "note": "N30"})
    sqlite.duplicate_entry(shop, "Order", "of_few", "id = 40", {"id": -1, "sku": "minus", "note": "N40"})
    sqlite.wrong_reference(shop, "Order", "id IN (120, 121)", {"number": 99})
    sqlite.orphaned_rows(shop, "Order", "id IN (300, 310)")
    only = OnlyRows((("110",), ("120",), ("0",)), {"fk1": (("300",),)})
    assert asked_of(checker, spark, "Order", only) == [
        ("check_1", "110"),
        ("customer", "120"),
        ("fk1", "301"),
        ("of_few", "0"),
        ("of_few", "30"),
    ]


def test_rows_that_can_not_be_found_are_not_passed_for_right(checker: Checker) -> None:
    (table,) = checker.describe([TableName("main", "select")])
    (own,) = (each for each in checker.constraints(table) if each.name == "own")
    assert checker.violations([own], OnlyRows((("k1", "1"),))) == NotCheckable(
        "single rows of main.select can't be found by k, v: check all of them"
    )


def test_a_row_that_is_repaired_between_two_looks(shop: SqliteDatabase, spark: SparkSession, checker: Checker) -> None:
    sqlite.violated_check(shop, "Order", "id = 110", {"qty": 0})
    sqlite.violated_check(shop, "Order", "id = 111", {"qty": 2000})
    waited: list[float] = []

    def rest(seconds: float) -> None:
        waited.append(seconds)
        shop.execute('UPDATE "Order" SET qty = 1 WHERE id = 110')

    (table,) = checker.describe([TableName("main", "Order")])
    checks = ConstraintChecks(spark, checker, CheckOptions(recheck_after=2.5), rest)
    checked = list(checks.run([each for each in checker.constraints(table) if each.name in ("check_1", "few")]))
    assert [(each.result.status, len(each.failures)) for each in checked] == [(Status.OK, 0), (Status.FAILURES, 1)]
    assert waited == [2.5]


def test_columns_called_true_and_false(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path
) -> None:
    """SQLite takes the keyword for the column, whose values then decide which rows violate a constraint."""
    database = sqlite_db("booleans")
    database.execute(
        'CREATE TABLE t ("false" INTEGER PRIMARY KEY, "true" INT, n INT CONSTRAINT few CHECK (n < 10));'
        'CREATE UNIQUE INDEX some ON t (n) WHERE "false" < 100;'
        "INSERT INTO t VALUES (1, 5, 1), (2, 5, 2);"
        "PRAGMA ignore_check_constraints = 1; INSERT INTO t VALUES (7, 5, 70);"
    )
    report = Checking(database.url, spark, tmp_path).run("CHECK TABLE t")
    assert [(each.constraint, each.primary_key) for each in report.failures] == [("few", {"false": "7"})]
