"""A captured table, and the triggers that capture its changes.

Three triggers log what was inserted, updated and deleted. Two run before: SQLite does not fire delete triggers for a
row that INSERT OR REPLACE (or UPDATE OR REPLACE) removes, unless the writer's connection asks for it. So these two note
the rows that are in the way of a new one, and a noted row that is gone afterwards was deleted by it. INSERT OR IGNORE
and upserts leave such rows where they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tieout.connectors.sqlite.capture.log_tables import CHANGES, REPLACED, Query
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.model.row_changes import ChangeKind
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


_NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000"
_KINDS = {
    "tieout_bi_": "BEFORE INSERT",
    "tieout_ai_": "AFTER INSERT",
    "tieout_bu_": "BEFORE UPDATE",
    "tieout_au_": "AFTER UPDATE",
    "tieout_ad_": "AFTER DELETE",
}
_quote = SQLiteDialect().quote


def names(table: str) -> list[str]:
    return [f"{kind}{table}" for kind in _KINDS]


def triggers(table: Captured, shape: int) -> dict[str, str]:
    """The CREATE TRIGGER statements by name, as SQLite stores them. Changes are logged under the number of a shape."""
    body = _Body(table, shape)
    bodies = (
        [body.forget(), body.note(_any(body.clashes()))],
        [body.log_replaced(), body.forget(), body.log_insert()],
        [body.forget(), body.note(f"({_any(body.clashes())}) AND ({body.moves()}) AND NOT {body.same('t', 'OLD')}")],
        [body.log_replaced(), body.forget(), body.log_update()],
        [body.forget_deleted(), body.log_delete()],
    )
    return {
        kind + table.name: f"CREATE TRIGGER {_quote(kind + table.name)} {event} ON {_quote(table.name)} BEGIN "
        f"{' '.join(f'{statement};' for statement in statements)} END"
        for (kind, event), statements in zip(_KINDS.items(), bodies, strict=True)
    }


class _Body:
    """The statements inside triggers. `t` is the table, `r` a noted row."""

    def __init__(self, table: Captured, shape: int) -> None:
        self._table = table
        self._shape = shape
        self._name = _quote(table.name)
        self._old = ", ".join(f"old{place}" for place in range(len(table.columns)))
        self._new = ", ".join(f"new{place}" for place in range(len(table.columns)))

    def forget(self) -> str:
        return f"DELETE FROM {REPLACED} WHERE shape = {self._shape}"

    def forget_deleted(self) -> str:
        """A writer with recursive triggers fires this one for replaced rows, too."""
        return f"{self.forget()} AND {self.same('OLD', REPLACED)}"

    def note(self, condition: str) -> str:
        place = "NULL" if self._table.rowid is None else f"t.{self._table.rowid}"
        return (
            f"INSERT INTO {REPLACED} (shape, place, {self._old}) SELECT {self._shape}, {place}, {self._values('t')} "
            f"FROM {self._name} AS t WHERE {condition}"
        )

    def log_replaced(self) -> str:
        gone = f"NOT EXISTS (SELECT 1 FROM {self._name} AS t WHERE {self.same('t', 'r')})"
        return self._log(
            ChangeKind.DELETE,
            self._old,
            f"SELECT {{}}, {', '.join(f'r.old{place}' for place in range(len(self._table.columns)))} "
            f"FROM {REPLACED} AS r WHERE r.shape = {self._shape} AND ({self.same('NEW', 'r')} OR {gone})",
        )

    def log_insert(self) -> str:
        return self._log(ChangeKind.INSERT, self._new, self._as_it_is())

    def log_update(self) -> str:
        old = self._values("OLD")
        return self._log(ChangeKind.UPDATE, f"{self._old}, {self._new}", self._as_it_is(f"{old}, "))

    def log_delete(self) -> str:
        return self._log(ChangeKind.DELETE, self._old, f"SELECT {{}}, {self._values('OLD')}")

    def clashes(self) -> Iterable[str]:
        """Conditions under which a row `t` is in the way of the new one."""
        if self._table.rowid is not None:
            yield f"t.{self._table.rowid} = NEW.{self._table.rowid}"
        for parts in self._table.unique:
            yield _all(f"t.{_quote(name)} = NEW.{_quote(name)}{_collated(by)}" for name, by in parts)

    def moves(self) -> str:
        """True if an update changes something that must be unique: most do not."""
        if self._table.partial:
            return "1"  # any column may bring a row into the index
        own = [f"NEW.{self._table.rowid} IS NOT OLD.{self._table.rowid}"] if self._table.rowid is not None else []
        parts = [part for parts in self._table.unique for part in parts]
        return _any([*own, *(f"NEW.{_quote(name)} IS NOT OLD.{_quote(name)}{_collated(by)}" for name, by in parts)])

    def same(self, left: str, right: str) -> str:
        """True if two are the same row, by rowid or key. The collation of the left one applies: it is never a noted
        row.
        """
        if self._table.rowid is not None:
            return f"({self._rowid(left)} = {self._rowid(right)})"
        return f"({_all(f'{self._part(left, name)} = {self._part(right, name)}' for name in self._table.key)})"

    def _rowid(self, row: str) -> str:
        return f"{row}.{'place' if row in ('r', REPLACED) else self._table.rowid}"

    def _part(self, row: str, name: str) -> str:
        return f"{row}.old{self._table.columns.index(name)}" if row in ("r", REPLACED) else f"{row}.{_quote(name)}"

    def _as_it_is(self, before: str = "") -> str:
        """The new row. With a key, as the table holds it now: another trigger may have changed and logged it first.

        Without a key each change counts, as it was.
        """
        if not self._table.key:
            return f"SELECT {{}}, {before}{self._values('NEW')}"
        return f"SELECT {{}}, {before}{self._values('t')} FROM {self._name} AS t WHERE {self.same('t', 'NEW')}"

    def _values(self, row: str) -> str:
        return ", ".join(f"{row}.{_quote(column)}" for column in self._table.columns)

    def _log(self, kind: ChangeKind, columns: str, selected: str) -> str:
        values = selected.replace("{}", f"{self._shape}, {kind:d}, {_NOW}", 1)
        return f"INSERT INTO {CHANGES} (shape, kind, at, {columns}) {values}"


def _collated(name: str) -> str:
    return f" COLLATE {_quote(name)}"


def _any(conditions: Iterable[str]) -> str:
    return " OR ".join(f"({condition})" for condition in conditions) or "0"


def _all(conditions: Iterable[str]) -> str:
    return " AND ".join(conditions)
