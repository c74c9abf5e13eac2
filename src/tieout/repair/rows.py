"""Rows to repair, found by a key or by their address, as texts that can be compared and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.repair import Refused, Repairer, Row
from tieout.errors import EndpointError
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table
from tieout.model.truncated import LONGEST_IN_FAILURE
from tieout.model.types import TypeName
from tieout.verification.rows import Rows, fields_of


class Unwritable(Exception):
    """A value that its text does not represent exactly; the message names the column."""


@dataclass(frozen=True)
class Found:
    """Rows of a wide scan by their key in the form of the comparison. `failed`: keys that could not be looked up."""

    scan: Scan
    rows: Rows = field(default_factory=Rows)
    places: dict[Key, list[int]] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)

    def text(self, row: int, place: int) -> str | None:
        """Raises Unwritable for bytes that are not text, which show as hexadecimal."""
        item, at = self.rows.field_at(row, place)
        text = item.text(at)
        column = self.scan.columns[place]
        shown_as_bytes = text is not None and text.startswith("0x") and column.kind.form is not Form.BYTES
        if text and shown_as_bytes and item.values is not None and item.values[at].as_py() != text.encode():
            raise Unwritable(f"column {column.name} holds bytes that are not text")
        return text


def look_up(scan: Scan, keys: Sequence[Key], look: Callable[[Sequence[Key]], Iterable[pa.RecordBatch]]) -> Found:
    """The rows that `look` finds for the keys; keys that can't be looked up are in `failed`."""
    if not keys:
        return Found(scan)
    try:
        return _found(scan, look(keys))
    except (EndpointError, Refused) as error:
        if isinstance(error, EndpointError) and error.transient:
            raise
        if len(keys) == 1:
            return Found(scan, failed={keys[0]: str(error)})
    # One key that an engine can't hold (a NUL, say) must not hide the others.
    return _one_by_one(scan, keys, look)


def _one_by_one(scan: Scan, keys: Sequence[Key], look: Callable[[Sequence[Key]], Iterable[pa.RecordBatch]]) -> Found:
    batches: list[pa.RecordBatch] = []
    failed: dict[Key, str] = {}
    for key in keys:
        try:
            batches += look([key])
        except (EndpointError, Refused) as error:
            if isinstance(error, EndpointError) and error.transient:
                raise
            failed[key] = str(error)
    return _found(scan, batches, failed)


def _found(scan: Scan, batches: Iterable[pa.RecordBatch], failed: dict[Key, str] | None = None) -> Found:
    decoded = [fields_of(scan, batch) for batch in batches if batch.num_rows]
    at = [(batch, row) for batch, fields in enumerate(decoded) for row in range(len(fields[0]))]
    rows = Rows(decoded, places=np.array(at, dtype=np.int64).reshape(-1, 2))
    places: dict[Key, list[int]] = {}
    for row in range(len(rows)):
        key = tuple(rows.text(row, place) or "" for place in scan.key)
        places.setdefault(key, []).append(row)
    return Found(scan, rows, places, failed or {})


@dataclass(frozen=True)
class RowTable:
    """`key` are the columns that identify rows. In the scan, `shown` are columns as failures show them, `exact` columns
    in the form in which they can be written back: the column indexes of each.
    """

    table: Table
    key: tuple[str, ...]
    scan: Scan
    shown: Mapping[str, int]
    exact: Mapping[str, int]

    def key_of(self, names: Row) -> Key | None:
        """None if a part of it is unknown or NULL: it finds no row."""
        texts = [names.get(name) for name in self.key]
        return None if None in texts else tuple(text for text in texts if text is not None)

    def find(self, repairer: Repairer, keys: Sequence[Key], *, lock: bool = False) -> Found:
        return look_up(self.scan, keys, lambda some: repairer.rows(self.scan, some, lock=lock))

    def exact_row(self, found: Found, row: int) -> Row:
        """Every column; Unwritable if a value has no exact text."""
        return {name: found.text(row, place) for name, place in self.exact.items()}

    def shown_row(self, found: Found, row: int) -> Row:
        return {name: found.rows.text(row, place) for name, place in self.shown.items()}

    def is_seen(self, found: Found, row: int, name: str, value: str | None) -> bool:
        """Whether a column has the value that a failure shows: truncated, if it is long; perhaps in its exact form."""
        places = [places[name] for places in (self.shown, self.exact) if name in places]
        return any(found.rows.kept(row, place, LONGEST_IN_FAILURE) == value for place in places)

    def no_index_hint(self, repairer: Repairer) -> RowTable:
        """The same table, read without indexes: one of them may be wrong."""
        return replace(self, scan=replace(self.scan, through=repairer.no_index_hint(self.table)))


def row_table(table: Table, repairer: Repairer, key: Sequence[str]) -> RowTable | str:
    """How to repair rows of the table, or the reason why they can't be repaired."""
    unknown = [column.name for column in table.columns if column.type.name is TypeName.UNKNOWN]
    if unknown:
        return f"{', '.join(unknown)} can't be read exactly, so undo could not restore a row"
    place = repairer.address_column(table)
    if place is not None and tuple(key) == (place.name,) and place.name not in table.column_names:
        table = replace(table, columns=(*table.columns, place))
    elif not set(key) <= set(table.column_names):
        return f"{', '.join(key)} no longer identifies its rows"
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
