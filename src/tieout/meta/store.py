"""The meta store: the truth about jobs, what they found, and what users want of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, insert, inspect, select, text

from tieout.errors import MetaStoreError
from tieout.meta.database import WAIT_SECONDS, Database, home_of
from tieout.meta.differences import Differences
from tieout.meta.failures import Failures
from tieout.meta.jobs import Jobs, JobTables
from tieout.meta.location import DEFAULT_URL, locate
from tieout.meta.positions import CheckedPositions, Moves
from tieout.meta.progress import CheckUnits, Ranges
from tieout.meta.repairs import Repairs
from tieout.meta.schema import HEAD, REVISIONS, VERSION_TABLE, metadata, revision


class MetaStore:
    """An open store, by noun. Any number of processes and threads may use one store at the same time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.url = database.location.shown
        self.jobs = Jobs(database)
        self.tables = JobTables(database)
        self.ranges = Ranges(database)
        self.differences = Differences(database)
        self.repairs = Repairs(database)
        self.moves = Moves(database)
        self.failures = Failures(database)
        self.check_units = CheckUnits(database)
        self.checked = CheckedPositions(database)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(url: str = DEFAULT_URL) -> MetaStore:
    """Opens the store at `url`, made and migrated as needed. Raises MetaStoreError (ConfigError for the URL)."""
    database = Database(locate(url))
    try:
        bring_up_to_date(database)
    except BaseException:
        database.close()
        raise
    return MetaStore(database)


LOCK_NUMBER = 7_108_114_953  # any number that no other program uses


def bring_up_to_date(database: Database) -> None:
    """Creates or migrates the tables; refuses those of a newer program. At HEAD it only reads."""
    with database.read() as connection:
        if _stored(connection) == HEAD:
            return
    with database.write(survives_power_loss=True) as connection, _alone(connection):
        stored = _stored(connection)  # another process may have migrated it meanwhile
        if stored is None:
            _create(connection)
        elif stored not in REVISIONS:
            raise MetaStoreError(
                f"a newer tieout wrote the meta store: {database.location.shown} "
                f"(schema {stored}, this one knows up to {HEAD})",
                "upgrade tieout, or set `meta` to another place",
            )
        elif stored != HEAD:
            migrate(connection)


def migrate(connection: Connection, to: str = "head") -> None:
    """Runs the revisions between what is stored and `to`, in the connection's transaction."""
    from alembic import command  # a fifth of a second, and almost never needed
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "tieout.meta:migrations")
    config.attributes["connection"] = connection
    config.attributes["home"] = home_of(connection)
    command.upgrade(config, to)


def _stored(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE, schema=home_of(connection)):
        return None
    return connection.execute(select(revision.c.version_num)).scalar()


def _create(connection: Connection) -> None:
    """Creates a new store at HEAD directly (a test compares the result with that of all the revisions)."""
    metadata.create_all(connection)
    revision.create(connection, checkfirst=True)
    connection.execute(insert(revision).values(version_num=HEAD))


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Keeps other processes from creating or migrating at the same time; on SQLite the transaction does."""
    name = connection.dialect.name
    if name == "postgresql":
        connection.execute(text("SELECT pg_catalog.pg_advisory_xact_lock(:number)"), {"number": LOCK_NUMBER})
        yield
    elif name == "mysql":
        # Not bound to the transaction, which DDL ends on MySQL.
        lock = {"name": f"tieout-{LOCK_NUMBER}", "seconds": WAIT_SECONDS}
        if not connection.scalar(text("SELECT GET_LOCK(:name, :seconds)"), lock):
            raise MetaStoreError("another process is preparing the meta store", "try again when it has finished")
        try:
            yield
        finally:
            connection.execute(text("SELECT RELEASE_LOCK(:name)"), lock)
    else:
        yield
