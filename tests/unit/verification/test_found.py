"""What executors hand to the driver stays small, however many and however long the values are."""

from __future__ import annotations

import pickle

import pyarrow as pa

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.verification.compare import Shape, compare_rows
from tieout.verification.localise import KEPT_BYTES, Found
from tieout.verification.rows import collect

ROWS = 5_000
COLUMNS = (
    Column("id", LogicalType(TypeName.INTEGER, "int")),
    Column("v", LogicalType(TypeName.TEXT, "text")),
)
SHAPE = Shape("t", ("id", "v"), (0,), {})


def test_values_are_kept_until_there_are_many() -> None:
    kinds = Kind(Form.INTEGER), Kind(Form.TEXT)
    columns = tuple(ScanColumn(column, kind) for column, kind in zip(COLUMNS, kinds, strict=True))
    scan = Scan(Table(TableName("s", "t"), COLUMNS, ("id",)), columns, (0,))

    def rows(end: str) -> pa.RecordBatch:
        texts = [f"{number} {'x' * 8_000}{end}" for number in range(ROWS)]
        return pa.RecordBatch.from_pydict({"id": pa.array(range(ROWS)), "v": pa.array(texts)})

    found = Found(SHAPE, None)
    found.add(compare_rows(SHAPE, collect(scan, [rows("a")]), collect(scan, [rows("b")])))
    result = found.result()
    assert len(pickle.dumps(result)) < 2 * KEPT_BYTES < ROWS * 2 * 8_000
    assert {difference.key["id"] for difference in result.differences} == set(map(str, range(ROWS)))
    values = [(d.columns["v"].source or "", d.columns["v"].target or "") for d in result.differences]
    assert [len(value) for value in values[0]] == [8_003, 8_003]
    assert all(source != target for source, target in values), "by their hashes, if by nothing else"
