"""Brings a store's tables to the revision this program works with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, insert, inspect, select, text

from tieout.errors import MetaStoreError
from tieout.meta.database import Database
from tieout.meta.engines import WAIT_SECONDS, home_of
from tieout.meta.schema import HEAD, REVISIONS, VERSION_TABLE, metadata, revision

LOCK_NUMBER = 7_108_114_953  # any number will do, if no other program uses it


def bring_up_to_date(database: Database) -> None:
    """Creates or migrates the tables; refuses those of a newer program. At HEAD it only reads."""
    with database.read() as connection:
        if _stored(connection) == HEAD:
            return
    with database.write(survives_power_loss=True) as connection, _alone(connection):
        stored = _stored(connection)  # another process may have done it meanwhile
        if stored is None:
            _create(connection)
        elif stored not in REVISIONS:
            raise MetaStoreError(
                f"the meta store was written by a newer tieout: {database.location.shown} "
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
    """A new store is made at HEAD in one go (a test holds the result to that of all the revisions)."""
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
            raise MetaStoreError("another process is preparing the meta store", "try again when it is done")
        try:
            yield
        finally:
            connection.execute(text("SELECT RELEASE_LOCK(:name)"), lock)
    else:
        yield
