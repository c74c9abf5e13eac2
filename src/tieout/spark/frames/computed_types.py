"""What Spark SQL knows of expressions without reading a row: their types, and what a table's name decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import NullType, StructField

from tieout.model.moves import SCHEMA_NAME, TABLE_NAME, Shape
from tieout.model.tables import Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.spark.errors import frame_errors
from tieout.spark.frames.transforms import computed
from tieout.spark.frames.types import type_as_text
from tieout.spark.session import refuse_other_time_zone


def computed_types(
    session: SparkSession, table: Table, expressions: Mapping[str, str], used: frozenset[str]
) -> dict[str, LogicalType | str]:
    """The type of each expression by its name, or why no table has a column for it. `used` are the columns that the
    expressions name, in lower case.
    """
    named = [column for column in table.columns if column.name.casefold() in used]
    shape = Shape(
        tuple((column, column) for column in named),
        (),
        tuple(expressions.values()),
        tuple((column.name, place) for place, column in enumerate(named)),
    )
    return dict(zip(expressions, map(_created_type, computed(session, table, shape)), strict=True))


def values_of_names(session: SparkSession, tables: Sequence[TableName], texts: Sequence[str]) -> list[list[str | None]]:
    """What expressions over nothing but the name of a table are for each of these tables, as texts."""
    refuse_other_time_zone(session)
    rows = [(number, table.schema, table.name) for number, table in enumerate(tables)]
    with frame_errors(str(tables[0])):
        named = session.createDataFrame(rows, f"number int, {SCHEMA_NAME} string, {TABLE_NAME} string")
        found = named.select("number", *(fn.expr(text).cast("string") for text in texts)).collect()
    return [list(row[1:]) for row in sorted(found, key=itemgetter(0))]


_CREATED = frozenset(
    {
        *(TypeName.BOOLEAN, TypeName.INTEGER, TypeName.DECIMAL, TypeName.FLOAT32, TypeName.FLOAT64),
        *(TypeName.TEXT, TypeName.BINARY, TypeName.DATE, TypeName.INSTANT, TypeName.TIMESTAMP),
    }
)
_MICROSECONDS = 6


def _created_type(field: StructField) -> LogicalType | str:
    """The type by its meaning, or why no column of a table has it."""
    found = type_as_text(field)
    if found.name not in _CREATED or isinstance(field.dataType, NullType):
        return f"Tieout creates no column for Spark's type {found.native}"
    # A column of a table has as many digits as it says; Spark's moments have these.
    digits = _MICROSECONDS if found.name in (TypeName.INSTANT, TypeName.TIMESTAMP) else found.precision
    return replace(found, precision=digits)
