"""A table with two indexes, copied: ours beside the tools that people pipe into each other."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from benchmarks.databases import TABLE
from benchmarks.moving.subjects import Subject
from benchmarks.sheet import Sheet, Timed
from tests.servers.server import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BARS = {"mariadb": 0.6, "mariadb-postgres": 0.8, "postgres": 1.3}
PEERS = {"mariadb": "mariadb-dump | mariadb", "mariadb-postgres": "pgloader", "postgres": "pg_dump | psql"}


def copy(sheet: Sheet, subject: Subject, spark: SparkSession, scratch: Path, runs: int) -> None:
    ours, theirs = [], []
    if PEERS[subject.name] == "pgloader":
        _let_in(subject)
    for _ in range(runs):
        subject.forget(scratch)
        theirs.append(_peer(subject))
        subject.forget(scratch)
        ours.append(_ours(subject, spark, scratch))
    sheet.add_best(f"copy/{subject.name}", ours, PEERS[subject.name], theirs, BARS[subject.name])


def _ours(subject: Subject, spark: SparkSession, scratch: Path) -> Timed:
    seconds, _ = subject.move(spark, scratch)
    return Timed(seconds, _wrong(subject))


def _peer(subject: Subject) -> Timed:
    began = time.perf_counter()
    {"mariadb": _mariadb_dump, "mariadb-postgres": _pgloader, "postgres": _pg_dump}[subject.name](subject)
    return Timed(time.perf_counter() - began, _wrong(subject))


def _wrong(subject: Subject) -> str | None:
    """Rows and indexes are all there."""
    count = f"SELECT COUNT(*), SUM(qty) FROM {TABLE}"
    if [tuple(map(int, row)) for row in subject.source.rows(count)] != [
        tuple(map(int, row)) for row in subject.target.rows(count)
    ]:
        return "the two tables differ"
    if subject.target.server.scheme == "postgresql":
        found = subject.target.rows("SELECT COUNT(*) FROM pg_indexes WHERE tablename = %s", TABLE)[0][0]
    else:
        statement = (
            "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics "
            "WHERE table_schema = DATABASE() AND table_name = %s"
        )
        found = subject.target.rows(statement, TABLE)[0][0]
    return None if found == 3 else f"{found} indexes instead of 3"


def _mysql(program: str, database: Database) -> list[str]:
    server = database.server
    ends = [f"--host={server.host}", f"--port={server.port}", f"--user={server.user}", f"--password={server.password}"]
    return [program, "--no-defaults", "--protocol=tcp", *ends]


def _mariadb_dump(subject: Subject) -> None:
    dump = [*_mysql("mariadb-dump", subject.source), "--single-transaction", subject.source.name, TABLE]
    _piped(dump, [*_mysql("mariadb", subject.target), subject.target.name])


def _pg_dump(subject: Subject) -> None:
    _piped(
        ["pg_dump", "--dbname", subject.source.url, "--table", TABLE],
        ["psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--dbname", subject.target.url],
    )


def _piped(left: list[str], right: list[str]) -> None:
    with subprocess.Popen(left, stdout=subprocess.PIPE) as dump:
        subprocess.run(right, stdin=dump.stdout, stdout=subprocess.DEVNULL, check=True)
    if dump.returncode:
        raise RuntimeError(f"{left[0]} ended with {dump.returncode}")


LOADER = "loader"
"""pgloader's user and password: it can't read those of the tests out of a URL."""


def _let_in(subject: Subject) -> None:
    subject.source.execute(f"CREATE OR REPLACE USER {LOADER}@'%' IDENTIFIED BY '{LOADER}'")
    subject.source.execute(f"GRANT ALL ON *.* TO {LOADER}@'%'")
    subject.target.execute(f"CREATE ROLE {LOADER} LOGIN SUPERUSER PASSWORD '{LOADER}'")


def _pgloader(subject: Subject) -> None:
    source, target = (
        f"{database.server.scheme}://{LOADER}:{LOADER}@{database.server.host}:{database.server.port}/{database.name}"
        for database in (subject.source, subject.target)
    )
    script = f"""LOAD DATABASE FROM {source} INTO {target}
WITH include drop, create tables, create indexes, reset sequences
INCLUDING ONLY TABLE NAMES MATCHING '{TABLE}'
ALTER SCHEMA '{subject.source.name}' RENAME TO 'public';
"""
    with NamedTemporaryFile("w", suffix=".load") as file:
        file.write(script)
        file.flush()
        done = subprocess.run(["pgloader", "--quiet", file.name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"pgloader: {(done.stdout + done.stderr)[-500:]}")
