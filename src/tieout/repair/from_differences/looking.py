"""Rows looked up by key, as texts that can be compared and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from tieout.connectors.base import Reader, Scan, reading
from tieout.connectors.writing import Refused, Row, Writer
from tieout.errors import EndpointError
from tieout.model.keys import Key
from tieout.model.kinds import Form
from tieout.repair.from_differences.tables import RepairTable
from tieout.verify.rows import Rows, fields_of, look_up_rows

_SPELT = {
    Form.DATE,
    Form.TIMESTAMP,
    Form.TIME,
    Form.UUID,
    Form.JSON,
    Form.ARRAY,
    Form.JSON_ARRAY,
    Form.NUMBER,
    Form.SET,
}
"""Forms of which one value may be written in several ways."""


class Unwritable(Exception):
    """A value that its text does not say exactly; the message names the column."""


@dataclass(frozen=True)
class Found:
    """Rows of a wide scan by their key in the form of the comparison. `failed`: keys that could not be asked for."""

    scan: Scan
    rows: Rows = field(default_factory=Rows)
    places: dict[Key, list[int]] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)

    def text(self, row: int, place: int) -> str | None:
        """Raises Unwritable where bytes that are no text show as hexadecimal."""
        item, at = self.rows.field_at(row, place)
        text = item.text(at)
        column = self.scan.columns[place]
        shown_as_bytes = text is not None and text.startswith("0x") and column.kind.form is not Form.BYTES
        if text and shown_as_bytes and item.values is not None and item.values[at].as_py() != text.encode():
            raise Unwritable(f"column {column.name} holds bytes that are no text")
        return text


def on_source(table: RepairTable, keys: Sequence[Key]) -> Found:
    def look(some: Sequence[Key]) -> list[pa.RecordBatch]:
        return reading(table.plan.source.reader, lambda reader: list(reader.lookup(table.source, some)))

    return _in_every_spelling(look_up(table.source, keys, look), table.plan.source.reader, keys)


def on_target(table: RepairTable, writer: Writer, keys: Sequence[Key], *, lock: bool = False) -> Found:
    found = look_up(table.target, keys, lambda some: writer.rows(table.target, some, lock=lock))
    return _in_every_spelling(found, table.plan.target.reader, keys)


def _in_every_spelling(found: Found, reader: Reader, keys: Sequence[Key]) -> Found:
    """The same. A key that a literal did not find, and that a row has in another spelling, could not be asked for.

    JSON or a date in a text has many spellings. What is not found is inserted or deleted: it must not be there.
    """
    scan, absent = found.scan, [key for key in keys if key not in found.places and key not in found.failed]
    if not absent or reader.finds(scan) or not any(c.kind.form in _SPELT for c in scan.key_columns):
        return found
    keys_alone = replace(scan, columns=scan.key_columns, key=tuple(range(len(scan.key))), ordered_by=())
    rows = look_up_rows(reader, keys_alone, absent)
    spelt = {key for row in range(len(rows)) if (key := rows.key(row, keys_alone.key)) is not None}
    return replace(found, failed={**found.failed, **dict.fromkeys(spelt, "a row has it in another spelling")})


def within_condition(table: RepairTable, writer: Writer, keys: Sequence[Key]) -> set[Key]:
    """Those of the target's rows that the verification's condition takes in."""
    scan = table.plan.target.scan
    return set(look_up(scan, keys, lambda some: writer.rows(scan, some, lock=False)).places)


def exact_row(table: RepairTable, found: Found, row: int) -> Row:
    """Every column of a target's row, so that it can be put back as it was."""
    return {name: found.text(row, place) for name, place in table.exact.items()}


def look_up(scan: Scan, keys: Sequence[Key], look: Callable[[Sequence[Key]], Iterable[pa.RecordBatch]]) -> Found:
    """What `look` finds for the keys; one that can't be asked for is among `failed`."""
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
