"""What executors hand to the driver stays small, however many and however long the values are."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.verification.bucket_rows import CompareBuckets, LooseRow, Sent, Suspects
from tieout.verification.compare import Shape, compare_rows
from tieout.verification.localise import KEPT_BYTES, Found, Localised, Rechecking
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


def compared(rows: list[Sent], *, can_look_up: bool) -> Suspects:
    """What a task finds in buckets of a transformed table, for the driver to recheck."""
    compare = CompareBuckets(SimpleNamespace(), SHAPE, None, Rechecking(0, 1, (None, None)), collects=True)  # type: ignore[arg-type]
    payloads = [pickle.dumps(replace(each, rows=tuple(_as_asked(each, can_look_up)))) for each in rows]
    batch = pa.RecordBatch.from_pydict({"bucket": pa.array([0] * len(rows)), "payload": pa.array(payloads)})
    (result,) = compare.run(iter([batch]))
    found: Suspects = pickle.loads(result.column("payload")[0].as_py())
    return found


def _as_asked(sent: Sent, can_look_up: bool) -> list[LooseRow]:
    return [row if can_look_up else replace(row, lookup=None) for row in sent.rows]


def loose(of_source: bool, number: int, text: str) -> LooseRow:
    key, value = f"{number:17d}".encode(), f"{number:16d}{text[-1]}".encode()
    return LooseRow(of_source, key, value, (key, value), (str(number), text), (1, len(text)), (str(number),))


@pytest.mark.parametrize("can_look_up", [True, False])
def test_values_of_a_transformed_table_are_kept_until_there_are_many(can_look_up: bool) -> None:
    rows, text = 500, "x" * 60_000
    sent = [
        Sent(of_source, 0, 0, tuple(loose(of_source, number, text + end) for number in range(rows)))
        for of_source, end in ((True, "a"), (False, "b"))
    ]
    found = compared(sent, can_look_up=can_look_up)
    counted: Localised = found.all
    assert (counted.counts.changed, len(counted.differences), len(found.keys)) == (rows, rows, rows * can_look_up)
    assert len(pickle.dumps(found)) < 2 * KEPT_BYTES < rows * 2 * len(text)


def test_a_key_that_is_not_unique_is_noted_whether_its_rows_are_rechecked_or_not() -> None:
    sent = [Sent(True, 0, 0, (loose(True, 1, "a"), loose(True, 1, "b"))), Sent(False, 0, 0, (loose(False, 1, "a"),))]
    found = compared(sent, can_look_up=True)
    for each in (found.all, found.certain):
        assert ["is not unique" in note for note in each.notes] == [True]
    assert (found.all.source_rows, found.all.target_rows) == (2, 1)
