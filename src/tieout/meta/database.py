"""The connection to a meta store: how each kind of database is opened, read, and written in one transaction.

A transaction means the same on all of them.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.connection import ALL_ROWS
from tieout.connectors.mysql.protocol.login import log_in
from tieout.connectors.postgres.connection import require_path
from tieout.errors import MetaStoreError
from tieout.meta.errors import Fault, connecting, explain_os, explained
from tieout.meta.location import Location


@dataclass(frozen=True, slots=True)
class RowLimit:
    """How many bytes of a row a store takes, and what a user can do about it."""

    bytes: int
    hint: str


class Database:
    """A database whose errors are MetaStoreErrors. Safe to use from several threads."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._engine = engine_for(location)
        self._identity = self._file_identity()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._connect() as connection, explained(self.location):
            yield connection

    @contextmanager
    def write(self, *, survives_power_loss: bool = False) -> Iterator[Connection]:
        """One transaction: committed when the block ends, undone when it raises.

        What is committed survives a kill of this process; on SQLite, `survives_power_loss` also waits for
        the disk (a range lost with the power is merely done again; an undo journal must not be lost).
        """
        with self._connect() as connection, explained(self.location):
            connection = connection.execution_options(tieout_writes=True, tieout_sync=survives_power_loss)
            with connection.begin():
                yield connection

    @cached_property
    def row_limit(self) -> RowLimit:
        if self.location.file is not None:
            return RowLimit(900_000_000, "SQLite takes no more")
        if self.location.endpoint.scheme == "postgresql":
            return RowLimit(900_000_000, "PostgreSQL takes no more")
        with self.read() as connection:
            most = connection.exec_driver_sql("SELECT @@max_allowed_packet").scalar_one()
        return RowLimit(int(most), "raise its max_allowed_packet")

    def _connect(self) -> Connection:
        if self._file_identity() != self._identity:
            # SQLite would go on writing to the deleted file, and nobody would ever see it.
            raise Fault.MOVED.at(self.location)
        with connecting(self.location):
            connection = self._engine.connect()
        home = home_of(connection)
        return connection if home is None else connection.execution_options(schema_translate_map={None: home})

    def _file_identity(self) -> tuple[int, int] | None:
        if self.location.file is None:
            return None
        try:
            status = self.location.file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def close(self) -> None:
        self._engine.dispose()


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
    """The schema of PostgreSQL that holds the store: the one in the URL, or the user's own.

    Known once there is a connection. Our sessions always name it, so that another user's objects can't shadow ours.
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
    """The schema that holds the store; None if the database has only one."""
    home = connection.get_execution_options().get("tieout_home")
    return home.schema if isinstance(home, Home) else None


def _mysql_login(endpoint: EndpointUrl) -> Any:
    """Logs in as endpoints do. SQLAlchemy's own TLS options leave the server's name unchecked without an authority."""

    def connection(dialect: Any, record: Any, positional: Any, named: dict[str, Any]) -> Any:
        # A server that refuses plain connections is reached all the same, whatever certificate it shows.
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
    # A reader that becomes a writer can't wait for the lock, it fails at once: take the lock at the start.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _use_write_ahead_log(engine: Engine) -> None:
    """Lets others read while one writes. The setting is stored in the file, so only a new file is changed."""
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
        # A server that isn't strict truncates long values silently; pymysql needs backslash escapes for bytes.
        # The rest makes sure that all rows are read and a COMMIT is a COMMIT, whatever the server's settings.
        cursor.execute(
            f"SET SESSION sql_mode = 'STRICT_ALL_TABLES', sql_select_limit = {ALL_ROWS}, max_join_size = {ALL_ROWS}, "
            "sql_big_selects = 1, sql_safe_updates = 0, completion_type = 0"
        )
        cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {WAIT_SECONDS}")
    connection.commit()


_BESIDE = ("-wal", "-shm", "-journal")
"""Files that SQLite keeps beside a database, with its rows in them and the database's mode."""

_HAS_MODES = os.name != "nt"
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(location: Location) -> None:
    """Creates the directory and the file for this user alone, or checks the existing ones.

    The store holds values of rows. Whoever can put a file where the store will be, or beside it where SQLite writes its
    log, decides who reads it. Root can read all of it in any case.
    """
    file = location.file
    assert file is not None
    try:
        new = not file.parent.exists()
        if new:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_directory(location, file.parent)
        if new:
            (file.parent / ".gitignore").write_text("*\n")
        _check_beside(location, file)
        try:
            # Only if it is new: closing a file that SQLite has open elsewhere in this process drops its locks.
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            _check_there(location, file)
    except OSError as error:
        raise explain_os(error, location) from error


def check_beside(location: Location) -> None:
    """Checks again after SQLite has created its files: another user may have been faster."""
    file = location.file
    assert file is not None
    try:
        _check_beside(location, Path(os.path.realpath(file)))
    except OSError as error:
        raise explain_os(error, location) from error


def _check_there(location: Location, file: Path) -> None:
    if file.is_symlink():
        if _HAS_MODES:
            _check_owner(location, file.lstat(), "the link to it")
        if not file.exists():
            raise _refused(location, "it is a link to a file that does not exist")
        file = Path(os.path.realpath(file))
        _check_directory(location, file.parent)
        _check_beside(location, file)
    _check_file(location, file, "its file")


def _check_beside(location: Location, file: Path) -> None:
    for end in _BESIDE:
        path = file.with_name(file.name + end)
        if os.path.lexists(path):
            _check_file(location, path, f"its {path.name}")


def _check_file(location: Location, path: Path, what: str) -> None:
    if not _HAS_MODES:
        return
    try:
        found = path.lstat()
    except FileNotFoundError:  # another process has just closed the store
        return
    _check_owner(location, found, what)
    if not stat.S_ISREG(found.st_mode) or not found.st_mode & _OF_OTHERS:
        return
    if found.st_uid == os.geteuid():
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OF_OTHERS)
    elif found.st_mode & stat.S_IRWXO:
        raise _refused(location, f"all users can read or write {what}")


def _check_directory(location: Location, directory: Path) -> None:
    if not _HAS_MODES:
        return
    found = directory.stat()
    _check_owner(location, found, "its directory")
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        raise _refused(location, "all users can write to its directory")


def _check_owner(location: Location, found: os.stat_result, what: str) -> None:
    if found.st_uid not in (os.geteuid(), 0):
        raise _refused(location, f"{what} belongs to another user (uid {found.st_uid})")


def _refused(location: Location, words: str) -> MetaStoreError:
    return Fault.NOT_OURS.at(location, words)
