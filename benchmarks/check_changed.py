"""`make bench-check-changed`: CHECK … CHANGED after some changes of a large table, beside the check of all of it.

ROWS sets the size, CHANGES how many rows are changed; three of the changes break an index. Rows are those that were
read, of the table and of the index that took the most; the bar is that they are at most ten for each change.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROWS = int(os.environ.get("ROWS", "2000000"))
CHANGES = int(os.environ.get("CHANGES", "500"))
AT_ONCE = 10
STATEMENT = "CHECK TABLE t INDEX by_a, by_b, by_c CHANGED"
WANTED = {("missing_index_entry", str(ROWS + 1)), ("stale_index_entry", "7")}
SEEN_BY_VALUE = {("missing_index_entry", str(ROWS + 1)), ("missing_index_entry", "7")}
"""PostgreSQL: a row that was changed stands elsewhere, and its index knows neither place."""


def main() -> int:
    sys.path[0] = str(ROOT)  # for tests.servers; and no module here hides one of the standard library
    from benchmarks.ours import start_warm_session
    from benchmarks.sheet import Sheet

    sheet = Sheet()
    spark = start_warm_session()
    try:
        for name, make in (("sqlite", _sqlite), ("mariadb", _mariadb), ("postgresql", _postgres)):
            with sheet.case(name), make() as (database, broken):
                _measure(sheet, name, spark, database, broken)
    finally:
        spark.stop()
        sheet.keep(ROOT / "benchmarks" / "results" / "check_changed.json")
        print()
        sheet.show()
    return 1 if sheet.crashed else 0


def _measure(sheet: Any, name: str, spark: Any, database: Any, broken: Callable[[], set[tuple[str, str]]]) -> None:
    from benchmarks.sheet import Measurement
    from tieout import api

    with tempfile.TemporaryDirectory(prefix="tieout-bench-") as scratch:
        meta = f"sqlite:///{scratch}/meta.db"

        def checked() -> tuple[float, int, Any]:
            started = time.monotonic()
            report = api.check(database.url, STATEMENT, spark=spark, meta=meta)
            return time.monotonic() - started, max(check.rows or 0 for check in report.checks), report

        seconds, rows, _ = checked()
        for start in range(10, 10 + CHANGES - 3, AT_ONCE):
            database.execute(
                f"UPDATE t SET a = a + 1, b = 'b{start}' WHERE id BETWEEN {start} AND {start + AT_ONCE - 1}"
            )
        expected = broken()
        again, few, report = checked()
        found = {(each.kind.value, each.primary_key["id"]) for each in report.failures if each.primary_key}
        wrong = None if found == expected else f"found {sorted(found)}"
        api.forget_checked(database.url, meta=meta)
    peer = "the check of all rows"
    sheet.add(Measurement(f"{name} rows", few, peer, rows, AT_ONCE * CHANGES / ROWS, "rows", wrong))
    sheet.add(Measurement(f"{name} seconds", again, peer, seconds, None, "s", wrong))


_TABLE = "CREATE TABLE t (id {} PRIMARY KEY, a INT, b VARCHAR(20), c INT)"
_INDEXES = ("CREATE INDEX by_a ON t (a)", "CREATE INDEX by_b ON t (b, c)", "CREATE INDEX by_c ON t (c, a)")
_BREAKING = (f"INSERT INTO t VALUES ({ROWS + 1}, 1, 'lost', 1)", "UPDATE t SET b = 'other' WHERE id = 7")


@contextmanager
def _sqlite() -> Iterator[tuple[Any, Callable[[], set[tuple[str, str]]]]]:
    from tests.corruption.sqlite.session import blind, unguarded
    from tests.servers.sqlite import SqliteDatabase

    with tempfile.TemporaryDirectory(prefix="tieout-bench-") as scratch:
        database = SqliteDatabase(Path(scratch) / "t.db")
        database.execute(_TABLE.format("INTEGER"))
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ((n, 2 * n, f"b{n}", n % 1009) for n in range(ROWS)))
        for index in _INDEXES:
            database.execute(index)

        def broken() -> set[tuple[str, str]]:
            with unguarded(database) as connection, blind(connection, "by_b"):
                for statement in _BREAKING:
                    connection.execute(statement)
            return WANTED

        yield database, broken


@contextmanager
def _mariadb() -> Iterator[tuple[Any, Callable[[], set[tuple[str, str]]]]]:
    from tests.corruption.mariadb.files import blind
    from tests.servers.mariadb import start_mariadb

    server = start_mariadb(time_zone="+00:00", server_id=9, settings={"innodb-buffer-pool-size": "512M"})
    try:
        with server.fresh_database() as database:
            database.execute(_TABLE.format("INT"))
            database.execute(
                f"INSERT INTO t SELECT seq, 2 * seq, CONCAT('b', seq), seq % 1009 FROM seq_0_to_{ROWS - 1}"
            )
            for index in _INDEXES:
                database.execute(index)

            def broken() -> set[tuple[str, str]]:
                with blind(database, "t", "by_b"):
                    for statement in _BREAKING:
                        database.execute(statement)
                return WANTED

            yield database, broken
    finally:
        server.stop()


@contextmanager
def _postgres() -> Iterator[tuple[Any, Callable[[], set[tuple[str, str]]]]]:
    from tests.corruption.postgres.session import blind, unguarded
    from tests.servers.postgres import start_postgres

    server = start_postgres()
    try:
        with server.fresh_database() as database:
            database.execute("CREATE EXTENSION pageinspect")
            database.execute(_TABLE.format("INT"))
            database.execute("ALTER TABLE t REPLICA IDENTITY FULL")
            database.execute(
                f"INSERT INTO t SELECT n, 2 * n, 'b' || n, n % 1009 FROM generate_series(0, {ROWS - 1}) AS n"
            )
            for index in (*_INDEXES, "ANALYZE t"):
                database.execute(index)

            def broken() -> set[tuple[str, str]]:
                with unguarded(database) as cursor, blind(cursor, "by_b"):
                    for statement in _BREAKING:
                        cursor.execute(statement)
                return SEEN_BY_VALUE

            yield database, broken
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
