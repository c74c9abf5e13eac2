"""Rows of SQLite that break what their tables declare: each by its name and key, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import sqlite
from tests.integration.checking.checks import Checking
from tieout.model.constraints import Enforcement
from tieout.model.failures import CheckVerdict, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.sqlite import SqliteDatabase

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
    *("main.Order check_1", "main.Order few", "main.Order sku_not_null", "main.Order primary_key", "main.Order sku_once"),
    *("main.Order sqlite_autoindex_Order_2", "main.Order of_few", "main.Order customer", "main.Order fk1"),
    *("main.customers primary_key", "main.select own", "main.select by_w"),
    *("main.select k_not_null", "main.select v_not_null", "main.select w_not_null"),
}
CHECK = "CHECK TABLE customers, orders CONSTRAINT ALL"


@pytest.fixture
def shop(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    database = sqlite_db("shop")
    database.execute(TABLES)
    return database


@pytest.fixture
def checking(shop: SqliteDatabase, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


def constraints(report):
    return [check for check in report.checks if check.family.value == "constraint"]


def test_clean_tables(checking: Checking) -> None:
    report = checking.run("CHECK DATABASE shop")
    assert report.failures == ()
    checks = constraints(report)
    assert {f"{check.table} {check.name}": (check.status, check.reason) for check in checks} == dict.fromkeys(NAMES, (Status.OK, None))
    by_name = {check.name: check for check in checks}
    for c in checks: print(c)
    assert by_name["customer"].enforcement is Enforcement.DISABLED
    assert by_name["customer"].evidence == "SCAN c, SCAN p"


def test_every_kind_at_once(shop: SqliteDatabase, checking: Checking) -> None:
    sqlite.violated_check(shop, "Order", "id = 10", {"qty": 0})
    sqlite.violated_check(shop, "Order", "id = 11", {"qty": 2000})
    sqlite.null_value(shop, "Order", "sku", "id = 12")
    sqlite.duplicate_without_entry(shop, "Order", "sqlite_autoindex_Order_1", "id = 13", {"id": 1013, "sku": "SKU-13"})
    sqlite.duplicate_entry(shop, "Order", "of_few", "id = 20", {"id": 21, "sku": "x", "note": "N20"}) if 0 else None
    sqlite.wrong_reference(shop, "Order", "id = 14", {"number": 99})
    sqlite.wrong_reference(shop, "Order", "id = 16", {"before it": 77777})
    sqlite.orphaned_rows(shop, "Order", "id = 300")
    sqlite.duplicate_without_entry(shop, "select", "by_w", "v = 7", {"v": 8})
    sqlite.null_value(shop, "select", "w", "v = 9")
    found = checking.broken("CHECK DATABASE shop")
    for each in found: print(each)
    assert 0
