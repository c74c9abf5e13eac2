"""Indexes of PostgreSQL checked by a user who may read tables and nothing else: no superuser, no extension."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.corruption import postgres
from tests.integration.checking.checks import Checking
from tests.integration.moving.troubles import until
from tests.servers.server import PASSWORD
from tieout.connectors.postgres.check.checker import PostgresChecker
from tieout.meta import Wanted
from tieout.model.failures import CheckReport, CheckVerdict, Status
from tieout.model.progress_events import Progress
from tieout.runtime.job import Interrupted, Stopped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TABLE = """
CREATE TABLE orders (id bigint PRIMARY KEY, sku text, qty int, day date, note text);
INSERT INTO orders
SELECT n, CASE WHEN n % 7 = 0 THEN NULL ELSE 'sku-' || n % 97 END, n % 11, date '1969-06-01' + (n % 500)::int, 'n'
FROM generate_series(1, 2000) n;
CREATE INDEX by_sku ON orders (sku);
CREATE INDEX by_day ON orders (day DESC NULLS LAST, qty) INCLUDE (note);
CREATE INDEX few ON orders (qty, sku DESC) WHERE qty < 5;
CREATE INDEX nothing ON orders (nullif(qty, qty), qty);
CREATE UNIQUE INDEX ids ON orders (id, sku);
CREATE TABLE loose (a int, b text);
INSERT INTO loose SELECT n % 5, NULL FROM generate_series(1, 100) n;
CREATE INDEX by_a ON loose (a, b DESC);
VACUUM"""

WHY = "reading the pages of an index needs pageinspect (CREATE EXTENSION pageinspect)"
ID = {"id": "1003"}


@pytest.fixture
def shop(pg_db: Database) -> Iterator[Database]:
    """A role is one of all databases of a server."""
    # VACUUM takes a page for all-visible only when the commits of its rows have reached the disk.
    pg_db.execute(f'ALTER DATABASE "{pg_db.name}" SET synchronous_commit = on')
    for statement in TABLE.split(";"):
        pg_db.execute(statement)
    user = f"u_{pg_db.name}"
    pg_db.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'")
    pg_db.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}")
    yield pg_db
    pg_db.execute(f"DROP OWNED BY {user}; DROP ROLE {user}")


@pytest.fixture
def checking(shop: Database, spark: SparkSession, tmp_path: Path) -> Checking:
    login = f"{shop.server.user}:{quote(shop.server.password, safe='')}"
    return Checking(shop.url.replace(login, f"u_{shop.name}:{quote(PASSWORD, safe='')}"), spark, tmp_path)


def by_name(report: CheckReport) -> dict[str | None, Status]:
    return {check.name: check.status for check in report.checks}


def test_a_clean_table(shop: Database, checking: Checking) -> None:
    report = checking.run(f"INSPECT DATABASE {shop.name}")
    assert report.failures == ()
    clean = dict.fromkeys(("by_sku", "by_day", "few", "ids", "orders_pkey", "by_a"), Status.OK)
    assert by_name(report) == clean | {"nothing": Status.NOT_CHECKED}
    told = {check.name: (check.evidence, check.reason) for check in report.checks}
    assert told["by_day"] == (
        "Tid Range Scan on orders; Index Only Scan using by_day, without addresses",
        None,
    )
    assert told["nothing"][1] == (f"{WHY}; without them, the server may compute NULLIF(qty, qty) instead of reading it")


def test_entries_in_the_wrong_order(shop: Database, checking: Checking) -> None:
    """The planner takes the order of an index for granted; entries are compared as they come."""
    shop.execute("CREATE COLLATION words (provider = icu, locale = 'en')")
    shop.execute("""CREATE TABLE t (id int PRIMARY KEY, w text COLLATE words, n int);
        INSERT INTO t SELECT n, s, n FROM unnest(ARRAY['apple', 'Apple', 'öl', 'zebra', 'Zebra', 'ol', NULL])
        WITH ORDINALITY AS u(s, n); CREATE INDEX by_w ON t (w, n); CREATE INDEX down ON t (w DESC NULLS LAST);
        CREATE INDEX by_n ON t (n) INCLUDE (w); CREATE INDEX by_pattern ON t (id, w text_pattern_ops)""")
    shop.execute(f"GRANT SELECT ON t TO u_{shop.name}")
    shop.execute("VACUUM t")
    statement = "CHECK TABLE t INDEX by_w, down, by_n, by_pattern"
    report = checking.run(statement)
    assert by_name(report) == dict.fromkeys(("by_w", "down", "by_n", "by_pattern"), Status.OK)
    assert [c.name for c in report.checks if "order is not checked" in (c.evidence or "")] == ["by_pattern"]
    postgres.changed_collation(shop, "words", "sv")
    shop.execute("UPDATE pg_index SET indoption = '3' WHERE indexrelid = 'by_n'::regclass")
    report = checking.run(statement)
    assert {each.kind.value for each in report.failures} == {"index_order"}
    found = sorted((str(each.index), *each.details.values()) for each in report.failures if each.index != "by_n")
    assert found == [("by_w", "öl", "3", "zebra", "4"), ("down", "zebra", "öl")]
    backwards = {
        (each.details["first.n"], each.details["second.n"]) for each in report.failures if each.index == "by_n"
    }
    assert backwards == {(str(n), str(n + 1)) for n in range(1, 7)}


def test_faults_of_every_kind(shop: Database, checking: Checking) -> None:
    """Values that many rows share, rows without a key, NULLs: the address of its row tells which entry is wrong."""
    postgres.wrong_row_entry(shop, "orders", "by_sku", "id = 1004", {"id": 5000, "sku": "other"})
    postgres.missing_entry(shop, "orders", "by_sku", "id IN (1001, 1003)")
    postgres.stale_entry(shop, "orders", "few", "id = 1005", {"sku": None})
    postgres.wrong_stored_value(shop, "orders", "by_day", "id = 1006", {"note": "changed"})
    postgres.dangling_entry(shop, "orders", "orders_pkey", "id = 1007")
    postgres.missing_entry(shop, "loose", "by_a", "ctid = '(0,7)'")
    report = checking.run(f"INSPECT DATABASE {shop.name}")
    found = {
        (each.kind.value, each.index, None if each.primary_key is None else each.primary_key["id"])
        for each in report.failures
    }
    assert found == {
        ("wrong_row_reference", "by_sku", "5000"),
        ("missing_index_entry", "by_sku", "1001"),
        ("missing_index_entry", "by_sku", "1003"),
        ("stale_index_entry", "few", "1005"),
        ("wrong_stored_value", "by_day", "1006"),
        ("dangling_index_entry", "orders_pkey", None),
        ("missing_index_entry", "by_a", None),
    }
    assert len(report.failures) == len(found)
    details = {each.kind.value: dict(each.details) for each in report.failures}
    assert details["wrong_row_reference"] == {"row.sku": "other", "entry.sku": "sku-34"}
    assert details["dangling_index_entry"] == {"entry.id": "1007"}
    assert {each.details["row.a"] for each in report.failures if each.index == "by_a"} == {"2"}
    # To look where an entry leads has not marked it as dead.
    assert checking.found("CHECK TABLE orders INDEX orders_pkey") == [("dangling_index_entry", "orders_pkey", None)]


HOLDERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'tieout%' AND backend_xmin IS NOT NULL"""


def until_held(shop: Database, moments: int) -> None:
    """A session that was closed is there for a little while."""
    until(lambda: shop.rows(HOLDERS) == [(moments,)], seconds=20)


def test_a_moment_is_held_for_one_table(shop: Database, checking: Checking) -> None:
    """Longer, and it would keep the server from clearing away what was changed since."""
    shop.execute("CREATE TABLE secret (id int PRIMARY KEY)")
    told: list[tuple[str, str | None]] = []

    def listen(progress: Progress) -> None:
        reads = progress.rows_done > 0
        until_held(shop, 1 if reads else 0)
        told.append(("reads" if reads else progress.stage, progress.table))

    report = checking.run(f"INSPECT DATABASE {shop.name}", listener=listen)
    assert by_name(report)["secret_pkey"] is Status.NOT_CHECKED
    assert by_name(report)["by_a"] is by_name(report)["by_sku"] is Status.OK
    assert told == [
        *((stage, f"public.{table}") for table in ("loose", "orders") for stage in ("index", "reads", "done")),
        *((stage, "public.secret") for stage in ("index", "done")),
    ]


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), Stopped(Wanted.PAUSE)], ids=["interrupted", "paused"])
def test_a_check_that_ends_before_it_is_done_holds_nothing(
    shop: Database, checking: Checking, ends: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresChecker, "close", lambda checker: checker._endpoint.close())

    def listen(progress: Progress) -> None:
        if progress.rows_done:
            until_held(shop, 1)
            raise ends

    with pytest.raises(Interrupted):
        checking.run("CHECK TABLE orders INDEX by_sku", listener=listen)
    until_held(shop, 0)


def test_what_the_table_hides_is_told(shop: Database, checking: Checking) -> None:
    """On a page that is not all-visible the server asks the row, and leaves out an entry that has none."""
    postgres.dangling_entry(shop, "orders", "by_sku", "id = 1003")
    shop.execute("DELETE FROM orders WHERE id = 1004")
    report = checking.run("CHECK TABLE orders INDEX by_sku")
    assert report.failures == ()
    assert report.verdict is CheckVerdict.UNVERIFIED
    (check,) = report.checks
    assert check.reason is not None
    assert check.reason.startswith("entries of deleted rows can't be seen on pages that are not all-visible (")
    assert check.reason.endswith("VACUUM the table, or let this user use pageinspect")


@pytest.mark.thorough
def test_a_missing_entry_is_found_on_any_page(shop: Database, checking: Checking) -> None:
    postgres.missing_entry(shop, "orders", "by_sku", "id = 1003")
    shop.execute("DELETE FROM orders WHERE id % 50 = 0")
    assert checking.found("CHECK TABLE orders INDEX by_sku") == [("missing_index_entry", "by_sku", ID)]


@pytest.mark.thorough
def test_two_that_are_alike_can_not_be_told_apart(shop: Database, checking: Checking) -> None:
    shop.execute("CREATE INDEX by_sku_too ON orders (sku)")
    shop.execute("VACUUM orders")
    postgres.missing_entry(shop, "orders", "by_sku", "id = 1003")
    postgres.missing_entry(shop, "orders", "by_sku_too", "id = 1003")
    report = checking.run("CHECK TABLE orders INDEX by_sku, by_sku_too")
    read, other = sorted(report.checks, key=lambda check: check.status)
    assert (read.status, other.status) == (Status.FAILURES, Status.NOT_CHECKED)
    assert other.reason == f"{WHY}; without them, the server reads {read.name} instead, which has the same columns"
    assert [(each.kind.value, each.index) for each in report.failures] == [("missing_index_entry", read.name)]


@pytest.mark.thorough
def test_pageinspect_that_others_may_use(shop: Database, checking: Checking) -> None:
    shop.execute("CREATE EXTENSION pageinspect")
    (check,) = checking.run("CHECK TABLE orders INDEX by_sku").checks
    assert (check.status, check.reason) == (Status.OK, None)
