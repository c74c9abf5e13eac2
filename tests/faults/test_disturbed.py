"""What happens to a verification while it runs: tables dropped, connections killed, rows written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pymysql
import pytest

from tests.variants import later
from tieout import api
from tieout.meta import JobState, open_store
from tieout.model.differences import DifferenceCounts
from tieout.model.progress_events import Progress
from tieout.model.requests import TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy, TableResult, Verdict, VerificationResult

ROWS = 2_000


def fill(database: Any, *tables: str) -> None:
    for table in tables:
        database.execute(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, v VARCHAR(40))")
        rows = [(i, f"value {i}") for i in range(1, ROWS + 1)]
        database.executemany(f"INSERT INTO {table} VALUES (%s, %s)", rows)


def verify(source: Any, target: Any, spark: Any, tmp_path: Any, **more: Any) -> VerificationResult:
    return api.verify(source.url, target.url, spark=spark, meta=f"sqlite:///{tmp_path}/meta.db", **more)


def table(result: VerificationResult, name: str) -> TableResult:
    (found,) = [t for t in result.tables if t.table.endswith(f".{name}")]
    return found


class Once:
    """A listener that does something the first time that a stage is told (after some rows were read, if so asked)."""

    def __init__(self, stage: str, action: Callable[[], None], *, after_rows: int = 0) -> None:
        self._stage, self._action, self._after = stage, action, after_rows
        self.done = False

    def __call__(self, progress: Progress) -> None:
        if not self.done and progress.stage == self._stage and progress.rows_done >= self._after:
            self.done = True
            self._action()


@pytest.fixture(params=["postgres", "mariadb"])
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    names = ("pg_db", "pg_db_b") if request.param == "postgres" else ("mysql_db", "mysql_db_b")
    return request.getfixturevalue(names[0]), request.getfixturevalue(names[1])


RANGES_AND_BUCKETS = [later("postgres", None), ("mariadb", ("v",))]


def test_a_table_dropped_in_the_middle_is_unverified_and_the_others_go_on(
    pair: tuple[Any, Any], spark: Any, tmp_path: Any
) -> None:
    source, target = pair
    for database in pair:
        fill(database, "kept", "lost")
    drop = Once("digests", lambda: target.execute("DROP TABLE lost"), after_rows=1)

    result = verify(source, target, spark, tmp_path, strategy=Strategy.PULL, chunk_rows=100, listener=drop)

    assert drop.done
    lost = table(result, "lost")
    assert lost.verdict is Verdict.UNVERIFIED
    assert "lost" in str(lost.reason)
    assert "p%40ss" not in str(lost.reason)
    assert "p@ss" not in str(lost.reason)
    assert table(result, "kept").verdict is Verdict.EQUAL
    assert result.verdict is Verdict.UNVERIFIED
    assert result.exit_code == 3


@contextmanager
def killing(database: Any, most: int | None) -> Iterator[list[int]]:
    """Kills executors' connections to a database as they come: so many of them, or all. Yields whom it killed."""
    killed: list[int] = []
    stop = threading.Event()

    def kill() -> None:
        with database.connect() as own, own.cursor() as cursor:
            while not stop.is_set() and (most is None or len(killed) < most):
                for connection in sessions(database, cursor):
                    if (most is None or len(killed) < most) and connection not in killed:
                        end(database, connection)
                        killed.append(connection)
                time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()


def sessions(database: Any, cursor: Any) -> list[int]:
    """Connections that read the table just now."""
    if database.server.scheme == "postgresql":
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s AND application_name = 'tieout executor' "
            "AND query LIKE '%%\"t\"%%'",
            [database.name],
        )
    else:
        cursor.execute(
            "SELECT id FROM information_schema.processlist WHERE db = %s AND info LIKE '%%`t`%%' "
            "AND id <> connection_id()",
            [database.name],
        )
    return [row[0] for row in cursor.fetchall()]


def end(database: Any, connection: int) -> None:
    is_postgres = database.server.scheme == "postgresql"
    with suppress(pymysql.err.OperationalError):  # it has gone by itself
        database.execute(f"SELECT pg_terminate_backend({connection})" if is_postgres else f"KILL {connection}")


@pytest.fixture
def slow_pair(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """A table that takes some time to read: the server sleeps a little over each of some rows."""
    for database in pair:
        fill(database, "t")
    return pair


def slow(database: Any, seconds: float = 0.002) -> str:
    sleep = f"pg_sleep({seconds}) IS NOT NULL" if database.server.scheme == "postgresql" else f"SLEEP({seconds}) = 0"
    return f"(id % 10 <> 0 OR {sleep})"


def test_a_connection_killed_once_is_opened_again(slow_pair: tuple[Any, Any], spark: Any, tmp_path: Any) -> None:
    source, target = slow_pair
    target.execute("UPDATE t SET v = 'other' WHERE id = 1999")
    request = TableRequest("t", source_where=slow(source), target_where=slow(target))

    with killing(target, most=1) as killed:
        result = verify(
            source, target, spark, tmp_path, tables=[request], strategy=Strategy.PULL, chunk_rows=500, recheck_times=0
        )

    assert len(killed) == 1
    assert result.tables[0].verdict is Verdict.DIFFERENT, result.tables[0].reason
    assert result.tables[0].differences == DifferenceCounts(changed=1)
    assert result.tables[0].rows.target == ROWS


@pytest.mark.parametrize("pair", ["postgres", later("mariadb")], indirect=True)
def test_a_server_that_keeps_hanging_up_leaves_a_job_to_resume(
    slow_pair: tuple[Any, Any], spark: Any, tmp_path: Any
) -> None:
    source, target = slow_pair
    target.execute("UPDATE t SET v = 'other' WHERE id = 1999")
    # Half a second for a range: nobody who reads it gets through, on a busy machine either.
    request = TableRequest("t", source_where=slow(source), target_where=slow(target, 0.01))
    options = VerifyOptions(strategy=Strategy.PULL, chunk_rows=500, recheck_times=0)
    asked = VerifyRequest(source.url, target.url, (request,), options)
    meta = f"sqlite:///{tmp_path}/meta.db"

    with killing(target, most=None):
        cut_off = api.run_verification(asked, spark=spark, meta=meta)

    assert cut_off.verdict is Verdict.UNVERIFIED
    assert any("--resume" in note for note in cut_off.notes), cut_off.tables[0].reason
    with open_store(meta) as store:
        assert store.jobs.get(cut_off.job).state is JobState.FAILED

    result = api.run_verification(asked, spark=spark, meta=meta, resume=cut_off.job)
    assert result.job == cut_off.job
    assert result.tables[0].differences == DifferenceCounts(changed=1)
    assert (result.tables[0].rows.source, result.tables[0].rows.target) == (ROWS, ROWS)


def fill_with_differences(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """A row changed, one missing and one extra on the target; and a table to write to meanwhile."""
    target = pair[1]
    for database in pair:
        fill(database, "t")
        database.execute("ALTER TABLE t ADD COLUMN n INT DEFAULT 0")
        database.execute("CREATE TABLE noise (x INT)")
    target.execute("UPDATE t SET n = 1 WHERE id = 500")
    target.execute("DELETE FROM t WHERE id = 501")
    target.execute("INSERT INTO t VALUES (9999, 'extra', 0)")
    return pair


@pytest.mark.parametrize(("pair", "key"), RANGES_AND_BUCKETS, indirect=["pair"], ids=["ranges", "buckets"])
def test_a_row_that_settles_is_no_difference(
    pair: tuple[Any, Any], spark: Any, tmp_path: Any, key: tuple[str, ...] | None
) -> None:
    """It differs when it is read, and not any more when it is looked at again."""
    source, target = fill_with_differences(pair)

    def settle() -> None:
        target.execute("UPDATE t SET n = 0 WHERE id = 500")
        target.execute("INSERT INTO t VALUES (501, 'value 501', 0)")
        target.execute("DELETE FROM t WHERE id = 9999")

    def soon() -> None:
        # Writes make the differences wait; the rows are compared within a second of this.
        for database in pair:
            database.execute("INSERT INTO noise VALUES (1)")
        threading.Timer(2.0, settle).start()

    result = verify(
        source,
        target,
        spark,
        tmp_path,
        tables=[TableRequest("t", key=key)],
        strategy=Strategy.PULL,
        listener=Once("rows", soon),
        recheck_after=4.0,
        recheck_times=2,
    )

    assert result.tables[0].verdict is Verdict.EQUAL, result.differences
    assert any("rechecked" in note for note in result.tables[0].notes)


@pytest.mark.parametrize(("pair", "key"), RANGES_AND_BUCKETS, indirect=["pair"], ids=["ranges", "buckets"])
def test_a_difference_that_stays_is_one(
    pair: tuple[Any, Any], spark: Any, tmp_path: Any, key: tuple[str, ...] | None
) -> None:
    """Though the tables are written to all the time."""
    source, target = fill_with_differences(pair)
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.05):
            for database in pair:
                database.execute("INSERT INTO noise VALUES (1)")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        result = verify(
            source,
            target,
            spark,
            tmp_path,
            tables=[TableRequest("t", key=key)],
            strategy=Strategy.PULL,
            recheck_after=0.2,
            recheck_times=3,
        )
    finally:
        stop.set()
        writer.join()

    assert result.tables[0].differences == DifferenceCounts(missing=1, extra=1, changed=1)
    assert any("rechecked" in note for note in result.tables[0].notes)
