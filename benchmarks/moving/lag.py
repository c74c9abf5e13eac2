"""How far the target is behind a source that is written to all the time."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from benchmarks.moving.subjects import Subject, meta
from benchmarks.sheet import Measurement, Sheet
from tieout import api
from tieout.meta import Wanted
from tieout.model.requests import TableRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "ticking"
RATE, A_TRANSACTION = 1_000, 10
SETTLE_SECONDS, SECONDS = 10, 40
MOST = 3.0


def lag(sheet: Sheet, subject: Subject, spark: SparkSession, scratch: Path) -> None:
    for database in (subject.source, subject.target):
        database.execute(f"DROP TABLE IF EXISTS {TABLE}")
        database.execute(f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, at DOUBLE PRECISION NOT NULL)")
    subject.source.executemany(f"INSERT INTO {TABLE} VALUES (%s, 0)", [(n,) for n in range(RATE)])
    request = replace(subject.request, task=f"lag-{subject.name}", tables=(TableRequest(TABLE),))
    done = Event()
    writer = Thread(target=_write, args=[subject, done])
    mover = Thread(target=lambda: api.run_move(request, spark=spark, meta=meta(scratch)))
    mover.start()
    writer.start()
    try:
        samples = _samples(subject)
    finally:
        done.set()
        writer.join()
        api.control_move(request.task, Wanted.STOP, meta(scratch))
        mover.join()
    api.drop_move(request, meta(scratch))
    p95 = sorted(samples)[int(len(samples) * 0.95)]
    sheet.add(Measurement(f"lag/{subject.name}/95 %", p95, f"{MOST:.0f} s", MOST, 1.0))


def _write(subject: Subject, done: Event) -> None:
    with subject.source.connect() as connection, connection.cursor() as cursor:
        began, number = time.monotonic(), 0
        while not done.is_set():
            cursor.execute("BEGIN")
            for key in range(A_TRANSACTION):
                row = (number * A_TRANSACTION + key) % RATE
                cursor.execute(f"UPDATE {TABLE} SET at = %s WHERE id = %s", [time.time(), row])
            cursor.execute("COMMIT")
            number += 1
            time.sleep(max(0.0, began + number * A_TRANSACTION / RATE - time.monotonic()))


def _samples(subject: Subject) -> list[float]:
    """The age of the newest change that the target has, twenty times a second."""
    samples, began = [], time.monotonic()
    with subject.target.connect() as connection, connection.cursor() as cursor:
        while (elapsed := time.monotonic() - began) < SETTLE_SECONDS + SECONDS:
            cursor.execute(f"SELECT MAX(at) FROM {TABLE}")
            newest = cursor.fetchone()[0]
            if elapsed > SETTLE_SECONDS:
                samples.append(time.time() - float(newest or 0))
            time.sleep(0.05)
    return samples
