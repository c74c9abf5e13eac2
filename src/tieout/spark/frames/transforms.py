"""Row filters and column expressions on rows in tab form, as Spark SQL: one projection, whatever the tables are."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

from tieout.model.moves import SCHEMA_NAME, TABLE_NAME, Transfer
from tieout.model.row_changes import ChangeKind
from tieout.model.types import LogicalType, TypeName
from tieout.spark.errors import frame_errors
from tieout.spark.executor_work import cell_name

TRANSFORMED = "transformed"
_CARRIED = ("work", "bucket", "payload")


def transformed(frame: DataFrame, transfers: Mapping[int, Transfer], extra: int = 0) -> DataFrame:
    """A frame of work with Cells, as one with `work`, `bucket`, `payload` and an array of texts, `transformed`.

    A bucket is a transfer's number. Its array begins with whether the row passes the filter ("true"), then come the
    texts for the columns of its target, then `extra` cells unchanged: for a change, the first one is its kind.
    """
    for name in frame.columns:
        frame = frame.withColumnRenamed(name, _own(name))
    for number, transfer in transfers.items():
        with frame_errors(str(transfer.source.name)):
            frame = _with_transform(frame, number, transfer, extra)
    results = [fn.col(_result(number)) for number in transfers]
    return frame.select(
        *(fn.col(_own(name)).alias(name) for name in _CARRIED),
        fn.coalesce(*results).alias(TRANSFORMED),
    )


def _with_transform(frame: DataFrame, number: int, transfer: Transfer, extra: int) -> DataFrame:
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
    # A deleted row may have only its key.
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
    return _own(f"transformed_{number}")


_LARGEST_DECIMAL = 38
_INTEGER_BITS = 63


def typed(cell: Column, t: LogicalType) -> Column:
    """A text of tab form as a Spark value. A value that Spark's type can't hold is an error, never NULL."""
    if t.name is TypeName.BOOLEAN:
        return cell.isin("1", "t", "true")
    if t.name is TypeName.CHAR:
        return fn.rtrim(cell)
    if t.name is TypeName.BINARY:
        return fn.unhex(fn.substr(cell, fn.lit(3)))
    if t.name is TypeName.INSTANT:
        return fn.concat(fn.regexp_replace(cell, r"\+00$", ""), fn.lit("+00:00")).cast("timestamp")
    kind = _spark_type(t)
    return cell if kind is None else cell.cast(kind)


def _spark_type(t: LogicalType) -> str | None:
    """None: the text itself."""
    if t.name is TypeName.INTEGER:
        bits = (t.precision or 64) + int(t.unsigned) - 1
        return "bigint" if bits <= _INTEGER_BITS else "decimal(20,0)"
    if t.name is TypeName.DECIMAL and t.precision is not None and t.precision <= _LARGEST_DECIMAL:
        return f"decimal({t.precision},{t.scale or 0})"
    return {
        TypeName.FLOAT32: "float",
        TypeName.FLOAT64: "double",
        TypeName.DATE: "date",
        TypeName.TIMESTAMP: "timestamp_ntz",
        TypeName.YEAR: "int",
    }.get(t.name)


def as_text(value: Column, t: DataType) -> Column:
    """A value as a text of tab form, not escaped yet."""
    if isinstance(t, spark.BooleanType):
        return value.cast("int").cast("string")
    if isinstance(t, spark.BinaryType):
        return fn.concat(fn.lit("\\x"), fn.lower(fn.hex(value)))
    if isinstance(t, spark.TimestampType):
        return fn.convert_timezone(fn.current_timezone(), fn.lit("UTC"), value.cast("timestamp_ntz")).cast("string")
    if isinstance(t, spark.ArrayType | spark.MapType | spark.StructType):
        return fn.to_json(value)
    return value.cast("string")
