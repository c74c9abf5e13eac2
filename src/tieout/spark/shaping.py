"""Row filters and column expressions on rows in tab form, as Spark SQL: one projection, whatever the tables are."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from tieout.model.moves import SCHEMA_NAME, TABLE_NAME, Transfer
from tieout.model.row_changes import ChangeKind
from tieout.spark.faults import spark_faults
from tieout.spark.typed import as_text, typed
from tieout.spark.work import cell_name

SHAPED = "shaped"
_CARRIED = ("work", "bucket", "payload")


def shaped(frame: DataFrame, transfers: Mapping[int, Transfer], extra: int = 0) -> DataFrame:
    """A frame of work with Cells, as one with `work`, `bucket`, `payload` and an array of texts, `shaped`.

    A bucket is a transfer's number. Its array begins with whether the row passes the filter ("true"), then come the
    texts for the columns of its target, then so many cells as they are: of a change, the first one is its kind.
    """
    for name in frame.columns:
        frame = frame.withColumnRenamed(name, _own(name))
    for number, transfer in transfers.items():
        with spark_faults(str(transfer.source.name)):
            frame = _with_shape(frame, number, transfer, extra)
    results = [fn.col(_result(number)) for number in transfers]
    return frame.select(
        *(fn.col(_own(name)).alias(name) for name in _CARRIED),
        fn.coalesce(*results).alias(SHAPED),
    )


def _with_shape(frame: DataFrame, number: int, transfer: Transfer, extra: int) -> DataFrame:
    shape = transfer.shape
    assert shape is not None
    here = fn.col(_own("bucket")) == number
    values = {
        SCHEMA_NAME: fn.lit(transfer.source.name.schema),
        TABLE_NAME: fn.lit(transfer.source.name.name),
        **{name: fn.when(here, typed(_cell(place), transfer.source.column(name).type)) for name, place in shape.uses},
    }
    frame = frame.withColumns(values)
    extras = [_cell(len(shape.reads) + place) for place in range(extra)]
    # Of a deleted row there may be the key alone.
    whole = extras[0] != str(int(ChangeKind.DELETE)) if extras and transfer.key else fn.lit(True)
    passes = fn.when(whole, fn.expr(shape.where)) if shape.where else fn.lit(True)
    texts = []
    for place, cell in enumerate(shape.cells):
        if isinstance(cell, int):
            texts.append(_cell(cell))
        else:
            kind = frame.select(fn.expr(cell).alias("computed")).schema["computed"].dataType
            guard = fn.lit(True) if place in transfer.key else whole
            texts.append(fn.when(guard, as_text(fn.expr(cell), kind)))
    result = fn.array(fn.coalesce(passes, fn.lit(False)).cast("string"), *texts, *extras)
    return frame.withColumn(_result(number), fn.when(here, result)).drop(*values)


def _own(name: str) -> str:
    return f"_tieout_{name}"


def _cell(place: int) -> Column:
    return fn.col(_own(cell_name(place)))


def _result(number: int) -> str:
    return _own(f"shaped_{number}")
