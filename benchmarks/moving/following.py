"""A prepared log of changes, followed: beside a set rate, or beside the bare work of staging and merging them."""

from __future__ import annotations

import random
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.moving.subjects import Subject, meta
from benchmarks.sheet import Sheet, Timed
from tests.servers.server import Database
from tieout import api
from tieout.config.urls import parse_url
from tieout.connectors.protocols.move import Merge, ShareRows, StagedChanges
from tieout.connectors.registry import open_endpoint, open_target
from tieout.model.positions import Position
from tieout.model.requests import MoveRequest, TableRequest
from tieout.model.tables import TableName
from tieout.tasks.routing import transfer_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE, BARE = "followed", "bare"
RATES = {"mariadb": 40_000, "postgres": 80_000}
FEW_KEYS = 100_000
SLOWER = 1 / 0.6
_STEP = 1_000
_STATEMENTS_A_TRANSACTION = 1


def follow(sheet: Sheet, subject: Subject, spark: SparkSession, scratch: Path, changes: int, runs: int) -> None:
    """Changes over a tenth as many keys, then over as many. A log is followed once: each run has its own."""
    for keys in (changes // 10, changes):
        compared = keys == changes
        timed = [_timed(subject, spark, scratch, keys, changes, compared=compared) for _ in range(runs)]
        case = f"follow/{subject.name}/{keys:,} keys"
        ours = [ours for ours, _ in timed]
        if compared:
            sheet.add_best(case, ours, "stage and merge alone", [bare for _, bare in timed], SLOWER)
        else:
            rate = RATES[subject.name]
            sheet.add_best(case, ours, f"{rate:,} changes/s", [Timed(changes / rate)], 1.0)


def _timed(
    subject: Subject, spark: SparkSession, scratch: Path, keys: int, changes: int, *, compared: bool
) -> tuple[Timed, Timed]:
    """Following, and the bare work, if it is to be compared."""
    _prepare(subject, keys)
    request = _request(subject)
    api.run_move(request, spark=spark, meta=meta(scratch), until_caught_up=True)
    bare = _bare(subject, keys) if compared else 0.0
    _change(subject.source, keys, changes)
    began = time.perf_counter()
    status = api.run_move(request, spark=spark, meta=meta(scratch), until_caught_up=True)
    seconds = time.perf_counter() - began
    wrong = None if status.changes == changes and _same(subject) else f"{status.changes} changes, or others"
    api.drop_move(request, meta(scratch))
    return Timed(seconds, wrong), Timed(bare)


def _request(subject: Subject) -> MoveRequest:
    return replace(subject.request, task=f"follow-{subject.name}", tables=(TableRequest(TABLE),))


def _prepare(subject: Subject, keys: int) -> None:
    postgres = subject.source.server.scheme == "postgresql"
    numbers = f"generate_series(1, {keys}) AS s(n)" if postgres else f"(SELECT seq AS n FROM seq_1_to_{keys}) AS s"
    for database in (subject.source, subject.target):
        for table in (TABLE, BARE):
            database.execute(f"DROP TABLE IF EXISTS {table}")
            database.execute(
                f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, qty INT NOT NULL, note VARCHAR(60) NOT NULL, "
                "price DECIMAL(12, 2) NOT NULL, weight DOUBLE PRECISION NOT NULL)"
            )
    fill = f"SELECT n, 0, CONCAT('the note of number ', n), n, n / 7.0 FROM {numbers}"
    subject.source.execute(f"INSERT INTO {TABLE} {fill}")
    if subject.target.server.scheme == subject.source.server.scheme:
        subject.target.execute(f"INSERT INTO {BARE} {fill}")


def _change(source: Database, keys: int, changes: int) -> None:
    """Updates of neighbours, in random order."""
    chance = random.Random(7)
    with source.connect() as connection, connection.cursor() as cursor:
        for _ in range(changes // _STEP):
            low = chance.randrange(0, keys // _STEP) * _STEP if keys < changes else _ * _STEP
            cursor.execute(
                f"UPDATE {TABLE} SET qty = qty + 1, note = CONCAT('changed to ', qty) "
                f"WHERE id > {low} AND id <= {low + _STEP}"
            )


def _same(subject: Subject) -> bool:
    total = f"SELECT COUNT(*), SUM(qty), SUM(LENGTH(note)) FROM {TABLE}"
    found = [tuple(map(int, database.rows(total)[0])) for database in (subject.source, subject.target)]
    return found[0] == found[1]


def _bare(subject: Subject, keys: int) -> float:
    """Seconds to stage a changed row for each key and to merge them, without a log."""
    lines = "".join(
        f"{n}\t1\tchanged to 0\t{n}.00\t{n / 7.0!r}\t1\t0\t1\t\\N\t0\t1\n" for n in range(1, keys + 1)
    ).encode()
    url = parse_url(subject.target.url)
    with closing(open_target(url)) as target, closing(open_endpoint(url)) as endpoint:
        target.prepare()
        fence = target.progress.take("bare", "process 1 on nowhere")
        (table,) = endpoint.describe([TableName(endpoint.default_schema(), BARE)])
        transfer = transfer_of(TableRequest(BARE), table, table, same_engine=True, logs_generated_columns=True)
        stage = target.make_stages(fence, [transfer])[table.name].of_attempt("bare")
        start = target.progress.begin_at(fence, lambda: Position("0"))
        began = time.perf_counter()
        rows = target.loader().stage(stage, [lines], new=True)
        target.merge(
            fence, Merge([StagedChanges(stage, (ShareRows(rows, rows),))], start, Position("1")), with_progress=True
        )
        seconds = time.perf_counter() - began
        target.drop_task(fence)
    return seconds
