"""Rows that refer to one that undo would take away: it works with foreign keys off, and would make orphans of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tieout.connectors.base import Scan, ScanColumn
from tieout.connectors.repairing import Repairer
from tieout.connectors.writing import Reference, Row
from tieout.meta import ChangeAction, RepairChange
from tieout.model.keys import Key
from tieout.model.tables import Table
from tieout.repair.from_differences.looking import look_up
from tieout.repair.from_failures.database import Database
from tieout.repair.from_failures.details import details_of
from tieout.repair.from_failures.rows import RowTable, found_by
from tieout.repair.quarantine import Copy
from tieout.wording import plural


def referred_to(database: Database, change: RepairChange, copy: Copy, rows: RowTable) -> str | None:
    """Why a change must not be undone: rows refer to what it left, other than those that the failure was about."""
    if change.action is ChangeAction.DELETE:
        return None
    row = _row(change, rows, database.repairer)
    for reference in database.repairer.references(rows.table):
        if change.action is ChangeAction.UPDATE and _stays(reference, copy):
            continue
        values = [row.get(name, (copy.left or {}).get(name)) for name in reference.to]
        if None not in values:
            reason = _others(database, change, reference, tuple(str(value) for value in values))
            if reason is not None:
                return reason
    return None


def _row(change: RepairChange, rows: RowTable, repairer: Repairer) -> Row:
    """As failures show it: what refers to it may be of another type, and spell it in another way."""
    key = rows.key_of(change.key)
    found = rows.find(repairer, [] if key is None else [key])
    return rows.shown_row(found, 0) if len(found.rows) else {}


def _stays(reference: Reference, copy: Copy) -> bool:
    before, after = copy.values or {}, copy.left or {}
    return all(before.get(name) == after.get(name) for name in reference.to)


def _others(database: Database, change: RepairChange, reference: Reference, values: Key) -> str | None:
    child = database.table(str(reference.child))
    if child is None:
        return f"whether rows of {reference.child} refer to it can't be looked at"
    orphans = _orphans(change, str(reference.child))
    names = tuple(orphans[0]) if orphans else child.key
    scan = _scan(child, reference.columns, names, database.repairer)
    # Locked, it is what others have committed by now, and not what a transaction saw at its beginning.
    found = look_up(scan, [values], lambda some: database.repairer.rows(scan, some, lock=True))
    if values in found.failed:
        return f"whether rows of {reference.child} refer to it can't be looked at: {found.failed[values]}"
    places = range(len(reference.columns), len(scan.columns))
    seen = [{n: found.rows.text(row, p) for n, p in zip(names, places, strict=True)} for row in range(len(found.rows))]
    others = [key for key in seen if key not in orphans]
    if not others:
        return None
    which = " ".join(f"{name}={value}" for name, value in others[0].items())
    rows = f"{plural(len(others), 'row')} of {reference.child}"
    return (
        f"{rows} would lose what {'it refers' if len(others) == 1 else 'they refer'} to{f': {which}' if which else ''}"
    )


def _orphans(change: RepairChange, table: str) -> list[Row]:
    """The rows for which a parent was inserted: without it, they are what they were."""
    return [child.key for child in details_of(change).children if child.table == table]


def _scan(table: Table, columns: Sequence[str], names: Sequence[str], repairer: Repairer) -> Scan:
    place = repairer.place(table)
    if place is not None and place.name in names and place.name not in table.column_names:
        table = replace(table, columns=(*table.columns, place))
    read = [table.column(name) for name in (*columns, *names)]
    return Scan(table, tuple(ScanColumn(column, found_by(column)) for column in read), tuple(range(len(columns))))
