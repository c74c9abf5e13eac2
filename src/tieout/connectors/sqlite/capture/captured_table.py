"""A table as capture triggers need to know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tieout.connectors.sqlite.capture.log_tables import Query
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.model.tables import Table

MOST_COLUMNS = 990
"""A table may have 2,000 columns, and the log needs two for each column: its old and its new value."""

_ROWIDS = ("rowid", "_rowid_", "oid")
_NOT_OURS = {
    "virtual": "it is a virtual table, whose changes SQLite does not report to triggers",
    "shadow": "it belongs to a virtual table",
}


@dataclass(frozen=True, slots=True)
class Captured:
    """`columns` are those that store values. Rows are identified by `rowid`, or by `key` if that is None.

    `unique` are the columns of each unique index, with their collations. `partial`: one of these indexes covers only
    some rows.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    rowid: str | None
    unique: tuple[tuple[tuple[str, str], ...], ...]
    partial: bool


def captured(table: Table, rows: Query) -> Captured:
    columns = tuple(column.name for column in table.columns if not column.generated)
    unique = tuple(parts for parts in _unique(table, rows) if all(column is not None for column, _ in parts))
    partial = any(index[2] and index[4] for index in _indexes(table, rows))
    return Captured(table.name.name, columns, table.key, rowid_of(table, rows), unique, partial)


def rowid_of(table: Table, rows: Query) -> str | None:
    """A name of the rowid that no column hides; None if there is none."""
    if _listed(table, rows)[4]:
        return None
    hidden = {name.lower() for name in table.column_names}
    return next((name for name in _ROWIDS if name not in hidden), None)


def refused(table: Table, rows: Query) -> str | None:
    """The reason if changes of the table can't be captured completely."""
    listed = _listed(table, rows)
    if listed[2] in _NOT_OURS:
        return _NOT_OURS[listed[2]]
    if len(table.columns) > MOST_COLUMNS:
        return f"it has more than {MOST_COLUMNS} columns"
    if not listed[4] and rowid_of(table, rows) is None:
        return f"its columns hide the rowid: they take each of its names, {', '.join(_ROWIDS)}"
    if any(column is None for parts in _unique(table, rows) for column, _ in parts):
        # Capturing the rows that it removes would need its expression.
        return "it has a unique index on an expression: triggers would miss rows that INSERT OR REPLACE removes for it"
    return _null_in_key(table, rows)


def _null_in_key(table: Table, rows: Query) -> str | None:
    quote = SQLiteDialect().quote
    for column in table.key:
        if not table.column(column).nullable:
            continue
        ((found,),) = rows(f"SELECT EXISTS (SELECT 1 FROM {quote(table.name.name)} WHERE {quote(column)} IS NULL)")
        if found:
            return f"its key {column} is NULL in some rows, and SQLite allows that key in many rows"
    return None


def _listed(table: Table, rows: Query) -> tuple[Any, ...]:
    """schema, name, type, columns, without rowid, strict"""
    (found,) = (row for row in rows("PRAGMA main.table_list") if row[1] == table.name.name)
    return found


def _indexes(table: Table, rows: Query) -> list[tuple[Any, ...]]:
    """number, name, unique, origin, partial"""
    return rows(f"PRAGMA main.index_list({SQLiteDialect().quote(table.name.name)})")


def _unique(table: Table, rows: Query) -> list[tuple[tuple[Any, str], ...]]:
    found = []
    for _, index, unique, _, _ in _indexes(table, rows):
        if unique:
            parts = rows(f"PRAGMA main.index_xinfo({SQLiteDialect().quote(index)})")
            found.append(tuple((name, collation) for _, _, name, _, collation, key in parts if key))
    return sorted(found, key=repr)
