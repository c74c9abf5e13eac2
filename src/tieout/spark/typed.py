"""Values in tab form as Spark's own, and back: what expressions are computed from, and what came of them."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

from tieout.model.types import LogicalType, TypeName

_LARGEST_DECIMAL = 38
_INTEGER_BITS = 63


def typed(cell: Column, t: LogicalType) -> Column:
    """A text of tab form as a value. One that Spark's type can't hold is an error when it is computed, never NULL."""
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
    """None: text, as it is."""
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
