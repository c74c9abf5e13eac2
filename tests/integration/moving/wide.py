"""One table with a column of every type: how it is filled, changed and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.integration.matrix.columns import MARIADB, POSTGRES, Column
from tests.integration.matrix.engines import TestDatabase

ROWS = 40


@dataclass(frozen=True)
class Wide:
    """The table `name` on one side."""

    side: TestDatabase
    columns: Sequence[Column]
    name: str
    nullable: bool = True
    rows: int = ROWS

    @property
    def stored(self) -> list[Column]:
        return [column for column in self.columns if not column.generated]

    def create(self) -> None:
        self.side.create_wide(self.name, self.columns)

    def fill(self) -> None:
        """Each column's values in turn, and a row of NULLs."""
        self.side.fill_wide(self.name, self.columns, range(self.rows))
        if self.nullable:
            self.side.run(f"INSERT INTO {self._table} ({self.side.quote('id')}) VALUES (-1)")

    def change(self) -> None:
        """Of every third row all columns get their next value; rows come and go, and a row gets another key."""
        assigned = ", ".join(f"{self.side.quote(column.name)} = %s" for column in self.stored)
        for row in range(0, self.rows, 3):
            values = [column.value(row + 1, self.side.engine) for column in self.stored]
            self.side.run(f"UPDATE {self._table} SET {assigned} WHERE {self.side.quote('id')} = {row}", values)
        self.side.run(f"DELETE FROM {self._table} WHERE {self.side.quote('id')} IN (1, 4, -1)")
        self.side.fill_wide(self.name, self.columns, range(1000, 1000 + self.rows))
        if self.nullable:
            self.side.run(f"INSERT INTO {self._table} ({self.side.quote('id')}) VALUES (-2)")
            # Full rows keep values elsewhere; PostgreSQL's log leaves those out, and a new key can't be followed.
            self.side.run(f"UPDATE {self._table} SET {self.side.quote('id')} = 5000 WHERE {self.side.quote('id')} = 7")

    def texts(self) -> list[dict[str, str]]:
        """The rows as the server itself writes them."""
        written = ", ".join(map(self._written, self.columns))
        with self.side.open():
            self.side.run(f"SELECT {written} FROM {self._table} ORDER BY {self.side.quote('id')}")
            rows = self.side._cursor.fetchall()
        return [dict(zip((column.name for column in self.columns), row, strict=True)) for row in rows]

    def _written(self, column: Column) -> str:
        name = self.side.quote(column.name)
        if self.side.engine == POSTGRES:
            return f"ROW({name})::text"  # as it is: a CHAR that is cast loses its spaces
        # Bytes tell everything apart, and a FLOAT as text is cut to six digits.
        return f"HEX(CAST({name} AS {'DOUBLE' if 'FLOAT' in str(column.types[MARIADB]) else 'BINARY'}))"

    @property
    def _table(self) -> str:
        return self.side.quote(self.name)
