"""Filters × computed columns × merges, on every pair: moved, verified as equal, and one fault is found in each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import by_target, found, verified, with_task
from tests.variants import later
from tieout.model.requests import TableRequest
from tieout.model.results import Verdict

WAYS = pytest.mark.parametrize(
    "moving",
    [
        "mariadb-postgres",
        *map(later, ("postgres-mariadb", "sqlite-sqlite", "mariadb-mariadb", "postgres-postgres")),
    ],
    indirect=True,
)
ROWS = 40
REGIONS = ("EU", "eu", None, "US")


@dataclass(frozen=True)
class Cell:
    """One combination. Its tables are on the source, and its table on the target."""

    filtered: bool
    computed: bool
    merged: bool

    @property
    def name(self) -> str:
        return "c" + "".join(letter for letter, on in zip("fcm", self._on, strict=True) if on)

    @property
    def _on(self) -> tuple[bool, bool, bool]:
        return self.filtered, self.computed, self.merged

    @property
    def sources(self) -> list[str]:
        return [f"{self.name}_{part}" for part in ("a", "b")] if self.merged else [f"{self.name}_a"]

    @property
    def requests(self) -> list[TableRequest]:
        expressions = {"part": ("_table", "")} if self.merged else {}
        if self.computed:
            expressions["qty"] = ("qty * 2 + length(coalesce(region, ''))", "")
        where = "region = 'EU' OR region IS NULL" if self.filtered else None
        return [TableRequest(source, self.name, where=where, expressions=expressions) for source in self.sources]

    def rows(self) -> list[tuple[object, ...]]:
        """What the target should hold, by an interpreter of its own."""
        expected = []
        for source, number in product(self.sources, range(1, ROWS + 1)):
            region = REGIONS[number % 4]
            if self.filtered and region not in ("EU", None):
                continue
            qty = number * 2 + len(region or "") if self.computed else number
            expected.append((*([source] if self.merged else []), number, region, qty))
        return expected


CELLS = [Cell(*on) for on in product((False, True), repeat=3)]
FAULTS = {
    "a row is lost": ("DELETE FROM {table} WHERE {one}", "missing"),
    "a value is another": ("UPDATE {table} SET qty = qty + 1 WHERE {one}", "changed"),
    "NULL became a text": ("UPDATE {table} SET region = '' WHERE {one}", "changed"),
    "a row came from nowhere": ("INSERT INTO {table} ({columns}) VALUES ({values})", "extra"),
}


def make(moving: Moving) -> None:
    place = "%s" if hasattr(moving.source, "server") else "?"
    for cell in CELLS:
        for source in cell.sources:
            moving.source.execute(f"CREATE TABLE {source} (id INT NOT NULL PRIMARY KEY, region VARCHAR(9), qty INT)")
            moving.source.executemany(
                f"INSERT INTO {source} VALUES ({place}, {place}, {place})",
                [(number, REGIONS[number % 4], number) for number in range(1, ROWS + 1)],
            )
        part, key = ("part VARCHAR(9) NOT NULL, ", "part, id") if cell.merged else ("", "id")
        moving.target.execute(
            f"CREATE TABLE {cell.name} ({part}id INT NOT NULL, region VARCHAR(9), qty INT, PRIMARY KEY ({key}))"
        )


def plant(moving: Moving, cell: Cell, fault: str) -> tuple[str, tuple[str, ...]]:
    """Makes one fault; returns the kind and the key of the difference that it is."""
    statement, kind = FAULTS[fault]
    number = 99 if kind == "extra" else 2  # its region is NULL
    columns, values = ["id", "region", "qty"], [str(number), "'EU'", "1"]
    one, key = f"id = {number}", (str(number),)
    if cell.merged:
        one, key = f"{one} AND part = '{cell.sources[1]}'", (str(number), cell.sources[1])
        columns, values = ["part", *columns], [f"'{cell.sources[1]}'", *values]
    moving.target.execute(
        statement.format(table=cell.name, one=one, columns=", ".join(columns), values=", ".join(values))
    )
    return kind, key


@WAYS
def test_each_combination(moving: Moving) -> None:
    make(moving)
    moving = with_task(moving, *(request for cell in CELLS for request in cell.requests))
    moving.run()
    for cell in CELLS:
        columns = f"{'part, ' if cell.merged else ''}id, region, qty"
        assert sorted(moving.target.rows(f"SELECT {columns} FROM {cell.name}"), key=str) == sorted(
            cell.rows(), key=str
        ), cell
    equal = by_target(verified(moving))
    assert {name: (table.verdict, table.reason) for name, table in equal.items()} == {
        cell.name: (Verdict.EQUAL, None) for cell in CELLS
    }
    # Each table has another fault, and in the second round another one than in the first.
    kinds = list(FAULTS)
    expected: dict[str, set[tuple[str, tuple[str, ...]]]] = {cell.name: set() for cell in CELLS}
    for place, cell in enumerate(CELLS):
        expected[cell.name].add(plant(moving, cell, kinds[place % len(kinds)]))
    assert found(verified(moving)) == expected
