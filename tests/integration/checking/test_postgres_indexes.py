"""Indexes of PostgreSQL that really disagree with their table: each fault by its name and key, and nothing else."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import postgres
from tests.integration.checking.checks import Checking
from tests.variants import later
from tieout.model.failures import CheckVerdict, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TABLE = """
CREATE TABLE orders (id bigint PRIMARY KEY, sku text, qty int, day date, note text);
INSERT INTO orders
SELECT n, CASE WHEN n % 7 = 0 THEN NULL ELSE 'sku-' || n % 97 END, n % 11, date '1969-06-01' + (n % 500)::int, 'n'
FROM generate_series(1, 2000) n;
CREATE INDEX by_sku ON orders (sku);
CREATE INDEX by_sku_too ON orders (sku);
CREATE INDEX by_day ON orders (day DESC NULLS LAST, qty) INCLUDE (note);
CREATE INDEX few ON orders (qty, sku DESC) WHERE qty < 5;
CREATE INDEX lowered ON orders (upper(sku));
CREATE UNIQUE INDEX ids ON orders (id, sku);
VACUUM orders"""

ID = {"id": "1003"}
"""A row that every index has: its qty is 2."""


@pytest.fixture
def shop(db: Database) -> Database:
    for statement in TABLE.split(";"):
        db.execute(statement)
    return db


@pytest.fixture
def checking(shop: Database, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


def test_a_clean_table_in_which_rows_were_changed_and_deleted(shop: Database, checking: Checking) -> None:
    """Entries of versions that no reader sees any more are no fault; nor is a row that moved in its page."""
    shop.execute("ALTER TABLE orders SET (fillfactor = 50)")
    shop.execute("UPDATE orders SET note = 'm' WHERE id % 3 = 0")
    shop.execute("UPDATE orders SET qty = qty + 1 WHERE id % 5 = 0")
    shop.execute("DELETE FROM orders WHERE id % 10 = 1")
    shop.execute("INSERT INTO orders SELECT n, 'new', 1, NULL, NULL FROM generate_series(3000, 3100) n")
    report = checking.run("INSPECT TABLE orders")
    assert report.failures == ()
    assert {check.name: check.status for check in report.checks} == dict.fromkeys(
        ("by_day", "by_sku", "by_sku_too", "few", "ids", "lowered", "orders_pkey"), Status.OK
    )
    assert report.verdict is CheckVerdict.CLEAN
    assert {check.rows for check in report.checks} == {1901}
    shop.execute("VACUUM orders")
    assert checking.run("INSPECT TABLE orders").verdict is CheckVerdict.CLEAN


def test_rows_that_were_changed_in_their_place_while_others_had_locked_them(
    db: Database, spark: SparkSession, tmp_path: Path
) -> None:
    """The old version was ended by several, and not by the one who made the new one."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY, note text)")
    db.execute("INSERT INTO t SELECT n, 'n' FROM generate_series(1, 20) n")
    with db.connect() as other:
        other.execute("BEGIN")
        other.execute("SELECT 1 FROM t WHERE id % 3 = 0 FOR KEY SHARE")
        db.execute("UPDATE t SET note = 'm'")
        other.execute("COMMIT")
    assert Checking(db.url, spark, tmp_path).run("INSPECT TABLE t").verdict is CheckVerdict.CLEAN


def test_the_evidence_names_both_paths(checking: Checking) -> None:
    (check,) = checking.run("CHECK TABLE orders INDEX by_sku").checks
    assert check.evidence is not None
    assert check.evidence.startswith("Tid Range Scan on orders; the leaf pages among the ")
    assert check.evidence.endswith(" blocks of public.by_sku")


def test_missing_entries(shop: Database, checking: Checking) -> None:
    """Of two identical indexes one; of rows with a qty of 2, 0, 1, 3 and 4."""
    rows = {"by_day": "1003", "few": "1001", "lowered": "1002", "orders_pkey": "1004", "by_sku_too": "1005"}
    for index, key in rows.items():
        postgres.missing_entry(shop, "orders", index, f"id = {key}")
    found = checking.found("INSPECT TABLE orders")
    assert sorted(found, key=str) == sorted(
        [("missing_index_entry", index, {"id": key}) for index, key in rows.items()], key=str
    )


def test_dangling_entries(shop: Database, checking: Checking) -> None:
    for index, key in (("by_sku", 1003), ("ids", 1007)):
        postgres.dangling_entry(shop, "orders", index, f"id = {key}")
    failures = checking.run("INSPECT TABLE orders").failures
    assert sorted((each.kind.value, each.index, each.primary_key) for each in failures) == [
        ("dangling_index_entry", "by_sku", None),
        ("dangling_index_entry", "ids", None),
    ]
    assert None not in {each.place for each in failures}


def test_an_entry_of_another_row(shop: Database, checking: Checking) -> None:
    postgres.wrong_row_entry(shop, "orders", "by_sku", "id = 1003", {"id": 5000, "sku": "other"})
    report = checking.run("INSPECT TABLE orders")
    (failure,) = report.failures
    assert (failure.kind.value, failure.index) == ("wrong_row_reference", "by_sku")
    assert failure.primary_key == {"id": "5000"}
    assert failure.details == {"row.sku": "other", "entry.sku": "sku-33"}


@pytest.mark.parametrize("recipe", [later(postgres.stale_entry), postgres.stale_entry_of_a_chain])
def test_a_stale_entry(shop: Database, checking: Checking, recipe: Any) -> None:
    shop.execute("DROP INDEX by_sku_too, few, lowered, ids")
    shop.execute("DELETE FROM orders WHERE id BETWEEN 1004 AND 1010")
    shop.execute("VACUUM orders")
    recipe(shop, "orders", "by_sku", "id = 1003", {"sku": None})
    (failure,) = checking.run("INSPECT TABLE orders").failures
    assert (failure.kind.value, failure.index, failure.primary_key) == ("stale_index_entry", "by_sku", ID)
    assert failure.details == {"row.sku": None, "entry.sku": "sku-33"}


def test_a_wrong_copy_of_a_column_is_one_failure(shop: Database, checking: Checking) -> None:
    postgres.wrong_stored_value(shop, "orders", "by_day", "id = 1003", {"note": "changed"})
    (failure,) = checking.run("INSPECT TABLE orders").failures
    assert (failure.kind.value, failure.index, failure.columns) == ("wrong_stored_value", "by_day", ("note",))
    assert failure.primary_key == ID


def test_a_function_that_gives_something_else_now(shop: Database, checking: Checking) -> None:
    """There are as many entries as rows, and as many of each value."""
    shop.execute("CREATE FUNCTION f(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 % 3'")
    shop.execute("CREATE INDEX computed ON orders (f(qty))")
    postgres.redefined_function(shop, "f(integer)", "SELECT ($1 + 1) % 3")
    report = checking.run("CHECK TABLE orders INDEX computed")
    assert {failure.kind.value for failure in report.failures} == {"stale_index_entry"}
    assert [check.failures for check in report.checks] == [2000]
    assert len(report.failures) == 1000
    assert report.truncated


def test_what_is_not_checked_says_why(shop: Database, checking: Checking) -> None:
    shop.execute("CREATE INDEX hashed ON orders USING hash (sku)")
    postgres.invalid_index(shop, "orders", "given_up", "qty")
    report = checking.run("INSPECT TABLE orders WITH OPTIONS INDEX (hashed, given_up, by_sku)")
    reasons = {check.name: check.reason for check in report.checks}
    assert reasons == {
        "by_sku": None,
        "hashed": "it is a hash index: only B-trees are checked",
        "given_up": "it is not ready (it is being built, or a build was interrupted): writers do not maintain it",
    }
    assert report.verdict is CheckVerdict.UNVERIFIED
    assert report.exit_code == 3


def test_names_that_need_quotes(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    db.execute('CREATE SCHEMA "My Schema"')
    db.execute('CREATE TABLE "My Schema"."Order" ("Select" int, "a""b" text)')
    db.execute("""INSERT INTO "My Schema"."Order" SELECT n, 'x' || n FROM generate_series(1, 50) n""")
    db.execute('CREATE INDEX "Sel""ect" ON "My Schema"."Order" ("a""b" DESC, "Select")')
    db.execute("VACUUM")
    checking = Checking(db.url, spark, tmp_path)
    statement = 'CHECK TABLE "My Schema"."Order" INDEX "Sel""ect"'
    assert checking.run(statement).verdict is CheckVerdict.CLEAN
    db.execute("""UPDATE pg_index SET indisready = false WHERE indexrelid = '"My Schema"."Sel""ect"'::regclass""")
    db.execute("""INSERT INTO "My Schema"."Order" VALUES (99, NULL)""")
    db.execute("""UPDATE pg_index SET indisready = true WHERE indexrelid = '"My Schema"."Sel""ect"'::regclass""")
    (failure,) = checking.run(statement).failures
    assert failure.kind.value == "missing_index_entry"
    assert failure.primary_key is None
    assert failure.details == {'row.a"b': None, "row.Select": "99"}


def test_schemas_and_partitions(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    """All of a database is all of its schemas; a partitioned table is its partitions."""
    db.execute("CREATE SCHEMA other")
    db.execute("CREATE TABLE other.t (id int PRIMARY KEY)")
    db.execute("CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id)")
    for low in (0, 100):
        db.execute(f"CREATE TABLE part_{low} PARTITION OF parted FOR VALUES FROM ({low}) TO ({low + 100})")
    db.execute("CREATE INDEX by_v ON parted (v)")
    db.execute("INSERT INTO parted SELECT n, n % 7 FROM generate_series(0, 199) n")
    checking = Checking(db.url, spark, tmp_path)
    parts = {("public.part_0", "part_0_v_idx"), ("public.part_100", "part_100_v_idx")}
    report = checking.run(f"INSPECT DATABASE {db.name}")
    assert {(check.table, check.name) for check in report.checks} == parts | {("other.t", "t_pkey")}
    assert report.verdict is CheckVerdict.CLEAN
    report = checking.run("INSPECT TABLE parted")
    assert {(check.table, check.name) for check in report.checks} == parts


def test_names_that_are_words_and_rows_without_a_key(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    """NULLs in some columns, both directions, days before 1970, and of two identical indexes the one that is wrong."""
    db.execute("""CREATE TABLE "Order" ("Select" int, "when" timestamp, "De""sc" text);
        INSERT INTO "Order" SELECT n, CASE WHEN n % 3 <> 0 THEN make_date(1900 + n, 2, 3) END, nullif('x', 'x')
        FROM generate_series(0, 89) n;
        CREATE INDEX "Group" ON "Order" ("when" DESC, "Select");
        CREATE INDEX "group Too" ON "Order" ("when" DESC, "Select")""")
    db.execute("VACUUM")
    checking = Checking(db.url, spark, tmp_path)
    assert checking.run('INSPECT TABLE "Order"').verdict is CheckVerdict.CLEAN
    postgres.missing_entry(db, "Order", "group Too", '"Select" = 61')
    (failure,) = checking.run('INSPECT TABLE "Order"').failures
    assert (failure.kind.value, failure.index, failure.primary_key) == ("missing_index_entry", "group Too", None)
    assert failure.details == {"row.when": "1961-02-03 00:00:00", "row.Select": "61"}


def test_a_view_that_is_kept_and_copies_that_are_written_otherwise(
    db: Database, spark: SparkSession, tmp_path: Path
) -> None:
    """1.0 and 1.00 are one number, and two things to have a copy of."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY, n numeric, j json)")
    db.execute("""INSERT INTO t SELECT n, 1.00, '{"a":1,"b":2}' FROM generate_series(1, 9) n""")
    db.execute("CREATE INDEX by_id ON t (id) INCLUDE (n, j)")
    db.execute("CREATE MATERIALIZED VIEW kept AS SELECT id, id * 10 AS v FROM t")
    db.execute("CREATE INDEX by_v ON kept (v)")
    checking = Checking(db.url, spark, tmp_path)
    report = checking.run(f"INSPECT DATABASE {db.name}")
    assert report.verdict is CheckVerdict.CLEAN
    assert [(check.name, check.rows) for check in report.checks if check.table == "public.kept"] == [("by_v", 9)]
    postgres.wrong_stored_value(db, "t", "by_id", "id = 5", {"n": Decimal("1.0")})
    assert checking.found("INSPECT TABLE t") == [("wrong_stored_value", "by_id", {"id": "5"})]
