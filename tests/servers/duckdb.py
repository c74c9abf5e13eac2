"""A DuckDB file with the face of a server's database. SQL takes DuckDB's parameters: ?."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb


@dataclass(frozen=True)
class DuckDBDatabase:
    """`connect` holds the file, as any program that writes to it does."""

    path: Path

    def __post_init__(self) -> None:
        duckdb.connect(self.path).close()

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def url(self) -> str:
        return f"duckdb:///{self.path}"

    @contextmanager
    def connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection in autocommit mode, closed when the block ends."""
        with closing(duckdb.connect(self.path)) as connection:
            yield connection

    def execute(self, sql: str, *params: Any) -> None:
        """Runs and commits one statement, or several if there are no parameters."""
        with self.connect() as connection:
            connection.execute(sql, params or None)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self.connect() as connection:
            connection.executemany(sql, list(rows))

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(sql, params or None).fetchall()
