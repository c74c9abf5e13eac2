"""What Spark gets of the rows of a table: what a mover would send."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

from tieout.connectors.protocols.endpoint import Scan
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.verification.named_columns import named_column
from tieout.verification.parts import Part


def texts_of(column: Column, values: pa.Array) -> list[str | None]:
    table = Table(TableName("s", "t"), (column,), ())
    scan = Scan(table, (named_column(column, classed=False),), ())
    part = Part(SimpleNamespace(), scan, SimpleNamespace(), (0,), (), (), (0,))  # type: ignore[arg-type]
    texts, *_ = part.cells(pa.RecordBatch.from_arrays([values], ["v"]))
    found: list[str | None] = texts.to_pylist()
    return found


@pytest.mark.parametrize(
    ("name", "array"),
    [
        (TypeName.FLOAT32, pa.array([-0.0, 0.0, None, 0.1, -1.5, float("nan")], pa.float32())),
        (TypeName.FLOAT64, pa.array([-0.0, 0.0, None, 0.1, -1.5, float("nan")], pa.float64())),
        (TypeName.FLOAT64, pa.array(["-0", "0", None, "0.1", "-1.5", "NaN"])),
    ],
)
def test_a_float_keeps_the_sign_of_its_zero(name: TypeName, array: pa.Array) -> None:
    column = Column("v", LogicalType(name, "float"))
    assert texts_of(column, array) == ["-0.0", "0.0", None, "0.1", "-1.5", "NaN"]
