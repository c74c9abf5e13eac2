"""Rows of PostgreSQL that break what their tables declare: each by its name and key, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import postgres
from tests.integration.checking.checks import Checking
from tieout.model.constraints import Enforcement
from tieout.model.failures import CheckVerdict, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TABLES = """
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE SCHEMA other;
CREATE TABLE other.customers (country text, number int, name text, PRIMARY KEY (country, number));
INSERT INTO other.customers SELECT 'de', n, 'c' || n FROM generate_series(1, 50) n;
CREATE DOMAIN percent AS numeric CHECK (value BETWEEN 0 AND 100) CHECK (value <> 13);
CREATE TABLE orders (
  id bigint PRIMARY KEY, sku text COLLATE nocase NOT NULL, qty int CHECK (qty > 0), country text, number int,
  before_it bigint REFERENCES orders DEFERRABLE INITIALLY DEFERRED, rabatt percent, note text,
  CONSTRAINT customer FOREIGN KEY (country, number) REFERENCES other.customers,
  CONSTRAINT customer_or_none FOREIGN KEY (country, number) REFERENCES other.customers MATCH FULL,
  CONSTRAINT sku_once UNIQUE (sku),
  CONSTRAINT note_once UNIQUE NULLS NOT DISTINCT (id, note),
  CONSTRAINT "Qty and" CHECK (qty < 1000 OR note IS NULL));
INSERT INTO orders SELECT n, 'sku-' || n, n % 11 + 1, 'de', n % 50 + 1, nullif(n - 1, 0), n % 13, 'n' || n
FROM generate_series(1, 500) n;
INSERT INTO orders SELECT n, 'sku-' || n, NULL, NULL, NULL, NULL, NULL, NULL FROM generate_series(501, 505) n;
CREATE UNIQUE INDEX of_few ON orders (qty, upper(note)) WHERE id < 100;
VACUUM orders"""

NAMES = {
    *("sku_not_null", "id_not_null", "orders_qty_check", "Qty and", "rabatt_percent_check", "rabatt_percent_check1"),
    *("orders_pkey", "sku_once", "note_once", "of_few", "customer", "customer_or_none", "orders_before_it_fkey"),
}


@pytest.fixture
def shop(pg_db: Database) -> Database:
    for statement in TABLES.split(";"):
        pg_db.execute(statement)
    # Whoever asks is to be answered from the rows all the same.
    pg_db.execute(f'ALTER DATABASE "{pg_db.name}" SET constraint_exclusion = on')
    pg_db.execute(f'ALTER DATABASE "{pg_db.name}" SET enable_seqscan = off')
    return pg_db


@pytest.fixture
def checking(shop: Database, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


CHECK = "EXPERIMENTAL SCRUB TABLE orders WITH OPTIONS CONSTRAINT ALL"


def test_a_clean_table(checking: Checking) -> None:
    report = checking.run(CHECK)
    assert report.failures == ()
    assert {check.name: check.status for check in report.checks} == dict.fromkeys(NAMES, Status.OK)
    assert report.verdict is CheckVerdict.CLEAN
    rows = {check.name: check.rows for check in report.checks}
    assert (rows["sku_once"], rows["customer"], rows["orders_qty_check"]) == (505, 500, 505)
    evidence = {check.name: check.evidence for check in report.checks}
    assert evidence["orders_qty_check"] == "Tid Range Scan on orders"
    assert evidence["sku_once"] == "Seq Scan on orders"
    assert evidence["customer"] == "Seq Scan on orders, Seq Scan on customers"


def test_every_kind_at_once(shop: Database, checking: Checking) -> None:
    postgres.violated_check(shop, "orders", "id = 10", {"qty": 0})
    postgres.violated_check(shop, "orders", "id = 11", {"qty": 2000})
    postgres.null_value(shop, "orders", "sku", "id = 12")
    postgres.duplicate_entry(shop, "orders", "sku_once", "id = 13", {"id": 1013, "sku": "SKU-13", "before_it": None})
    postgres.duplicate_without_entry(shop, "orders", "orders_pkey", "id = 300", {"sku": "another", "note": "other"})
    postgres.wrong_reference(shop, "orders", "id = 14", {"number": 99})
    postgres.wrong_reference(shop, "orders", "id = 15", {"number": None})
    postgres.wrong_reference(shop, "orders", "id = 16", {"before_it": 77777})
    found = {(f.kind.value, f.constraint, str(f.primary_key and dict(f.primary_key))) for f in checking.run(CHECK).failures}
    for each in sorted(found):
        print(each)
    assert 0
