"""The wide table in Parquet files and in databases, and what a verification found, in one shape."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.integration.frames.table import COLUMNS, MARIADB, POSTGRES, SQLITE, Column, Row
from tieout import VerificationResult


def write_parquet(path: Path, rows: Sequence[Row], columns: Sequence[Column] = COLUMNS, *, files: int = 2) -> None:
    """A directory of files, as Spark leaves it."""
    path.mkdir(parents=True)
    schema = pa.schema([(column.name, column.arrow) for column in columns])
    for number in range(files):
        part = [{column.name: row[column.name] for column in columns} for row in rows[number::files]]
        pq.write_table(pa.Table.from_pylist(part, schema), path / f"part-{number:05}.parquet")


def columns_of(engine: str) -> list[Column]:
    """The columns that a database can hold."""
    return [column for column in COLUMNS if engine in column.types]


class Store:
    """Tables of a database."""

    def __init__(self, engine: str, database: Any) -> None:
        self.engine = engine
        self.url = str(database.url)
        self._database = database
        self.columns = columns_of(engine)

    def write(self, tables: dict[str, Sequence[Row]]) -> None:
        with self._database.connect() as connection:
            cursor = connection.cursor()
            if self.engine == MARIADB:
                cursor.execute("SET time_zone = '+00:00'")
            elif self.engine == POSTGRES:
                cursor.execute("SET TimeZone = 'UTC'")
            for name, rows in tables.items():
                declared = ", ".join(f"{self._quoted(c.name)} {c.types[self.engine]}" for c in self.columns)
                cursor.execute(f"CREATE TABLE {self._quoted(name)} ({declared})")
                mark = "?" if self.engine == SQLITE else "%s"
                marks = ", ".join([mark] * len(self.columns))
                values = [[self._spelled(row[c.name]) for c in self.columns] for row in rows]
                cursor.executemany(f"INSERT INTO {self._quoted(name)} VALUES ({marks})", values)

    def _quoted(self, name: str) -> str:
        return f"`{name}`" if self.engine == MARIADB else f'"{name}"'

    def _spelled(self, value: Any) -> Any:
        if self.engine == POSTGRES:
            return value
        if isinstance(value, datetime):
            return value.replace(tzinfo=None).isoformat(" ")
        if self.engine == SQLITE and isinstance(value, Decimal):
            return str(value)
        return str(value) if self.engine == SQLITE and hasattr(value, "isoformat") else value


def found_in(result: VerificationResult, table: str | None = None) -> frozenset[Any]:
    """The differences of a result, or of one of its tables, in the shape of `Fault.found`."""
    return frozenset(
        (
            difference.kind.value,
            int(difference.key["id"] or ""),
            frozenset((name, pair.source, pair.target) for name, pair in difference.columns.items()),
        )
        for difference in result.differences
        if table is None or difference.table.split(".")[-1] == table
    )
