"""The pairs of databases, the strategies that fit them, and how they are filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.integration.matrix.columns import KEYS, MARIADB, POSTGRES, SQLITE, Column, columns_of
from tests.integration.matrix.engines import TestDatabase
from tests.integration.matrix.faults import FINE, TABLES, Edit, Fault, Found, shown
from tieout.model.results import Strategy

WIDE = "wide"
FINE_TABLE = "fine"


@dataclass(frozen=True)
class How:
    """A strategy, and the bits of its hash."""

    strategy: Strategy
    bits: int = 64

    def __str__(self) -> str:
        return f"{self.strategy}{self.bits}" if self.strategy is Strategy.NATIVE else str(self.strategy)


PULL, PUSHDOWN = How(Strategy.PULL), How(Strategy.PUSHDOWN)
NATIVE, NATIVE_128 = How(Strategy.NATIVE, 64), How(Strategy.NATIVE, 128)


@dataclass(frozen=True)
class Pair:
    source: str
    target: str
    ways: tuple[How, ...] = (PULL,)

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"

    @property
    def columns(self) -> tuple[Column, ...]:
        return columns_of(self.source, self.target)

    @property
    def fine_columns(self) -> tuple[Column, ...]:
        """Without those that would repeat a fault of another column."""
        return tuple(column for column in self.columns if not column.generated)

    @property
    def tables(self) -> tuple[tuple[str, Fault], ...]:
        """The faults that this pair can have in a table of its own, with its name."""
        names = {column.name for column in self.columns}
        return tuple((f"fault_{i:03d}", fault) for i, fault in enumerate(TABLES) if fault.columns <= names)

    @property
    def fine(self) -> tuple[tuple[int, Fault], ...]:
        """The faults that this pair can have in a row of its own, with its key."""
        names = {column.name for column in self.columns}
        return tuple((100 + i, fault) for i, fault in enumerate(FINE) if fault.columns <= names)

    def found(self, fault: Fault, table: Sequence[Column]) -> list[Found]:
        """What must be reported, in the words of this pair."""
        engines, names = {self.source, self.target}, {c.name for c in table}
        return [
            Found(
                found.kind,
                found.key,
                {
                    column: (shown(column, texts[0], engines), shown(column, texts[1], engines))
                    for column, texts in found.columns.items()
                    if column in names
                },
            )
            for found in fault.found
        ]

    def columns_for(self, fault: Fault) -> tuple[Column, ...]:
        if fault.wide:
            return self.columns
        wanted = fault.columns | {"vc", "vc2"} | {column for found in fault.found for column in found.columns}
        return tuple(c for c in self.columns if c.name in wanted and c.name != "virtual")


PAIRS = (
    Pair(MARIADB, MARIADB, (PULL, PUSHDOWN)),
    Pair(POSTGRES, POSTGRES, (PULL, NATIVE, NATIVE_128, PUSHDOWN)),
    Pair(MARIADB, POSTGRES),
    Pair(SQLITE, MARIADB),
    Pair(SQLITE, POSTGRES),
    Pair(SQLITE, SQLITE),
)

CASES = [(pair, how) for pair in PAIRS for how in pair.ways]

LATER = {("sqlite-mariadb", PULL), ("postgres-postgres", NATIVE_128)}
"""Each engine is on a side of other pairs, and rows are compared as with the hash of 64 bits."""


def fill(pair: Pair, side: TestDatabase) -> None:
    """The wide table, equal on both sides; a faulty copy for each fault; a table of faults, one a row."""
    columns = pair.columns
    with side.open():
        side.set_up()
        side.create_wide(WIDE, columns)
        side.fill_wide(WIDE, columns, KEYS)
        for table, fault in pair.tables:
            side.copy_wide(table, WIDE, pair.columns_for(fault))
            for edit in fault.both if side.is_source else (*fault.both, *fault.target):
                _update(side, table, columns, edit, edit.key)
            for key in fault.extra if side.is_source else fault.lost:
                side.run(f"DELETE FROM {side.quote(table)} WHERE {side.quote('id')} = {key}")
        side.create_wide(FINE_TABLE, pair.fine_columns)
        side.fill_wide(FINE_TABLE, pair.fine_columns, [key for key, _ in pair.fine])
        for key, fault in pair.fine:
            for edit in fault.both if side.is_source else (*fault.both, *fault.target):
                _update(side, FINE_TABLE, columns, edit, key)
        side.settle()


def _update(side: TestDatabase, table: str, columns: Sequence[Column], edit: Edit, key: int) -> None:
    column = next(c for c in columns if c.name == edit.column)
    where = f"{side.quote('id')} = {key}"
    side.run(
        f"UPDATE {side.quote(table)} SET {side.quote(edit.column)} = %s WHERE {where}",
        [column.spell(edit.value, side.engine)],
    )
