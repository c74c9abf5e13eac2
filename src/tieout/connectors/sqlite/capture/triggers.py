"""The triggers that capture a table's changes.

Three of them log what was inserted, updated and deleted. Two run before: SQLite does not fire delete triggers for a row
that INSERT OR REPLACE (or UPDATE OR REPLACE) removes, unless the writer's connection asks for it. So these two note the
rows that are in the way of a new one, and a noted row that is gone afterwards was deleted by it. INSERT OR IGNORE and
upserts leave such rows where they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from tieout.connectors.sqlite.capture.captured_table import Captured
from tieout.connectors.sqlite.capture.log_tables import CHANGES, REPLACED
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.model.row_changes import ChangeKind

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
