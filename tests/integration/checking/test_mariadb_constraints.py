"""Rows of MariaDB that break what their tables declare: each by its name and key, and nothing else."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import mariadb
from tests.integration.checking.checks import Checking, all_constraints_of, asked_of
from tieout.config.urls import parse_url
from tieout.connectors.protocols.paths import OnlyRows
from tieout.connectors.registry import open_checker
from tieout.model.constraints import Enforcement
from tieout.model.failures import CheckVerdict

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
INSERT INTO `Order` VALUES (501, 'none', NULL, NULL, 7, NULL, NULL, NULL), (502, 'x', NULL, NULL, 8, NULL, NULL, NULL);
CREATE TABLE log (line INT, word VARCHAR(9) NOT NULL, UNIQUE (line)) ENGINE = Aria;
INSERT INTO log VALUES (1, 'a'), (NULL, 'b'), (NULL, 'b');
CREATE TABLE long_ones (id INT PRIMARY KEY, word VARCHAR(700), UNIQUE of_words (word));
INSERT INTO long_ones SELECT seq, CONCAT(REPEAT('x', 650), seq * 7 % 150) FROM seq_1_to_150;
CREATE TABLE longer_ones (id INT PRIMARY KEY, text TEXT, UNIQUE of_texts (text));
INSERT INTO longer_ones SELECT seq, CONCAT(REPEAT('y', 5000), seq * 7 % 150) FROM seq_1_to_150;
CREATE TABLE nothing (line INT CHECK (line > 0), UNIQUE (line)) ENGINE = MyISAM"""

NAMES = {
    *("Order qty", "Order doc", "Order few", "Order id_not_null", "Order sku_not_null", "Order PRIMARY"),
    *("Order sku_once", "Order start_of_note", "Order customer", "Order the one before", "log word_not_null"),
    *("customers country_not_null", "customers number_not_null", "customers PRIMARY", "log line", "nothing line"),
    *("long_ones id_not_null", "long_ones PRIMARY", "long_ones of_words"),
    *("longer_ones id_not_null", "longer_ones PRIMARY", "longer_ones of_texts"),
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
    report = checking.run(all_constraints_of(shop.url))
    assert [(check.name, check.reason) for check in report.checks if check.reason] == []
    assert report.verdict is CheckVerdict.CLEAN
    assert {f"{check.table.partition('.')[2]} {check.name}" for check in report.checks} == NAMES
    assert len(report.checks) == len(NAMES) + 1  # of `nothing`, a CHECK and an index have the name of the column
    by_name = {check.name: check for check in report.checks}
    assert by_name["customer"].evidence == "Order row by row, customers row by row"
    assert (by_name["customer"].rows, by_name["few"].rows) == (500, 502)
    assert {check.enforcement for check in report.checks} == {Enforcement.ENFORCED}


def test_every_kind_at_once(shop: Database, checking: Checking) -> None:
    """Of what is twice, one unique index knows a single row, and the others have forgotten that they are unique."""
    mariadb.violated_check(shop, "Order", "id = 110", {"qty": 0})
    mariadb.violated_check(shop, "Order", "id = 111", {"qty": 2000})
    mariadb.violated_check(shop, "Order", "id = 109", {"qty": 3000, "note": 'it\'s \\ % "so"'})
    mariadb.invalid_json(shop, "Order", "doc", "id = 112")
    mariadb.wrong_reference(shop, "Order", "id = 114", {"number": 99})
    mariadb.wrong_reference(shop, "Order", "id = 115", {"number": None})
    mariadb.wrong_reference(shop, "Order", "id = 116", {"before it": 77777})
    mariadb.orphaned_rows(shop, "Order", "id = 300")
    mariadb.orphaned_rows(shop, "customers", "number = 42")
    shop.execute("UPDATE `Order` SET country = NULL WHERE number = 42 AND id <> 441")
    mariadb.duplicate_without_entry(
        shop, "Order", "sku_once", "id = 113", {"id": 1113, "sku": "SKU-113", "note": "abc"}
    )
    mariadb.duplicate_entry(shop, "Order", "start_of_note", "id = 20", {"id": 1020, "sku": "twenty", "note": "020m"})
    mariadb.duplicate_entry(shop, "long_ones", "of_words", "id = 7", {"id": 1007})
    names = "qty, few, doc, PRIMARY, sku_once, start_of_note, customer, of_words, `the one before`, sku_not_null"
    report = checking.run(f"CHECK TABLE `Order`, long_ones, customers CONSTRAINT {names}")
    found = sorted((each.kind.value, each.constraint, *(each.primary_key or {}).values()) for each in report.failures)
    assert found == [
        ("check_violation", "doc", "112"),
        ("check_violation", "few", "111"),
        ("check_violation", "qty", "110"),
        ("foreign_key_violation", "customer", "114"),
        ("foreign_key_violation", "customer", "441"),
        ("foreign_key_violation", "the one before", "116"),
        ("foreign_key_violation", "the one before", "301"),
        ("unique_violation", "of_words", "1007"),
        ("unique_violation", "of_words", "7"),
        ("unique_violation", "sku_once", "1113"),
        ("unique_violation", "sku_once", "113"),
        ("unique_violation", "start_of_note", "1020"),
        ("unique_violation", "start_of_note", "20"),
    ]
    details = {(each.constraint, *(each.primary_key or {}).values()): each.details for each in report.failures}
    assert details["sku_once", "113"] == {"sku": "sku-113", "same_as": "id=1113"}
    assert details["doc", "112"] == {"doc": "{"}
    assert details["customer", "114"] == {
        "country": "DE",
        "number": "99",
        "refers_to": f"{shop.name}.customers (country, number)",
    }


@pytest.mark.thorough
def test_only_some_rows(shop: Database, spark: SparkSession) -> None:
    mariadb.violated_check(shop, "Order", "id IN (110, 111)", {"qty": 0})
    mariadb.duplicate_entry(shop, "Order", "start_of_note", "id = 20", {"id": 1020, "sku": "twenty", "note": "020m"})
    mariadb.duplicate_entry(
        shop, "Order", "sku_once", "id = 30", {"id": 1030, "sku": "SKU-30", "note": "030m", "qty": 9}
    )
    mariadb.wrong_reference(shop, "Order", "id IN (120, 121)", {"number": 99})
    mariadb.orphaned_rows(shop, "Order", "id IN (300, 310)")
    only = OnlyRows((("110",), ("120",), ("1020",)), {"the one before": (("300",),)})
    with closing(open_checker(parse_url(shop.url))) as checker:
        assert asked_of(checker, spark, "Order", only) == [
            ("customer", "120"),
            ("qty", "110"),
            ("start_of_note", "1020"),
            ("start_of_note", "20"),
            ("the one before", "301"),
        ]
