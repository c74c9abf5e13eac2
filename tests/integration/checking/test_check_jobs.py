"""A check as a job: it goes on where it was stopped, waits for nobody for long, and reads the table once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import postgres as faults
from tests.integration.checking.checks import Checking
from tieout import api
from tieout.checks.indexes import digest_stage
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_checker
from tieout.errors import UsageError
from tieout.meta import JobState
from tieout.model.failures import CheckVerdict, Status
from tieout.runtime.control import JobControl
from tieout.runtime.job import Interrupted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.postgres import Postgres
    from tests.servers.server import Database, Statement
    from tieout.model.progress_events import Progress

INDEXES = 6
STATEMENT = "INSPECT TABLE orders"


@pytest.fixture
def shop(db: Database) -> Database:
    db.execute("CREATE EXTENSION amcheck")
    db.execute("CREATE TABLE orders (id int PRIMARY KEY, a int, b int, c int, d int, e int)")
    db.execute("INSERT INTO orders SELECT n, n % 5, n % 7, n, n, n FROM generate_series(1, 3000) n")
    for column in "abcde":
        db.execute(f"CREATE INDEX by_{column} ON orders ({column})")
    db.execute("VACUUM orders")
    return db


@pytest.fixture
def checking(shop: Database, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


@pytest.fixture
def _small_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest_stage, "_PIECES_PER_SLOT", 1)


def test_with_six_indexes_the_table_is_read_once(shop: Database, postgres: Postgres, checking: Checking) -> None:
    with postgres.recording() as asked:
        assert checking.run(STATEMENT).verdict is CheckVerdict.CLEAN
    heap, pages = _reads(asked)
    assert len(heap) == 1
    assert (
        len([page for page in pages if "by_" in page or "orders_pkey" in page]) == 2 * INDEXES
    )  # and one to see if we may


def _reads(asked: list[Statement]) -> tuple[list[str], list[str]]:
    """Of the rows, and of pages."""
    texts = [statement.text for statement in asked if "EXPLAIN" not in statement.text]
    return [text for text in texts if 'FROM ONLY "public"."orders"' in text], [t for t in texts if "get_raw_page" in t]


class Killed(BaseException):
    """What no block catches, as the end of a process."""


@pytest.mark.usefixtures("_small_waves")
def test_a_check_that_was_killed_goes_on(
    shop: Database, postgres: Postgres, checking: Checking, spark: SparkSession
) -> None:
    """What was read is not read again; what it comes to is the same."""
    faults.missing_entry(shop, "orders", "by_e", "id = 77")
    whole = checking.found(STATEMENT)
    waves = 0

    def kill(progress: Progress) -> None:
        nonlocal waves
        waves += progress.rows_done > 0
        if waves == 2:
            raise Killed

    with pytest.raises(Killed):
        checking.run(STATEMENT, listener=kill)
    with postgres.recording() as asked:
        report = api.resume_check("last", shop.url, spark=spark, meta=checking.meta)
    found = [(f.kind.value, f.index, dict(f.primary_key or {})) for f in report.failures]
    assert found == whole == [("missing_index_entry", "by_e", {"id": "77"})]
    assert {check.name for check in report.checks if check.status is Status.OK} == {
        "orders_pkey", "by_a", "by_b", "by_c", "by_d"
    }  # fmt: skip
    assert {check.rows for check in report.checks} == {3000}
    again = [text for text in _reads(asked)[1] if "by_a" in text]
    assert len(again) == 1  # to see whether we may; the first two waves had the table and by_a
    assert api.show_job(report.job, checking.meta).job.state is JobState.DONE


@pytest.mark.usefixtures("_small_waves")
def test_a_check_is_paused_from_another_terminal(shop: Database, checking: Checking, spark: SparkSession) -> None:
    def pause(progress: Progress) -> None:
        if progress.rows_done:
            api.pause_job("last", checking.meta)

    with pytest.raises(Interrupted) as stopped:
        checking.run(STATEMENT, listener=pause)
    assert stopped.value.state is JobState.PAUSED
    report = api.resume_check("last", shop.url, spark=spark, meta=checking.meta)
    assert report.job == stopped.value.job
    assert report.verdict is CheckVerdict.CLEAN
    assert len(report.checks) == INDEXES


def test_tables_that_are_done_are_not_checked_again(
    shop: Database, postgres: Postgres, checking: Checking, spark: SparkSession
) -> None:
    shop.execute("CREATE TABLE zoo (id int PRIMARY KEY)")
    shop.execute("INSERT INTO zoo SELECT generate_series(1, 10)")

    def kill(progress: Progress) -> None:
        if progress.table == "public.zoo":
            raise Killed

    with pytest.raises(Killed):
        checking.run(f"INSPECT DATABASE {shop.name}", listener=kill)
    with postgres.recording() as asked:
        report = api.resume_check("last", shop.url, spark=spark, meta=checking.meta)
    assert _reads(asked)[0] == []
    assert len(report.checks) == INDEXES + 1
    assert report.verdict is CheckVerdict.CLEAN


def test_a_table_that_is_locked_is_not_waited_for(shop: Database, spark: SparkSession, tmp_path: Path) -> None:
    """The others are checked all the same."""
    shop.execute("CREATE TABLE zoo (id int PRIMARY KEY)")
    impatient = Checking(f"{shop.url}?lock_timeout=100ms", spark, tmp_path)
    with shop.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        report = impatient.run(f"INSPECT DATABASE {shop.name}")
        connection.execute("ROLLBACK")
    assert {(check.table, check.status) for check in report.checks} == {
        ("public.orders", Status.NOT_CHECKED),
        ("public.zoo", Status.OK),
    }
    (reason,) = {check.reason for check in report.checks if check.reason}
    assert "lock timeout" in reason
    assert "?lock_timeout=" in reason
    assert report.verdict is CheckVerdict.UNVERIFIED


def test_sessions_change_nothing(shop: Database) -> None:
    with closing(open_checker(parse_url(shop.url))) as checker:
        rows = checker._endpoint.all(  # type: ignore[attr-defined]
            "SELECT current_setting('transaction_read_only'), current_setting('lock_timeout'), "
            "current_setting('statement_timeout')",
            [],
        )
    assert rows == [("on", "5s", "10min")]


@pytest.mark.usefixtures("_small_waves")
def test_it_rests_between_batches(checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(JobControl, "wait", lambda self, seconds: rests.append(seconds))
    checking.run("CHECK TABLE orders INDEX by_a, by_b, by_c", pause=1.5)
    assert rests.count(1.5) == 1


def test_a_check_goes_on_in_its_own_database_alone(
    shop: Database, pg_db_b: Database, checking: Checking, spark: SparkSession
) -> None:
    def kill(progress: Progress) -> None:
        raise Killed

    with pytest.raises(Killed):
        checking.run(STATEMENT, listener=kill)
    with pytest.raises(UsageError, match="not on postgresql"):
        api.resume_check("last", pg_db_b.url, spark=spark, meta=checking.meta)


def test_names_with_dots_are_not_taken_for_another_table(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    db.execute('CREATE SCHEMA a; CREATE SCHEMA "a.b"')
    db.execute('CREATE TABLE a."b.c" (x int PRIMARY KEY); CREATE TABLE "a.b".c (x int PRIMARY KEY)')
    db.execute('INSERT INTO "a.b".c SELECT generate_series(1, 9)')
    for table in ('a."b.c"', '"a.b".c'):
        db.execute(f"ALTER TABLE {table} ADD CONSTRAINT large CHECK (x > 1) NOT VALID")
    report = Checking(db.url, spark, tmp_path).run('CHECK TABLE a."b.c", "a.b".c CONSTRAINT large')
    assert [check.status for check in report.checks] == [Status.OK, Status.FAILURES]
