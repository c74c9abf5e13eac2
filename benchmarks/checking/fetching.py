"""What a user would do without us: fetch the columns of the indexes by each path, as Arrow. Nothing is compared."""

from __future__ import annotations

import time
from collections.abc import Sequence

import adbc_driver_postgresql.dbapi
import connectorx
import pyarrow as pa

from benchmarks.checking.subjects import INDEXES
from benchmarks.databases import TABLE
from benchmarks.sheet import Timed
from tests.servers.server import Database

_SWITCHES = ("enable_seqscan", "enable_indexscan", "enable_indexonlyscan")


def fetch(database: Database, indexes: Sequence[str]) -> Timed:
    """The table once, with all that the indexes hold; then each index."""
    fetch_one = _from_postgres if database.server.scheme == "postgresql" else _from_mariadb
    columns = list(dict.fromkeys(column for index in indexes for column in INDEXES[index]))
    started = time.perf_counter()
    rows = [fetch_one(database, columns, None)]
    rows += [fetch_one(database, INDEXES[index], index) for index in indexes]
    seconds = time.perf_counter() - started
    return Timed(seconds, None if len(set(rows)) == 1 else f"rows by path: {rows}")


def _from_postgres(database: Database, columns: Sequence[str], index: str | None) -> int:
    with adbc_driver_postgresql.dbapi.connect(database.url, autocommit=True) as connection:
        with connection.cursor() as cursor:
            for name, value in _through(index).items():
                cursor.execute(f"SET {name} = {value}")
            cursor.execute(_statement(columns))
            return int(cursor.fetch_arrow_table().num_rows)


def _through(index: str | None) -> dict[str, str]:
    others = ("enable_indexscan", "enable_indexonlyscan") if index is None else ("enable_seqscan",)
    return {**dict.fromkeys(others, "off"), "enable_bitmapscan": "off", "max_parallel_workers_per_gather": "0"}


def _statement(columns: Sequence[str]) -> str:
    return f"SELECT {', '.join(columns)} FROM {TABLE}"


def prove(database: Database) -> None:
    """That PostgreSQL takes the paths that are meant."""
    with database.connect() as connection:
        for index, columns in {None: ["qty", "name"], **INDEXES}.items():
            for name, value in {**dict.fromkeys(_SWITCHES, "on"), **_through(index)}.items():
                connection.execute(f"SET {name} = {value}")
            plan = str(connection.execute(f"EXPLAIN {_statement(columns)}").fetchall())
            assert ("Seq Scan" if index is None else f"Index Only Scan using {index}") in plan, plan


def _from_mariadb(database: Database, columns: Sequence[str], index: str | None) -> int:
    keyed = list(dict.fromkeys([*columns, "id"]))
    statement = f"SELECT {', '.join(keyed)} FROM {TABLE} FORCE INDEX ({index or 'PRIMARY'})"
    found = connectorx.read_sql(database.url, statement, return_type="arrow", protocol="binary")
    assert isinstance(found, pa.Table)
    return int(found.num_rows)
