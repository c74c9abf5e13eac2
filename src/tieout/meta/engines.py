"""How each kind of database is opened, so that a transaction means the same on all of them."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.session import ALL_ROWS
from tieout.connectors.mysql.tls import log_in
from tieout.connectors.postgres.connection import require_path
from tieout.errors import MetaStoreError
from tieout.meta.faults import explained
from tieout.meta.location import Location
from tieout.meta.store_file import check_beside, make_private

WAIT_SECONDS = 15
"""How long a statement waits for another process's lock."""


def engine_for(location: Location) -> Engine:
    if location.file is not None:
        return _sqlite(location)
    name = location.endpoint.scheme
    try:
        engine = create_engine(
            location.url,
            connect_args=location.connect_args,
            hide_parameters=True,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
        )
    except ImportError as error:
        package = {"postgresql": "psycopg[binary]", "mysql": "pymysql[rsa]"}[name]
        raise MetaStoreError(f"a meta store on {name} needs a driver ({error})", f"pip install '{package}'") from error
    if name == "mysql":
        event.listen(engine, "connect", _prepare_mysql)
        event.listen(engine, "do_connect", _mysql_login(location.endpoint))
        return engine
    home = Home(location.endpoint.schema)
    event.listen(engine, "do_connect", home.find)
    event.listen(engine, "connect", _prepare_postgresql)
    return engine.execution_options(tieout_home=home)


class Home:
    """The schema of PostgreSQL that the store is kept in: the one that is asked for, or the user's own.

    Known once there is a connection. Our sessions name it: what another user made in it stands in for nothing.
    """

    def __init__(self, schema: str | None) -> None:
        self.schema = schema

    def find(self, dialect: Any, record: Any, arguments: Any, named: dict[str, Any]) -> None:
        if self.schema is not None:
            return
        connection = dialect.connect(*arguments, **{**named, "options": ""})
        try:
            self.schema = str(connection.execute("SELECT pg_catalog.current_schema()").fetchone()[0])
        finally:
            connection.close()


def home_of(connection: Connection) -> str | None:
    """None: the database has but one."""
    home = connection.get_execution_options().get("tieout_home")
    return home.schema if isinstance(home, Home) else None


def _mysql_login(endpoint: EndpointUrl) -> Any:
    """As endpoints log in. SQLAlchemy's own words for TLS leave the server's name unchecked without an authority."""

    def connection(dialect: Any, record: Any, positional: Any, named: dict[str, Any]) -> Any:
        # Servers that take no plain connection are reached as ever, whatever certificate they show.
        return log_in(endpoint, offered=True, **named)

    return connection


def _sqlite(location: Location) -> Engine:
    engine = create_engine(location.url, connect_args={"timeout": WAIT_SECONDS}, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    make_private(location)
    with explained(location):
        _use_write_ahead_log(engine)
    check_beside(location)
    return engine


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # the driver begins no transactions of its own: _begin_sqlite does
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("tieout_outside"):
        return
    if not options.get("tieout_writes"):
        connection.exec_driver_sql("BEGIN")
        return
    # With a write-ahead log NORMAL survives a kill of the process, FULL a loss of power too.
    connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if options.get('tieout_sync') else 'NORMAL'}")
    # A reader that turns writer can't wait for its turn, it fails at once: take the turn at the start.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _use_write_ahead_log(engine: Engine) -> None:
    """Lets others read while one writes. It lasts in the file, so only a new one is changed."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            with engine.connect().execution_options(tieout_outside=True) as connection:
                if connection.exec_driver_sql("PRAGMA journal_mode").scalar() != "wal":
                    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                return
        except OperationalError as error:
            # SQLite does not wait for this lock by itself.
            busy = getattr(error.orig, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _prepare_postgresql(connection: Any, record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")
        cursor.execute("SELECT pg_catalog.current_setting('search_path')")
        require_path(cursor.fetchone()[0])
    connection.commit()


def _prepare_mysql(connection: Any, record: Any) -> None:
    with connection.cursor() as cursor:
        # A server that isn't strict cuts long values without a word; pymysql needs backslash escapes for bytes.
        # And whatever the server's own settings are, all rows are read, and a COMMIT is a COMMIT.
        cursor.execute(
            f"SET SESSION sql_mode = 'STRICT_ALL_TABLES', sql_select_limit = {ALL_ROWS}, max_join_size = {ALL_ROWS}, "
            "sql_big_selects = 1, sql_safe_updates = 0, completion_type = 0"
        )
        cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {WAIT_SECONDS}")
    connection.commit()
