"""The whole of `make bench-check`."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.checking.fetching import fetch, prove
from benchmarks.checking.subjects import COUNTS, INDEXES, add_indexes
from benchmarks.databases import MARIADB, POSTGRES, TABLE, load_all
from benchmarks.ours import start_warm_session
from benchmarks.rows import make_rows
from benchmarks.settings import Settings, settings_from
from benchmarks.sheet import Measurement, Sheet, Timed
from tests.servers.mariadb import start_mariadb
from tests.servers.postgres import INSTALLED, start_postgres
from tests.servers.process import program
from tests.servers.server import Database, Server
from tieout import api
from tieout.canonical.bucket_digests import bucket_count
from tieout.checks.indexes.projection import table_columns
from tieout.checks.indexes.work import DigestTable
from tieout.config.urls import parse_url
from tieout.connectors.protocols.paths import NotCheckable
from tieout.connectors.registry import open_checker
from tieout.model.failures import CheckVerdict
from tieout.model.tables import TableName
from tieout.runtime.dispatch import run_dealt

TABLE_BAR, CHECK_BAR = 2.0, 3.0


def run(results: Path) -> int:
    """Measures, prints and keeps. 0 whatever was found; 1 if a case could not be run to its end."""
    sheet, settings = Sheet(), settings_from()
    load = os.getloadavg()[0]
    try:
        with ExitStack() as stack:
            _measure(settings, sheet, stack)
    finally:  # what was measured is not lost to what went wrong later
        sheet.keep(results)
        print()
        sheet.show()
    print(f"\nSeconds, best of {settings.runs}; {settings.rows:,} rows; all on one machine of {os.cpu_count()} cores,")
    print(f"whose load was {load:.1f} before it began. Ours is tieout.check on a warm session, with its meta store.")
    print("fetching: the same columns once through each path, as Arrow, by one connection; nothing is compared.")
    print(f"Kept in {results}")
    return 1 if sheet.crashed else 0


def _measure(settings: Settings, sheet: Sheet, stack: ExitStack) -> None:
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tieout-bench-")))
    rows = make_rows(settings.rows)
    spark = start_warm_session()
    stack.callback(spark.stop)
    for name in ("postgres", "mariadb"):
        if not any(settings.wants(f"{name}/{count} indexes") for count in COUNTS):
            continue
        server = _started(name)
        with ExitStack() as own:
            own.callback(server.stop)
            database = own.enter_context(server.fresh_database())
            load_all([database], rows, scratch)
            add_indexes(database)
            if name == "postgres":
                for extension in ("pageinspect", "amcheck"):
                    database.execute(f"CREATE EXTENSION {extension}")
                prove(database)
            with sheet.case(name):
                _measure_one(settings, sheet, spark, name, database)


def _started(name: str) -> Server:
    if name == "postgres":
        return start_postgres(settings=POSTGRES)
    return start_mariadb(settings=MARIADB, time_zone="+00:00", server_id=1)


def _measure_one(settings: Settings, sheet: Sheet, spark: SparkSession, name: str, database: Database) -> None:
    table_side: dict[int, float] = {}
    for count in COUNTS:
        case = f"{name}/{count} indexes"
        if not settings.wants(case):
            continue
        indexes = list(INDEXES)[:count]
        with tempfile.TemporaryDirectory() as meta:
            checks, fetches, sides, peers = [], [], [], []
            for _ in range(settings.runs):
                fetches.append(fetch(database, indexes))
                checks.append(_check(spark, database, indexes, Path(meta)))
                sides.append(_table_side(spark, database, indexes))
                if name == "postgres":
                    peers.append(_amcheck(database, indexes))
        sheet.add_best(case, checks, "fetching", fetches, CHECK_BAR)
        if peers:
            sheet.add_best(f"{case}, beside the engine's own", checks, "pg_amcheck --heapallindexed", peers)
        table_side[count] = min(timed.seconds for timed in sides)
    first = table_side.get(COUNTS[0])
    for count, seconds in table_side.items():
        if count != COUNTS[0]:
            bar = TABLE_BAR if count == COUNTS[-1] else None
            sheet.add(Measurement(f"{name}/table side, {count} indexes", seconds, "one index", first, bar))


def _check(spark: SparkSession, database: Database, indexes: Sequence[str], scratch: Path) -> Timed:
    statement = f"CHECK TABLE {TABLE} INDEX {', '.join(indexes)}"
    started = time.perf_counter()
    report = api.check(database.url, statement, spark=spark, meta=f"sqlite:///{scratch}/meta.db")
    seconds = time.perf_counter() - started
    return Timed(seconds, None if report.verdict is CheckVerdict.CLEAN else f"{report.verdict}: {report.checks}")


def _table_side(spark: SparkSession, database: Database, indexes: Sequence[str]) -> Timed:
    """What the table alone takes: read once, digested for each index."""
    url = parse_url(database.url)
    with closing(open_checker(url)) as checker:
        (table,) = checker.describe([TableName(checker.default_schema(), TABLE)])
        infos = [info for info in checker.indexes(table) if info.name in indexes]
        read = table_columns(infos)
        path = checker.table_path(table, read.columns, addressed=True)
        assert not isinstance(path, NotCheckable), path
        started = time.perf_counter()
        parts = path.parts(max(1, spark.sparkContext.defaultParallelism))
        outcomes = run_dealt(
            spark, [DigestTable(path, read, part, bucket_count(table.estimated_rows)) for part in parts]
        )
        rows = sum(outcome.only().rows for outcome in outcomes)
        return Timed(time.perf_counter() - started, None if rows > 0 else "no rows")


def _amcheck(database: Database, indexes: Sequence[str]) -> Timed:
    server = database.server
    command = [
        program("postgres", INSTALLED).resolve().with_name("pg_amcheck"),
        "--heapallindexed",
        "--no-dependent-toast",
        "-h",
        server.host,
        "-p",
        str(server.port),
    ]
    command += ["-U", server.user, "-d", database.name, *(f"--index={index}" for index in indexes)]
    started = time.perf_counter()
    environment = {**os.environ, "PGPASSWORD": server.password}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return Timed(time.perf_counter() - started, None if told.returncode == 0 else told.stdout + told.stderr)
