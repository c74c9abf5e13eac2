"""How a wide table is made and changed on each engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from tests.integration.matrix.columns import MARIADB, POSTGRES, SQLITE, Column

_SESSIONS = {
    # Zero dates are wanted; TIMESTAMPs are written in UTC, whatever the server's time zone.
    MARIADB: "SET SESSION sql_mode = '', time_zone = '+00:00'",
    POSTGRES: "SET TimeZone = 'UTC'",
}


class TestDatabase:
    """A database of the matrix: one engine, one side."""

    __test__ = False

    def __init__(self, engine: str, database: Any, *, is_source: bool) -> None:
        self.engine = engine
        self.database = database
        self.is_source = is_source
        self._cursor: Any = None

    @property
    def url(self) -> str:
        return str(self.database.url)

    def quote(self, name: str) -> str:
        return f"`{name}`" if self.engine == MARIADB else f'"{name}"'

    @contextmanager
    def open(self) -> Iterator[None]:
        """One connection for everything that is run inside."""
        with self.database.connect() as connection:
            self._cursor = connection.cursor()
            if self.engine != SQLITE:
                self._cursor.execute(_SESSIONS[self.engine])
            yield

    def run(self, statement: str, params: Sequence[Any] = ()) -> None:
        """A parameter is written as %s."""
        if not params:
            self._cursor.execute(statement)
            return
        if self.engine == SQLITE:
            statement = statement.replace("%s", "?")
        self._cursor.execute(statement, [_AS_GIVEN[self.engine](p) for p in params])

    def set_up(self) -> None:
        if self.engine == POSTGRES:
            self.run("CREATE TYPE matrix_size AS ENUM ('small', 'größe', 'it''s', 'Small')")
            ignoring_case = "provider = icu, locale = 'und-u-ks-level1', deterministic = false"
            self.run(f"CREATE COLLATION matrix_insensitive ({ignoring_case})")

    def create_wide(self, name: str, columns: Sequence[Column]) -> None:
        parts = [f"{self.quote('id')} {'INTEGER' if self.engine == SQLITE else 'BIGINT'} PRIMARY KEY"]
        for column in columns:
            declared = f"{self.quote(column.name)} {column.type_on(self.engine, is_source=self.is_source)}"
            if column.generated:
                stored = "VIRTUAL" if column.name == "virtual" else "STORED"
                declared += f" GENERATED ALWAYS AS ({column.generated[self.engine]}) {stored}"
            parts.append(declared)
        tail = " CHARACTER SET utf8mb4" if self.engine == MARIADB else ""
        self.run(f"CREATE TABLE {self.quote(name)} ({', '.join(parts)}){tail}")

    def fill_wide(self, name: str, columns: Sequence[Column], keys: Sequence[int]) -> None:
        stored = [c for c in columns if not c.generated]
        names = ", ".join(self.quote(n) for n in ("id", *(c.name for c in stored)))
        marks = ", ".join(["%s"] * (len(stored) + 1))
        statement = f"INSERT INTO {self.quote(name)} ({names}) VALUES ({marks})"
        for row, key in enumerate(keys):
            self.run(statement, [key, *(c.value(row, self.engine) for c in stored)])

    def copy_wide(self, name: str, original: str, columns: Sequence[Column]) -> None:
        self.create_wide(name, columns)
        names = ", ".join(self.quote(n) for n in ("id", *(c.name for c in columns if not c.generated)))
        table = self.quote(name)
        self.run(f"INSERT INTO {table} ({names}) SELECT {names} FROM {self.quote(original)}")

    def settle(self) -> None:
        """Statistics for the planner of work, as a database in use has them."""
        if self.engine == POSTGRES:
            self.run("ANALYZE")


def _mariadb(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else str(value) if isinstance(value, UUID) else value


def _postgres(value: Any) -> Any:
    """Everything but bytes as text, which the server reads by the column's type."""
    if value is None or isinstance(value, bytes):
        return value
    return repr(value) if isinstance(value, float) else str(value)


def _sqlite(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


_AS_GIVEN = {MARIADB: _mariadb, POSTGRES: _postgres, SQLITE: _sqlite}
