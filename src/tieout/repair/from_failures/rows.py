"""Rows of a table that is mended, found by a key or by their place, as texts that can be compared and put back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tieout.connectors.base import Scan, ScanColumn
from tieout.connectors.repairing import Repairer
from tieout.connectors.writing import Row
from tieout.model.keys import Key
from tieout.model.kinds import Form, Kind, common_kind
from tieout.model.tables import Column, Table
from tieout.model.truncated import LONGEST_IN_FAILURE
from tieout.model.types import TypeName
from tieout.repair.from_differences.looking import Found, look_up


@dataclass(frozen=True)
class RowTable:
    """`key` are the columns that rows are found by. In the scan, `shown` are columns as failures show them, `exact` in
    the form in which they can be put back: the places of each.
    """

    table: Table
    key: tuple[str, ...]
    scan: Scan
    shown: Mapping[str, int]
    exact: Mapping[str, int]

    def key_of(self, names: Row) -> Key | None:
        """None if a part of it is not known, or NULL: no row is found by it."""
        texts = [names.get(name) for name in self.key]
        return None if None in texts else tuple(text for text in texts if text is not None)

    def find(self, repairer: Repairer, keys: Sequence[Key], *, lock: bool = False) -> Found:
        return look_up(self.scan, keys, lambda some: repairer.rows(self.scan, some, lock=lock))

    def exact_row(self, found: Found, row: int) -> Row:
        """Every column; Unwritable if one holds what no text says exactly."""
        return {name: found.text(row, place) for name, place in self.exact.items()}

    def shown_row(self, found: Found, row: int) -> Row:
        return {name: found.rows.text(row, place) for name, place in self.shown.items()}

    def is_seen(self, found: Found, row: int, name: str, value: str | None) -> bool:
        """Whether a column has the value that a failure shows: truncated, if it is long; perhaps in its exact form."""
        places = [places[name] for places in (self.shown, self.exact) if name in places]
        return any(found.rows.kept(row, place, LONGEST_IN_FAILURE) == value for place in places)

    def past_indexes(self, repairer: Repairer) -> RowTable:
        """The same, read through no index: one of them may be what is wrong."""
        return replace(self, scan=replace(self.scan, through=repairer.past_indexes(self.table)))


def row_table(table: Table, repairer: Repairer, key: Sequence[str]) -> RowTable | str:
    """The table as its rows can be mended, or the reason why they can't."""
    unknown = [column.name for column in table.columns if column.type.name is TypeName.UNKNOWN]
    if unknown:
        return f"no exact form of {', '.join(unknown)} can be read, so a row could not be put back"
    place = repairer.place(table)
    if place is not None and tuple(key) == (place.name,) and place.name not in table.column_names:
        table = replace(table, columns=(*table.columns, place))
    elif not set(key) <= set(table.column_names):
        return f"{', '.join(key)} is no key of it any more"
    columns = [ScanColumn(table.column(name), found_by(table.column(name))) for name in key]
    shown, exact = {}, {}
    for column in table.columns:
        if column is place:
            continue
        kind = common_kind(column.type, column.type)
        if isinstance(kind, Kind):
            shown[column.name] = len(columns)
            columns.append(ScanColumn(column, kind))
        exact[column.name] = len(columns)
        columns.append(ScanColumn(column, repairer.exact(column)))
    return RowTable(table, tuple(key), Scan(table, tuple(columns), tuple(range(len(key)))), shown, exact)


def found_by(column: Column) -> Kind:
    kind = common_kind(column.type, column.type)
    return kind if isinstance(kind, Kind) else Kind(Form.OPAQUE)
