"""An SQLite file with the face of a server's database. SQL takes SQLite's parameters: ?."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SqliteDatabase:
    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """A connection in autocommit mode, closed when the block ends."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            yield connection

    def execute(self, sql: str, *params: Any) -> None:
        """Runs and commits one statement, or several if there are no parameters."""
        with self.connect() as connection:
            if params:
                connection.execute(sql, params)
            else:
                connection.executescript(sql)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self.connect() as connection:
            connection.execute("BEGIN")
            connection.executemany(sql, rows)
            connection.execute("COMMIT")

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(sql, params).fetchall()
