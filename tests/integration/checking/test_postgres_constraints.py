"""Rows of PostgreSQL that break what their tables declare: each by its name and key, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import postgres
from tests.integration.checking.checks import Checking, asked_of
from tieout.config.urls import parse_url
from tieout.connectors.protocols.paths import OnlyRows
from tieout.connectors.registry import open_checker
from tieout.model.constraints import Enforcement
from tieout.model.failures import CheckVerdict, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database
    from tieout.connectors.protocols.check import Checker

TABLES = """
CREATE SCHEMA other;
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE other.customers (country text COLLATE nocase, number int, name text, PRIMARY KEY (country, number));
INSERT INTO other.customers SELECT 'de', n, 'c' || n FROM generate_series(1, 50) n;
CREATE DOMAIN percent AS numeric CHECK (value BETWEEN 0 AND 100);
CREATE TABLE "Order" (
  id bigint PRIMARY KEY, sku text COLLATE nocase NOT NULL, qty int CHECK (qty > 0), country text, number bigint,
  before_it bigint REFERENCES "Order" DEFERRABLE INITIALLY DEFERRED, off percent, note text,
  CONSTRAINT customer FOREIGN KEY (country, number) REFERENCES other.customers,
  CONSTRAINT customer_or_none FOREIGN KEY (country, number) REFERENCES other.customers MATCH FULL,
  CONSTRAINT sku_once UNIQUE (sku) DEFERRABLE,
  CONSTRAINT one_empty UNIQUE NULLS NOT DISTINCT (qty, country, number, note),
  CONSTRAINT "Qty ""and" CHECK (qty < 1000 OR note IS NULL));
INSERT INTO "Order" SELECT n, 'sku-' || n, n % 11 + 1, 'DE', n % 50 + 1, nullif(n - 1, 0), n % 13, 'n' || n
FROM generate_series(1, 500) n;
INSERT INTO "Order" VALUES (501, 'none', NULL, NULL, NULL, NULL, NULL, NULL);
CREATE UNIQUE INDEX of_few ON "Order" (qty, upper(note)) WHERE id < 100;
VACUUM "Order" """

NAMES = {
    *("sku_not_null", "id_not_null", "Order_qty_check", 'Qty "and', "off_percent_check", "Order_pkey", "sku_once"),
    *("one_empty", "of_few", "customer", "customer_or_none", "Order_before_it_fkey"),
}
ALL = 'EXPERIMENTAL SCRUB TABLE "Order" WITH OPTIONS CONSTRAINT ALL'


@pytest.fixture
def shop(pg_db: Database) -> Database:
    for statement in TABLES.split(";"):
        pg_db.execute(statement)
    # Whoever asks has to be answered from the rows all the same.
    for setting in ("constraint_exclusion = on", "enable_seqscan = off", "search_path = public, other"):
        pg_db.execute(f'ALTER DATABASE "{pg_db.name}" SET {setting}')
    return pg_db


@pytest.fixture
def checking(shop: Database, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


@pytest.fixture
def checker(shop: Database) -> Iterator[Checker]:
    with closing(open_checker(parse_url(shop.url))) as checker:
        yield checker


def test_a_clean_table(checking: Checking) -> None:
    report = checking.run(ALL)
    assert {check.name: (check.status, check.reason) for check in report.checks} == dict.fromkeys(
        NAMES, (Status.OK, None)
    )
    assert [(check.name, check.reason) for check in report.checks if check.reason] == []
    assert report.verdict is CheckVerdict.CLEAN
    assert {check.enforcement for check in report.checks} == {Enforcement.ENFORCED}
    rows = {check.name: check.rows for check in report.checks}
    assert (rows["sku_once"], rows["of_few"], rows["customer"], rows["Order_qty_check"]) == (501, 99, 500, 501)
    evidence = {check.name: check.evidence for check in report.checks}
    assert evidence["Order_qty_check"] in ("Seq Scan on Order", "Tid Range Scan on Order")
    assert evidence["sku_once"] == "Seq Scan on Order"
    assert evidence["customer"] == "Seq Scan on Order, Seq Scan on customers"


def test_every_kind_at_once(shop: Database, checking: Checking) -> None:
    postgres.violated_check(shop, "Order", "id = 110", {"qty": 0})
    postgres.violated_check(shop, "Order", "id = 111", {"qty": 2000})
    postgres.null_value(shop, "Order", "sku", "id = 112")
    postgres.duplicate_entry(shop, "Order", "sku_once", "id = 113", {"id": 1113, "sku": "SKU-113", "note": "again"})
    postgres.duplicate_entry(shop, "Order", "one_empty", "id = 501", {"id": 1501, "sku": "none too"})
    postgres.duplicate_entry(shop, "Order", "of_few", "id = 30", {"id": 0, "sku": "zero", "note": "N30"})
    # Neither of the next two is what an index says: this one knows one row, and that one both of its parents.
    postgres.duplicate_without_entry(shop, "Order", "Order_pkey", "id = 300", {"sku": "other", "note": "other"})
    postgres.dangling_entry(shop, "customers", "customers_pkey", "number = 42")
    shop.execute('UPDATE "Order" SET number = NULL, country = NULL WHERE number = 42 AND id <> 441')
    postgres.missing_entry(shop, "customers", "customers_pkey", "number = 43")
    postgres.wrong_reference(shop, "Order", "id = 114", {"number": 99})
    postgres.wrong_reference(shop, "Order", "id = 115", {"number": None})
    postgres.wrong_reference(shop, "Order", "id = 116", {"before_it": 77777})
    postgres.orphaned_rows(shop, "Order", "id = 400")
    report = checking.run(ALL)
    found = sorted((each.kind.value, each.constraint, (each.primary_key or {})["id"]) for each in report.failures)
    assert found == sorted(
        [
            ("check_violation", "Order_qty_check", "110"),
            ("check_violation", 'Qty "and', "111"),
            ("not_null_violation", "sku_not_null", "112"),
            ("unique_violation", "sku_once", "113"),
            ("unique_violation", "sku_once", "1113"),
            ("unique_violation", "one_empty", "501"),
            ("unique_violation", "one_empty", "1501"),
            ("unique_violation", "of_few", "30"),
            ("unique_violation", "of_few", "0"),
            ("primary_key_violation", "Order_pkey", "300"),
            ("primary_key_violation", "Order_pkey", "300"),
            ("foreign_key_violation", "customer", "441"),
            ("foreign_key_violation", "customer_or_none", "441"),
            ("foreign_key_violation", "customer", "114"),
            ("foreign_key_violation", "customer_or_none", "114"),
            ("foreign_key_violation", "customer_or_none", "115"),
            ("foreign_key_violation", "Order_before_it_fkey", "116"),
            ("foreign_key_violation", "Order_before_it_fkey", "401"),
        ]
    )
    told = {(each.constraint, (each.primary_key or {})["id"]): each for each in report.failures}
    assert told["sku_once", "1113"].details == {"sku": "SKU-113", "same_as": "id=113"}
    assert told["of_few", "0"].details == {"qty": "9", "upper(note)": "N30", "same_as": "id=30"}
    assert told["customer_or_none", "115"].details == {
        "country": "DE",
        "number": None,
        "refers_to": "other.customers (country, number)",
    }
    assert told['Qty "and', "111"].details == {"qty": "2000", "note": "n111"}
    twins = [each for each in report.failures if each.constraint == "Order_pkey"]
    assert [each.details["same_as"] for each in twins] == [twins[1].place, twins[0].place]


def test_states_and_what_is_not_checked(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    for statement in (
        "CREATE TABLE p (id int PRIMARY KEY)",
        "CREATE TABLE t (id int PRIMARY KEY, v int, w int REFERENCES p, r int4range, x int REFERENCES p)",
        "INSERT INTO t VALUES (1, 0, NULL, '[1,2)'), (2, 5, NULL, '[3,4)'), (3, -1, NULL, '[5,6)')",
        "ALTER TABLE t ADD EXCLUDE USING gist (r WITH &&)",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE CONSTRAINT TRIGGER looks AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
        "ALTER TABLE t ADD CONSTRAINT later CHECK (v >= 0) NOT VALID",
        "ALTER TABLE t ADD CONSTRAINT fails CHECK (10 / v <> 0) NOT VALID",
        "ALTER TABLE t DISABLE TRIGGER ALL",
        "UPDATE t SET w = 77 WHERE id = 2",
        "CREATE DOMAIN even AS int",
        "ALTER TABLE t ALTER v TYPE even",
        "ALTER DOMAIN even ADD CONSTRAINT is_even CHECK (value % 2 = 0) NOT VALID",
    ):
        db.execute(statement)
    postgres.check_never_asked(db, "t", "never", "id < 3")
    report = Checking(db.url, spark, tmp_path).run("EXPERIMENTAL SCRUB TABLE t WITH OPTIONS CONSTRAINT ALL")
    found = {(each.constraint, (each.primary_key or {})["id"]) for each in report.failures}
    assert found == {
        ("later", "3"),
        ("never", "3"),
        ("v_is_even", "2"),
        ("v_is_even", "3"),
        ("t_w_fkey", "2"),
    }
    by_name = {check.name: check for check in report.checks}
    assert by_name["later"].enforcement is Enforcement.NOT_VALID
    assert by_name["v_is_even"].enforcement is Enforcement.NOT_VALID
    assert by_name["never"].enforcement is Enforcement.ENFORCED
    assert (by_name["t_x_fkey"].enforcement, by_name["t_x_fkey"].status) == (Enforcement.DISABLED, Status.OK)
    reasons = {check.name: check.reason for check in report.checks if check.status is Status.NOT_CHECKED}
    assert reasons.keys() == {"fails", "looks", "t_r_excl"}
    assert "division by zero" in str(reasons["fails"])
    assert by_name["id_not_null"].status is Status.OK


def test_partitions(pg_db: Database, spark: SparkSession, tmp_path: Path) -> None:
    """A row in the wrong one; a reference to a partitioned table is one to all of its partitions."""
    for statement in (
        "CREATE TABLE parent (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE parent_0 PARTITION OF parent FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE parent_1 PARTITION OF parent FOR VALUES FROM (100) TO (200)",
        "CREATE TABLE child (id int PRIMARY KEY, of int REFERENCES parent) PARTITION BY RANGE (id)",
        "CREATE TABLE child_0 PARTITION OF child FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE child_1 PARTITION OF child FOR VALUES FROM (100) TO (200)",
        "INSERT INTO parent SELECT generate_series(0, 199)",
        "INSERT INTO child SELECT n, n FROM generate_series(0, 199) n",
        "ALTER TABLE child DETACH PARTITION child_1",
    ):
        pg_db.execute(statement)
    postgres.wrong_reference(pg_db, "child_0", "id = 7", {"of": 777})
    with postgres.session.unguarded(pg_db) as cursor:
        table = "oid = 'child_0'::regclass"
        with postgres.session.surgery(cursor, "pg_class", table, "relispartition", False):
            cursor.execute("INSERT INTO child_0 VALUES (150, 7)")
    found = Checking(pg_db.url, spark, tmp_path).broken("CHECK TABLE child CONSTRAINT child_of_fkey, partition_bounds")
    assert found == [
        ("check_violation", "partition_bounds", {"id": "150"}),
        ("foreign_key_violation", "child_of_fkey", {"id": "7"}),
    ]


def test_only_some_rows(shop: Database, spark: SparkSession, checker: Checker) -> None:
    """Those that are asked for, whoever has the same values, and those that refer to what is gone."""
    postgres.violated_check(shop, "Order", "id IN (110, 111)", {"qty": 0})
    postgres.duplicate_entry(shop, "Order", "sku_once", "id = 113", {"id": 1113, "sku": "SKU-113", "note": "again"})
    postgres.duplicate_entry(shop, "Order", "sku_once", "id = 213", {"id": 1213, "sku": "SKU-213", "note": "again"})
    postgres.duplicate_entry(shop, "Order", "one_empty", "id = 501", {"id": 1501, "sku": "none too"})
    postgres.wrong_reference(shop, "Order", "id IN (120, 121)", {"number": 99})
    postgres.orphaned_rows(shop, "customers", "number = 42")
    shop.execute('UPDATE "Order" SET number = NULL, country = NULL WHERE number = 42 AND id < 440')
    gone = (("de", "42"),)  # which the rows write otherwise
    only = OnlyRows((("110",), ("113",), ("120",), ("1501",)), {"customer": gone})
    assert asked_of(checker, spark, "Order", only) == [
        ("Order_qty_check", "110"),
        ("customer", "120"),
        ("customer", "441"),
        ("customer", "491"),
        ("customer_or_none", "120"),
        ("one_empty", "1501"),
        ("one_empty", "501"),
        ("sku_once", "1113"),
        ("sku_once", "113"),
    ]
