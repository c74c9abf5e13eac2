"""Rows that are looked up by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tieout.connectors.protocols.endpoint import Reader, Scan, ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.verification.rows import LOOKUP, collect, look_up_rows

NAME = Column("name", LogicalType(TypeName.TEXT, "text"))
SCAN = Scan(Table(TableName("s", "t"), (NAME,), ("name",)), (ScanColumn(NAME, Kind(Form.TEXT)),), (0,))


class CaseInsensitive(Reader):
    """Finds a name in any letters, as a collation may."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def finds(self, scan: Scan) -> bool:
        return True

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        asked = {str(name).casefold() for (name,) in keys}
        found = [name for name in self._names if name.casefold() in asked]
        yield pa.RecordBatch.from_pydict({"name": pa.array(found)})


def test_each_row_is_found_once_if_the_engine_considers_keys_of_two_portions_equal() -> None:
    names = ["a", *(f"n{number}" for number in range(LOOKUP)), "A"]
    rows = collect(SCAN, [pa.RecordBatch.from_pydict({"name": pa.array(names)})])
    hashes = [rows.keys[row].tobytes() for row in range(len(rows))]
    keys: list[Key] = [(name,) for name in names]
    reader = CaseInsensitive([*names, "N7"])
    for found in (look_up_rows(reader, SCAN, keys), look_up_rows(reader, SCAN, keys, hashes)):
        assert sorted(str(found.text(row, 0)) for row in range(len(found))) == sorted(names)
