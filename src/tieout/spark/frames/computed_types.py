"""What Spark SQL knows of expressions without reading a row: their types, and what a table's name decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

from tieout.model.moves import SCHEMA_NAME, TABLE_NAME
from tieout.model.tables import Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.spark.errors import frame_errors
from tieout.spark.frames.transforms import typed
from tieout.spark.session import refuse_other_time_zone


def computed_types(
    session: SparkSession, table: Table, expressions: Mapping[str, str], used: frozenset[str]
) -> dict[str, LogicalType | str]:
    """The type of each expression by its name, or why no table has a column for it. `used` are the columns that the
    expressions name, in lower case.
    """
    refuse_other_time_zone(session)
    nothing = fn.lit(None).cast("string")
    columns = [
        typed(nothing, column.type).alias(column.name) for column in table.columns if column.name.casefold() in used
    ]
    names = [fn.lit(table.name.schema).alias(SCHEMA_NAME), fn.lit(table.name.name).alias(TABLE_NAME)]
    with frame_errors(str(table.name)):
        frame = session.range(0).select(*columns, *names)
        schema = frame.select(*(fn.expr(text).alias(name) for name, text in expressions.items())).schema
    return {name: logical_type(field.dataType) for name, field in zip(expressions, schema.fields, strict=True)}


def values_of_names(session: SparkSession, tables: Sequence[TableName], texts: Sequence[str]) -> list[list[str | None]]:
    """What expressions over nothing but the name of a table are for each of these tables, as texts."""
    refuse_other_time_zone(session)
    rows = [(number, table.schema, table.name) for number, table in enumerate(tables)]
    with frame_errors(str(tables[0])):
        named = session.createDataFrame(rows, f"number int, {SCHEMA_NAME} string, {TABLE_NAME} string")
        found = named.select("number", *(fn.expr(text).cast("string") for text in texts)).collect()
    return [list(row[1:]) for row in sorted(found, key=itemgetter(0))]


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
