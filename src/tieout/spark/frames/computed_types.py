"""The types that Spark SQL gives expressions over the columns of a table. Reads no rows."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

from tieout.model.moves import SCHEMA_NAME, TABLE_NAME
from tieout.model.tables import Table
from tieout.model.types import LogicalType, TypeName
from tieout.spark.errors import frame_errors
from tieout.spark.frames.transforms import typed


def computed_types(
    session: SparkSession, table: Table, expressions: Mapping[str, str], used: frozenset[str]
) -> dict[str, LogicalType | str]:
    """The type of each expression by its name, or why no table has a column for it. `used` are the columns that the
    expressions name, in lower case.
    """
    nothing = fn.lit(None).cast("string")
    columns = [
        typed(nothing, column.type).alias(column.name) for column in table.columns if column.name.casefold() in used
    ]
    names = [fn.lit(table.name.schema).alias(SCHEMA_NAME), fn.lit(table.name.name).alias(TABLE_NAME)]
    with frame_errors(str(table.name)):
        frame = session.range(0).select(*columns, *names)
        schema = frame.select(*(fn.expr(text).alias(name) for name, text in expressions.items())).schema
    return {name: logical_type(field.dataType) for name, field in zip(expressions, schema.fields, strict=True)}


_SIMPLE: Mapping[type[DataType], LogicalType] = {
    spark.BooleanType: LogicalType(TypeName.BOOLEAN, "boolean"),
    spark.ByteType: LogicalType(TypeName.INTEGER, "tinyint", 8),
    spark.ShortType: LogicalType(TypeName.INTEGER, "smallint", 16),
    spark.IntegerType: LogicalType(TypeName.INTEGER, "int", 32),
    spark.LongType: LogicalType(TypeName.INTEGER, "bigint", 64),
    spark.FloatType: LogicalType(TypeName.FLOAT32, "float"),
    spark.DoubleType: LogicalType(TypeName.FLOAT64, "double"),
    spark.StringType: LogicalType(TypeName.TEXT, "string"),
    spark.BinaryType: LogicalType(TypeName.BINARY, "binary"),
    spark.DateType: LogicalType(TypeName.DATE, "date"),
    spark.TimestampType: LogicalType(TypeName.INSTANT, "timestamp", 6),
    spark.TimestampNTZType: LogicalType(TypeName.TIMESTAMP, "timestamp_ntz", 6),
}


def logical_type(t: DataType) -> LogicalType | str:
    """The type by its meaning, or why no column of a table has it."""
    if isinstance(t, spark.DecimalType):
        return LogicalType(TypeName.DECIMAL, t.simpleString(), t.precision, t.scale)
    found = _SIMPLE.get(type(t))
    return found or f"Tieout creates no column for Spark's type {t.simpleString()}"
