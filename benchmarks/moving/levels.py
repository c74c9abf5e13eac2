"""Eight tables whose log is followed with each consistency: `row` and `table` beside `transaction`.

On one machine with few cores, merges on several connections have to share what one had. So the same is measured with a
target that is far away, where each statement waits.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.moving.subjects import Subject, meta
from benchmarks.sheet import Sheet, Timed
from tests.servers.proxy import Proxy
from tests.servers.server import Database
from tieout import api
from tieout.model.moves import Consistency
from tieout.model.requests import MoveRequest, TableRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = [f"level_{number}" for number in range(8)]
_ROWS = 50_000
_WAY = 0.01
"""Seconds to a target that is far away, and as many back."""
_STEP = 500
"""Rows of a table that one statement changes; a transaction changes two tables."""


def levels(sheet: Sheet, subject: Subject, spark: SparkSession, scratch: Path, changes: int, runs: int) -> None:
    _measure(sheet, subject, spark, scratch, changes, runs)


def far_levels(sheet: Sheet, subject: Subject, spark: SparkSession, scratch: Path, changes: int, runs: int) -> None:
    server = subject.target.server
    proxy = Proxy(server.host, server.port, _WAY)
    try:
        far = replace(subject.target, server=replace(server, port=proxy.port))
        subject = replace(subject, name=f"{subject.name}-far", target=far)
        _measure(sheet, subject, spark, scratch, changes, runs)
    finally:
        proxy.close()


def _measure(sheet: Sheet, subject: Subject, spark: SparkSession, scratch: Path, changes: int, runs: int) -> None:
    """The three take turns, so that what else the machine does falls on all of them."""
    _prepare(subject)
    timed: dict[Consistency, list[Timed]] = {each: [] for each in Consistency}
    for run in range(runs):
        for consistency in Consistency:
            timed[consistency].append(_timed(subject, spark, scratch, consistency, changes, seed=run))
    transaction = timed[Consistency.TRANSACTION]
    for weaker in (Consistency.ROW, Consistency.TABLE):
        sheet.add_best(f"levels/{subject.name}/{weaker}", timed[weaker], "transaction", transaction, 1.0)


def _timed(
    subject: Subject, spark: SparkSession, scratch: Path, consistency: Consistency, changes: int, seed: int
) -> Timed:
    request = MoveRequest(
        f"level-{subject.name}",
        subject.source.url,
        subject.target.url,
        tuple(map(TableRequest, TABLES)),
        consistency=consistency,
    )
    for table in TABLES:
        subject.target.execute(f"DELETE FROM {table}")
    request = replace(request, options=replace(request.options, batch_bytes=16 << 20))
    api.run_move(request, spark=spark, meta=meta(scratch), until_caught_up=True)
    _change(subject.source, changes, seed)
    began = time.perf_counter()
    status = api.run_move(request, spark=spark, meta=meta(scratch), until_caught_up=True)
    seconds = time.perf_counter() - began
    wrong = None if status.changes == changes and _same(subject) else f"{status.changes} changes, or others"
    api.drop_move(request, meta(scratch))
    return Timed(seconds, wrong)


def _prepare(subject: Subject) -> None:
    postgres = subject.source.server.scheme == "postgresql"
    numbers = f"generate_series(1, {_ROWS}) AS s(n)" if postgres else f"(SELECT seq AS n FROM seq_1_to_{_ROWS}) AS s"
    for database in (subject.source, subject.target):
        for table in TABLES:
            database.execute(f"DROP TABLE IF EXISTS {table}")
            database.execute(
                f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, qty INT NOT NULL, note VARCHAR(60) NOT NULL, "
                "price DECIMAL(12, 2) NOT NULL, weight DOUBLE PRECISION NOT NULL)"
            )
            for column in ("qty", "note"):
                database.execute(f"CREATE INDEX {table}_{column} ON {table} ({column})")
    for table in TABLES:
        subject.source.execute(
            f"INSERT INTO {table} SELECT n, n % 1000, CONCAT('the note of number ', n), n, n / 7.0 FROM {numbers}"
        )


def _change(source: Database, changes: int, seed: int) -> None:
    chance = random.Random(seed)
    with source.connect() as connection, connection.cursor() as cursor:
        for _ in range(changes // (2 * _STEP)):
            cursor.execute("BEGIN")
            for table in chance.sample(TABLES, 2):
                low = chance.randrange(_ROWS // _STEP) * _STEP
                cursor.execute(
                    f"UPDATE {table} SET qty = qty + 1, note = CONCAT('changed to ', qty) "
                    f"WHERE id > {low} AND id <= {low + _STEP}"
                )
            cursor.execute("COMMIT")


def _same(subject: Subject) -> bool:
    for table in TABLES:
        total = f"SELECT COUNT(*), SUM(qty), SUM(LENGTH(note)) FROM {table}"
        found = [tuple(map(int, database.rows(total)[0])) for database in (subject.source, subject.target)]
        if found[0] != found[1]:
            return False
    return True
