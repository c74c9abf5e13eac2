"""The connection to a meta store: how it is read, and written in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection

from tieout.meta.engines import engine_for, home_of
from tieout.meta.faults import Fault, connecting, explained
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
