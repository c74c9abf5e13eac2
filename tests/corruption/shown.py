"""What Tieout and an engine's own checker say of every fault: the table of docs/reference/what-check-finds.md."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.corruption import catalogue, mariadb, sqlite
from tests.corruption.catalogue import Fault
from tests.servers.process import program
from tests.servers.server import PASSWORD
from tieout import api
from tieout.model.failures import CheckReport, Failure, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "what-check-finds.md"

_HEAD = """\
# What CHECK finds

Databases were really corrupted, each fault in a table of its own, on PostgreSQL {postgresql}, MariaDB {mariadb} and
SQLite {sqlite}. Beside what `tieout check` said of each table stands what the engine's own checker said:
`pg_amcheck --heapallindexed`, `CHECK TABLE … EXTENDED`, `PRAGMA integrity_check` and `PRAGMA foreign_key_check`.

`tools/what_check_finds.py` writes this file, and `make test-faults` fails if it is not what is found.
"""

MOST = 3
"""Lines of one checker's words about one fault."""

Checker = Callable[[Any, str], Sequence[str]]


_PARTS = {"PostgreSQL": 1, "MariaDB": 2, "SQLite": 1}


def rows_for(database: Any, faults: list[Fault], own: Checker, spark: SparkSession, directory: Path) -> Iterator[str]:
    """One check of the whole database, and then the engine's own of each table: that may mark what it finds."""
    for fault in faults:
        for statements in (fault.create, fault.fill):
            database.execute(statements.format(t=fault.name))
    for fault in faults:
        fault.make(database, fault.name)
    said: dict[str, list[str]] = defaultdict(list)
    for statement in sorted({fault.of for fault in faults}):
        report = api.check(
            database.url,
            f"{statement} {database.name}",
            spark=spark,
            meta=f"sqlite:///{directory}/meta.db",
            recheck_after=0.0,
            engine_checker="none",
        )
        for table, words in _told(report).items():
            said[table] = words
    for fault in faults:
        theirs = [_neutral(line, database.name) for line in own(database, fault.name)]
        yield f"| {fault.words} | {_cell(said.get(fault.name, []))} | {_cell(theirs)} |"


def _told(report: CheckReport) -> dict[str, list[str]]:
    told: dict[str, list[str]] = defaultdict(list)
    groups: dict[tuple[str, str, str | None], list[Failure]] = defaultdict(list)
    for failure in report.failures:
        groups[failure.table.split(".")[-1], failure.kind.value, failure.index or failure.constraint].append(failure)
    for (table, kind, name), failures in sorted(groups.items(), key=str):
        told[table].append(f"`{kind}` of `{name}`{_keys(failures)}")
    for check in report.checks:
        if check.status is Status.NOT_CHECKED:
            told[check.table.split(".")[-1]].append(f"`{check.name}` not checked: {check.reason}")
    return told


def _keys(failures: Sequence[Failure]) -> str:
    if len(failures) > 3:
        return f", {len(failures)} times"
    keys = [", ".join(f"{name} {value}" for name, value in (each.primary_key or {}).items()) for each in failures]
    known = sorted(key for key in keys if key)
    return f" ({'; '.join(known)})" if known else ""


def _neutral(line: str, database: str) -> str:
    """Without the name of this database, and the bytes of a record."""
    return line.replace(database, "shop").split(": COMPACT RECORD")[0].strip()


def _cell(lines: Sequence[str]) -> str:
    shown = list(lines[:MOST]) + ([f"… and {len(lines) - MOST} more"] if len(lines) > MOST else [])
    return "<br>".join(line.replace("|", "\\|") for line in shown) or "nothing"


def amcheck(database: Database, table: str) -> list[str]:
    """The errors that the program prints, without where in the log the page was written last."""
    server = database.server
    found = subprocess.run(
        [
            program("pg_amcheck", "/usr/lib/postgresql/*/bin/pg_amcheck"),
            *("--heapallindexed", "--install-missing", f"--host={server.host}", f"--port={server.port}"),
            *(f"--username={server.user}", f"--table=public.{table}", database.name),
        ],
        env={"PGPASSWORD": PASSWORD},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.strip() for line in found.stdout.splitlines()]
    return [" ".join(line.split()[1:]) for line in lines if line.startswith("ERROR:")]


def document(spark: SparkSession, directory: Path) -> str:
    """The whole file, from servers of its own."""
    from tests.servers.mariadb import start_mariadb
    from tests.servers.postgres import start_postgres
    from tests.servers.sqlite import SqliteDatabase

    sections = {}
    versions = {}
    server: Any
    for name, start, faults, own in (
        ("PostgreSQL", start_postgres, catalogue.POSTGRES, amcheck),
        ("MariaDB", lambda: start_mariadb(time_zone="+00:00", server_id=9), catalogue.MARIADB, mariadb.own_checker),
    ):
        server = start()
        try:
            with server.fresh_database() as database:
                if name == "PostgreSQL":
                    database.execute("CREATE EXTENSION pageinspect")
                versions[name] = str(database.rows("SELECT version()")[0][0]).removeprefix("PostgreSQL ").split("-")[0]
                sections[name] = list(rows_for(database, faults, own, spark, directory))
        finally:
            server.stop()
    file = SqliteDatabase(directory / "shop.db")
    versions["SQLite"] = str(file.rows("SELECT sqlite_version()")[0][0])
    sections["SQLite"] = list(rows_for(file, catalogue.SQLITE, sqlite.own_checker, spark, directory))
    # A new patch of a server is no reason to write the file again.
    major = {
        name.casefold(): ".".join(version.split()[0].split(".")[: _PARTS[name]]) for name, version in versions.items()
    }
    text = _HEAD.format(**major)
    for name, rows in sections.items():
        text += "\n".join(
            ["", f"## {name}", "", "| fault | `tieout check` | its own checker |", "|---|---|---|", *rows, ""]
        )
    return text
