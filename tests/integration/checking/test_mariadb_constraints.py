"""Rows of MariaDB that break what their tables declare: each by its name and key, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import mariadb
from tests.integration.checking.checks import Checking
from tieout.model.failures import CheckVerdict, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TABLES = r"""
CREATE TABLE customers (country VARCHAR(9), number INT, name VARCHAR(20), PRIMARY KEY (country, number));
INSERT INTO customers SELECT 'de', seq, CONCAT('c', seq) FROM seq_1_to_50;
CREATE TABLE `Order` (
  id BIGINT PRIMARY KEY, sku VARCHAR(40) NOT NULL, qty INT CHECK (qty > 0), country VARCHAR(9), number INT,
  `before it` BIGINT, doc JSON, note TEXT,
  CONSTRAINT few CHECK (qty < 1000 OR note IS NULL OR note = 'it''s \\ % "so"'),
  CONSTRAINT sku_once UNIQUE (sku), UNIQUE start_of_note (note(3), qty),
  CONSTRAINT customer FOREIGN KEY (country, number) REFERENCES customers (country, number),
  CONSTRAINT `the one before` FOREIGN KEY (`before it`) REFERENCES `Order` (id));
INSERT INTO `Order` SELECT seq, CONCAT('sku-', seq), seq % 11 + 1, 'DE', seq % 50 + 1, NULLIF(seq - 1, 0),
  CONCAT('{"n": ', seq, '}'), CONCAT(LPAD(seq, 3, '0'), 'n') FROM seq_1_to_500;
INSERT INTO `Order` VALUES (501, 'none', NULL, NULL, 7, NULL, NULL, NULL), (502, 'too', NULL, NULL, 8, NULL, NULL, NULL);
CREATE TABLE log (line INT, word VARCHAR(9) NOT NULL, UNIQUE (line)) ENGINE = Aria;
INSERT INTO log VALUES (1, 'a'), (NULL, 'b'), (NULL, 'b');
CREATE TABLE nothing (line INT CHECK (line > 0), UNIQUE (line)) ENGINE = MyISAM"""

NAMES = {
    *("Order qty", "Order doc", "Order few", "Order id_not_null", "Order sku_not_null", "Order PRIMARY"),
    *("Order sku_once", "Order start_of_note", "Order customer", "Order the one before", "log word_not_null"),
    *("customers country_not_null", "customers number_not_null", "customers PRIMARY", "log line", "nothing line"),
}


@pytest.fixture
def shop(mysql_db: Database) -> Database:
    for statement in TABLES.split(";"):
        mysql_db.execute(statement)
    return mysql_db


@pytest.fixture
def checking(shop: Database, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


def test_clean_tables(shop: Database, checking: Checking) -> None:
    report = checking.run(f"CHECK DATABASE {shop.name}")
    checks = [check for check in report.checks if check.family.value == "constraint"]
    for c in checks: print(c)
    assert report.failures == ()
    assert {f"{check.table.removeprefix(shop.name + '.')} {check.name}": (check.status, check.reason) for check in checks} == dict.fromkeys(NAMES, (Status.OK, None))
    by_name = {check.name: check for check in checks}
    assert by_name["customer"].evidence == "Order row by row, customers row by row"
    assert by_name["customer"].rows == 500


def test_every_kind_at_once(shop: Database, checking: Checking) -> None:
    mariadb.violated_check(shop, "Order", "id = 10", {"qty": 0})
    mariadb.violated_check(shop, "Order", "id = 11", {"qty": 2000})
    mariadb.invalid_json(shop, "Order", "doc", "id = 12")
    mariadb.wrong_reference(shop, "Order", "id = 14", {"number": 99})
    mariadb.wrong_reference(shop, "Order", "id = 16", {"before it": 77777})
    mariadb.orphaned_rows(shop, "Order", "id = 300")
    mariadb.duplicate_without_entry(shop, "Order", "sku_once", "id = 13", {"id": 1013, "sku": "SKU-13", "note": "abc"})
    mariadb.duplicate_entry(shop, "Order", "start_of_note", "id = 20", {"id": 1020, "sku": "x", "note": "020m"})
    found = checking.broken("EXPERIMENTAL SCRUB TABLE `Order` WITH OPTIONS CONSTRAINT ALL")
    for each in found: print(each)
    assert 0
