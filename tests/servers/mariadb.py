"""A private MariaDB with the binary log that replication needs."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import pymysql
from pymysql.constants import CLIENT

from tests.servers.process import HOST, ServerProcess, free_port, program
from tests.servers.server import PASSWORD, USER, Database, Server, Statement

SETTINGS = {
    "log-bin": "bin",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "binlog-row-metadata": "FULL",
    "binlog-annotate-row-events": "ON",
    "character-set-server": "utf8mb4",
    "skip-name-resolve": "ON",
    "bind-address": HOST,
    "max-connections": "100",
    # Small and unsafe: the data lives as long as the test run.
    "innodb-flush-log-at-trx-commit": "0",
    "sync-binlog": "0",
    "innodb-doublewrite": "OFF",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "32M",
    "key-buffer-size": "1M",
    "aria-pagecache-buffer-size": "8M",
    "performance-schema": "OFF",
    # Recordings switch the general log on; a table keeps a statement of many lines in one piece.
    "log-output": "TABLE",
}

INIT_SQL = f"""
SET sql_log_bin = 0;
CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';
GRANT ALL PRIVILEGES ON *.* TO '{USER}'@'%' WITH GRANT OPTION;
DROP USER IF EXISTS 'root'@'localhost', 'root'@'127.0.0.1', 'root'@'::1';
"""


@dataclass(frozen=True)
class MariaDB(Server):
    scheme: ClassVar[str] = "mysql"

    @contextmanager
    def connect(self, database: str | None = None) -> Iterator[pymysql.connections.Connection[Any]]:
        connection = pymysql.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            database=database,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=10,
            ssl_disabled=True,  # or each connection loads the system's certificates: 50 ms
            client_flag=CLIENT.MULTI_STATEMENTS,
        )
        with connection:
            yield connection

    def create_database(self, name: str) -> None:
        self.execute(None, f"CREATE DATABASE `{name}`")

    def drop_database(self, name: str) -> None:
        # A connection that a test left open may hold a lock that DROP would wait for.
        for (thread,) in self.rows(None, "SELECT id FROM information_schema.processlist WHERE db = %s", name):
            with suppress(pymysql.err.OperationalError):  # it has gone by itself
                self.execute(None, f"KILL {thread}")
        self.execute(None, f"DROP DATABASE IF EXISTS `{name}`")

    @contextmanager
    def recording(self) -> Iterator[list[Statement]]:
        statements: list[Statement] = []
        with self.connect() as control, control.cursor() as cursor:
            cursor.execute("TRUNCATE mysql.general_log")
            cursor.execute("SET GLOBAL general_log = ON")
            try:
                yield statements
            finally:
                cursor.execute("SET GLOBAL general_log = OFF")
            cursor.execute("SELECT thread_id, command_type, argument FROM mysql.general_log")
            statements += _statements(cursor.fetchall(), control.thread_id())


def prepare_xa(database: Database, xid: str, *statements: str) -> None:
    """Prepares a transaction by a client that goes away. Returns when another client may end it: the server knows a
    little later that the first one is gone, and answers "Unknown XID" until then.
    """
    with database.connect() as connection, connection.cursor() as cursor:
        thread = connection.thread_id()
        for statement in (f"XA START {xid}", *statements, f"XA END {xid}", f"XA PREPARE {xid}"):
            cursor.execute(statement)
    until = time.monotonic() + 30
    while database.rows(f"SELECT 1 FROM information_schema.processlist WHERE id = {thread}"):
        assert time.monotonic() < until, "the client never went away"
        time.sleep(0.01)


def roll_back_prepared(database: Database) -> None:
    """Ends the XA transactions that a test left behind: they keep their locks whoever comes and goes."""
    for *_, xid in database.rows("XA RECOVER FORMAT = 'SQL'"):
        database.execute(f"XA ROLLBACK {xid}")


def start_mariadb(time_zone: str, server_id: int, settings: Mapping[str, str] | None = None) -> MariaDB:
    """`settings` go before those of the tests."""
    process = ServerProcess("mariadb", accounts=("mysql", "nobody"), stop_signal=signal.SIGTERM)
    data = process.directory / "data"
    chosen = {**SETTINGS, **(settings or {})}
    try:
        process.run(
            program("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            f"--innodb-log-file-size={chosen['innodb-log-file-size']}",
        )
        server = MariaDB(process, port=free_port())
        process.start(
            program("mariadbd"),
            "--no-defaults",
            f"--datadir={data}",
            # A server that starts deletes what it finds of temporary tables, those of its neighbours too.
            f"--tmpdir={process.make('tmp')}",
            f"--port={server.port}",
            f"--socket={process.directory / 'socket'}",
            f"--pid-file={process.directory / 'pid'}",
            f"--server-id={server_id}",
            f"--default-time-zone={time_zone}",
            f"--init-file={process.write('init.sql', INIT_SQL)}",
            *(f"--{name}={value}" for name, value in chosen.items()),
        )
        process.wait_until(lambda: server.execute(None, "SELECT 1"))
    except BaseException:
        process.stop()
        raise
    return server


def _statements(log: Any, control: int) -> list[Statement]:
    """The general log without the connection that made it; says where each client was at the time."""
    statements: list[Statement] = []
    databases: dict[int, str] = {}
    for thread, command, argument in log:
        if thread == control:
            continue
        text = argument.decode(errors="replace") if isinstance(argument, bytes) else argument
        if command == "Connect" and " on " in text:  # "user@host on database using TCP/IP"
            databases[thread] = text.split(" on ", 1)[1].split(" using ", 1)[0]
        elif command == "Init DB":
            databases[thread] = text
        elif command in ("Query", "Execute"):
            statements.append(Statement(text, thread, databases.get(thread) or None))
    return statements
