"""Faults that happen in practice, injected into the target; each knows the differences that it causes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tieout.model.differences import Difference, DifferenceKind

Trace = tuple[str, DifferenceKind, tuple[tuple[str, str | None], ...], tuple[str, ...]]
"""A difference by table, kind, key and the names of its changed columns."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`name` in a word or two, `story` for people, and exactly the differences that it must cause."""

    name: str
    story: str
    traces: frozenset[Trace]


def trace(difference: Difference) -> Trace:
    key = tuple(sorted(difference.key.items()))
    return difference.table, difference.kind, key, tuple(sorted(difference.columns))


def inject_faults(path: Path) -> list[Fault]:
    """Injects all faults into the target or, if one fails, none."""
    with closing(sqlite3.connect(path)) as connection:
        faults = [make(connection) for make in _FAULTS]
        connection.commit()
        return faults


def _lost_update(connection: sqlite3.Connection) -> Fault:
    (order,) = connection.execute("SELECT min(id) FROM orders WHERE status = 'sent' AND id > 4700").fetchone()
    _change(connection, "UPDATE orders SET status = 'packed' WHERE id = ?", order)
    story = f"order {order} was sent, and the target still has it packed"
    return Fault("lost update", story, _changed("main.orders", {"id": str(order)}, "status"))


def _missing_row(connection: sqlite3.Connection) -> Fault:
    _change(connection, "DELETE FROM order_items WHERE order_id = ? AND line = ?", 12_345, 2)
    key = {"order_id": "12345", "line": "2"}
    return Fault("missing row", "line 2 of order 12345 never arrived", _one("main.order_items", "missing", key))


def _rogue_row(connection: sqlite3.Connection) -> Fault:
    row = (999_999, "Nobody", "nobody@example.com", True, "0.01", None)
    _change(connection, "INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?)", *row)
    story = "customer 999999 was written to the target by hand"
    return Fault("rogue row", story, _one("main.customers", "extra", {"id": "999999"}))


def _truncated_text(connection: sqlite3.Connection) -> Fault:
    (order,) = connection.execute("SELECT min(id) FROM orders WHERE note LIKE 'Bitte%' AND id > 15000").fetchone()
    _change(connection, "UPDATE orders SET note = substr(note, 1, 20) WHERE id = ?", order)
    story = f"the note of order {order} was cut to 20 characters"
    return Fault("truncated text", story, _changed("main.orders", {"id": str(order)}, "note"))


def _shifted_time_zone(connection: sqlite3.Connection) -> Fault:
    rows = connection.execute("SELECT id, happened_at FROM events ORDER BY rowid LIMIT 7 OFFSET 9000").fetchall()
    for event, happened in rows:
        shifted = datetime.fromisoformat(happened) + timedelta(hours=1)
        _change(connection, "UPDATE events SET happened_at = ? WHERE id = ?", shifted.isoformat(sep=" "), event)
    traces = [_changed("main.events", {"id": event}, "happened_at") for event, _ in rows]
    story = f"{len(rows)} events were written in another time zone, one hour late"
    return Fault("shifted time zone", story, frozenset().union(*traces))


_FAULTS: tuple[Callable[[sqlite3.Connection], Fault], ...] = (
    _lost_update,
    _missing_row,
    _rogue_row,
    _truncated_text,
    _shifted_time_zone,
)


def _change(connection: sqlite3.Connection, statement: str, *values: Any) -> None:
    changed = connection.execute(statement, values).rowcount
    assert changed == 1, f"a fault changed {changed} rows: {statement}"


def _one(table: str, kind: str, key: dict[str, str], columns: Iterable[str] = ()) -> frozenset[Trace]:
    return frozenset({(table, DifferenceKind(kind), tuple(sorted(key.items())), tuple(sorted(columns)))})


def _changed(table: str, key: dict[str, str], *columns: str) -> frozenset[Trace]:
    return _one(table, "changed", key, columns)
