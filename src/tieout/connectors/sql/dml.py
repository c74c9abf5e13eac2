"""The statements that every SQL engine changes a row with. A Dialect knows how to write their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tieout.connectors.protocols.repair import Reference, Row
from tieout.connectors.sql.dialect import Dialect
from tieout.model.tables import Column, Table


@dataclass(frozen=True)
class RowStatements:
    """The Statements of an SQL engine. An engine overrides what it writes in another way."""

    dialect: Dialect
    opening: Sequence[str]
    begin: Sequence[str]
    closing: Sequence[str]
    between_tables: Sequence[str] = ()

    def insert(self, table: Table, row: Row) -> str:
        return insert(self.dialect, table, row)

    def update(self, table: Table, key: Row, row: Row) -> str:
        return update(self.dialect, table, key, row)

    def delete(self, table: Table, key: Row, unless: Sequence[Reference] = ()) -> str:
        return delete(self.dialect, table, key, unless)


def insert(dialect: Dialect, table: Table, row: Row, *, override: str = "") -> str:
    """`override` goes before VALUES."""
    written = _written(table, row)
    names = ", ".join(dialect.quote(column.name) for column in written)
    values = ", ".join(_value(dialect, column, row[column.name]) for column in written)
    return f"INSERT INTO {dialect.table(table.name)} ({names}) {override}VALUES ({values})"


def update(dialect: Dialect, table: Table, key: Row, row: Row, *, keep: Sequence[Column] = ()) -> str:
    """`keep` are columns that the engine would set by itself, and that keep their values."""
    sets = [f"{dialect.quote(c.name)} = {_value(dialect, c, row[c.name])}" for c in _written(table, row)]
    sets += [f"{dialect.quote(c.name)} = {dialect.quote(c.name)}" for c in keep if c.name not in row]
    return f"UPDATE {dialect.table(table.name)} SET {', '.join(sets)} WHERE {_matches(dialect, table, key)}"


def assign(dialect: Dialect, table: Table, key: Row, values: Mapping[str, str]) -> str:
    """An update with values that are SQL."""
    sets = ", ".join(f"{dialect.quote(name)} = {value}" for name, value in values.items())
    return f"UPDATE {dialect.table(table.name)} SET {sets} WHERE {_matches(dialect, table, key)}"


def delete(dialect: Dialect, table: Table, key: Row, unless: Sequence[Reference] = ()) -> str:
    conditions = [_matches(dialect, table, key), *(_not_referred_to(dialect, table, each) for each in unless)]
    return f"DELETE FROM {dialect.table(table.name)} WHERE {' AND '.join(conditions)}"


def _written(table: Table, row: Row) -> list[Column]:
    return [column for column in table.columns if column.name in row and not column.generated]


def _value(dialect: Dialect, column: Column, text: str | None) -> str:
    return "NULL" if text is None else dialect.value(column, text)


def _matches(dialect: Dialect, table: Table, key: Row) -> str:
    parts = []
    for name, text in key.items():
        assert text is not None, "a key with NULL finds no row"
        column = table.column(name)
        parts.append(dialect.compared(column, dialect.quote(name), "=", dialect.value(column, text)))
    return " AND ".join(parts)


def _not_referred_to(dialect: Dialect, table: Table, reference: Reference) -> str:
    child = dialect.table(reference.child)
    if reference.child == table.name:
        # MySQL reads the table that it deletes from only through a derived table.
        child = f"(SELECT {', '.join(dialect.quote(c) for c in reference.columns)} FROM {child})"
    pairs = zip(reference.columns, reference.to, strict=True)
    own = dialect.table(table.name)
    same = " AND ".join(
        dialect.compared(table.column(p), f"tieout_child.{dialect.quote(c)}", "=", f"{own}.{dialect.quote(p)}")
        for c, p in pairs
    )
    return f"NOT EXISTS (SELECT 1 FROM {child} AS tieout_child WHERE {same})"
