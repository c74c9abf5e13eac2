"""A private PostgreSQL cluster with logical decoding, prepared transactions and a log of every statement."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import psycopg

from tests.servers.process import HOST, ServerProcess, free_port, program
from tests.servers.server import PASSWORD, USER, Database, Server, Statement, fresh_name

INSTALLED = "/usr/lib/postgresql/*/bin/postgres"  # Debian keeps the server's programs off the PATH

SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_prepared_transactions": "10",
    "max_connections": "100",
    # Recordings read the log: process, database, application, message. Later lines begin with a tab.
    "log_statement": "all",
    "log_line_prefix": "~%p~%d~%a~",
    "log_parameter_max_length": "0",
    # An ANALYZE at a moment of its own choice would change what is planned.
    "autovacuum": "off",
    # Small and unsafe: the data lives as long as the test run.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "jit": "off",
}

# "execute fetch from" only goes on with a statement that has been logged.
STATEMENT = re.compile(r"~(\d+)~([^~]*)~([^~]*)~LOG:  (?:statement|execute (?!fetch from)[^:]*): (.*)", re.DOTALL)


@dataclass(frozen=True)
class Postgres(Server):
    scheme: ClassVar[str] = "postgresql"

    @contextmanager
    def connect(self, database: str | None = None) -> Iterator[psycopg.Connection[Any]]:
        connection = psycopg.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=database or "postgres",
            autocommit=True,
            connect_timeout=10,
        )
        with closing(connection):
            yield connection

    def create_database(self, name: str, template: str = "template1") -> None:
        self.execute(None, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')

    def drop_database(self, name: str) -> None:
        self.execute(None, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    @contextmanager
    def copy_of(self, template: str) -> Iterator[Database]:
        """A fresh database that begins as another one, to which nobody is connected."""
        name = fresh_name()
        self.create_database(name, template)
        try:
            yield Database(self, name)
        finally:
            self.drop_database(name)

    def set_time_zone(self, database: str, time_zone: str) -> None:
        """What new sessions of `database` begin with."""
        self.execute(None, f"""ALTER DATABASE "{database}" SET timezone = '{time_zone}'""")

    @contextmanager
    def recording(self) -> Iterator[list[Statement]]:
        # A statement is in the log before it runs, so what has been answered has been logged.
        statements: list[Statement] = []
        begin = self.process.log.stat().st_size
        yield statements
        with self.process.log.open("rb") as log:
            log.seek(begin)
            statements += _statements(log.read().decode(errors="replace"))


def start_postgres(settings: Mapping[str, str] | None = None) -> Postgres:
    """`settings` go before those of the tests."""
    # SIGINT is the fast shutdown: it does not wait for clients, as SIGTERM does.
    process = ServerProcess("postgres", accounts=("postgres", "nobody"), stop_signal=signal.SIGINT)
    data = process.directory / "data"
    try:
        programs = program("postgres", INSTALLED).resolve().parent
        process.run(
            programs / "initdb",
            f"--pgdata={data}",
            f"--username={USER}",
            f"--pwfile={process.write('password', PASSWORD)}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        )
        server = Postgres(process, port=free_port())
        options = [f"--{name}={value}" for name, value in {**SETTINGS, **(settings or {})}.items()]
        process.start(programs / "postgres", "-D", data, f"--port={server.port}", *options)
        process.wait_until(lambda: server.execute(None, "SELECT 1"))
    except BaseException:
        process.stop()
        raise
    return server


def _statements(log: str) -> list[Statement]:
    entries = re.split(r"\n(?=~\d+~)", log.rstrip("\n"))
    return [
        Statement(text.replace("\n\t", "\n"), int(pid), database or None, application or None)
        for pid, database, application, text in (m.groups() for m in map(STATEMENT.match, entries) if m)
    ]
