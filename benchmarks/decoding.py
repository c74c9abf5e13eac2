"""Decoding a binary log beside mysql-replication: rows a second, of the same log, each on one core.

`python benchmarks/decoding.py` starts a MariaDB, changes rows (ROWS, 200,000 unless told otherwise) and prints both.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_TABLE = """CREATE TABLE bench (
    id BIGINT NOT NULL PRIMARY KEY, qty INT NOT NULL, serial BIGINT NOT NULL, price DECIMAL(12,2) NOT NULL,
    weight DOUBLE NOT NULL, changed_at DATETIME(6) NOT NULL, name VARCHAR(80), status VARCHAR(20) NOT NULL)"""

# One name in ten is NULL. Of six changes three are inserts, two updates, one a delete.
_CHANGES = (
    """INSERT INTO bench SELECT n, n * 7919 % 100003 - 50000, c * 1000003 - 2000000000000000,
        c % 100000000 / 100 - 500000, RAND(n) * 1000,
        '2019-01-01' + INTERVAL c * 9973 MICROSECOND + INTERVAL n % 5000 HOUR,
        IF(n % 10, CONCAT('Ångström & Söhne no. ', n, ' / ', c), NULL),
        ELT(1 + n % 7, 'new', 'paid', 'packed', 'shipped', 'returned', 'cancelled', 'on hold')
        FROM (SELECT CAST(seq AS SIGNED) AS n, CAST(CRC32(seq) AS SIGNED) AS c FROM seq_1_to_{inserts}) numbers""",
    "UPDATE bench SET qty = qty + 1, status = 'moved' WHERE id <= {updates}",
    "DELETE FROM bench WHERE id > {inserts} - {deletes}",
)


def decoding_rates(url: str, after: str, upto: str, rows: int) -> tuple[float, float]:
    """Rows a second of ours and of mysql-replication's, for the log between two positions with so many changes."""
    return rows / _seconds(_ours(url, after, upto), rows), rows / _seconds(_theirs(url, after), rows)


def _seconds(counts: Iterator[int], rows: int) -> float:
    """How long it takes until all rows were counted."""
    began = time.perf_counter()
    seen = 0
    for count in counts:
        seen += count
        if seen >= rows:
            return time.perf_counter() - began
    raise RuntimeError(f"{seen} rows instead of {rows}")


def _ours(url: str, after: str, upto: str) -> Iterator[int]:
    from tieout.config.urls import parse_url
    from tieout.connectors.mysql.binlog import BinlogLog
    from tieout.model.positions import Position
    from tieout.model.row_changes import Rows
    from tieout.model.tables import TableName

    endpoint = parse_url(url)
    table = TableName(endpoint.database or "", "bench")
    for item in BinlogLog(endpoint).read(Position(after), Position(upto), frozenset({table})):
        if isinstance(item, Rows):
            yield len(item.rows)


def _theirs(url: str, after: str) -> Iterator[int]:
    from pymysqlreplication import BinLogStreamReader  # type: ignore[import-untyped]
    from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent  # type: ignore[import-untyped]

    from tieout.config.urls import parse_url
    from tieout.model.positions import Position

    endpoint, begin = parse_url(url), Position(after)
    stream = BinLogStreamReader(
        connection_settings={
            "host": endpoint.host,
            "port": endpoint.port,
            "user": endpoint.user,
            "password": endpoint.password,
        },
        server_id=4_000_000_001,
        log_file=begin.file,
        log_pos=begin.offset,
        resume_stream=True,
        only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
        only_schemas=[endpoint.database],
        only_tables=["bench"],
    )
    try:
        for event in stream:
            yield len(event.rows)
    finally:
        stream.close()


def measured(rows: int) -> tuple[float, float]:
    """Rows a second of ours and of theirs, on a server of their own."""
    from tests.servers.mariadb import start_mariadb
    from tieout.config.urls import parse_url
    from tieout.connectors.mysql.binlog import BinlogLog

    deletes, updates = rows // 6, rows // 3
    inserts = rows - deletes - updates
    server = start_mariadb(time_zone="+00:00", server_id=1)
    try:
        with server.fresh_database() as database:
            database.execute(_TABLE)
            log = BinlogLog(parse_url(database.url))
            after = log.now()
            for change in _CHANGES:
                database.execute(change.format(inserts=inserts, updates=updates, deletes=deletes))
            return decoding_rates(database.url, str(after), str(log.now()), rows)
    finally:
        server.stop()


def main() -> int:
    sys.path[0] = str(ROOT)  # for tests.servers; and no module here hides one of the standard library
    rows = int(os.environ.get("ROWS", "200000"))
    ours, theirs = measured(rows)
    print(f"{rows:,} changes of rows: ours {ours:,.0f}/s, mysql-replication {theirs:,.0f}/s, {ours / theirs:.1f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
