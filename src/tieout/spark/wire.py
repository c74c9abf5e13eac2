"""Rows of a frame in the forms that the canonical decoders take: exact, and the same in every session."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.types import TypeName
from tieout.spark.nested import json_text, utc_text
from tieout.spark.types import is_nested


def selected(frame: DataFrame, scan: Scan) -> DataFrame:
    """The rows and columns of a scan, as they are; columns are named c0, c1, … in order."""
    rows = frame.where(scan.where) if scan.where else frame
    return rows.select(*(_reference(column).alias(place_name(place)) for place, column in enumerate(scan.columns)))


def wired(rows: DataFrame, scan: Scan) -> DataFrame:
    """What `selected` gave, each value in its wire form; further columns are left out."""
    types = {field.name: field.dataType for field in rows.schema.fields}
    names = [place_name(place) for place in range(len(scan.columns))]
    wires = [_wire(fn.col(n), types[n], c.kind).alias(n) for n, c in zip(names, scan.columns, strict=True)]
    return rows.select(*wires)


def place_name(place: int) -> str:
    return f"c{place}"


def quoted(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def _reference(column: ScanColumn) -> Column:
    if column.expression is not None:
        return fn.expr(column.expression)
    value = fn.col(quoted(column.name))
    # Spark pads CHAR(n) with spaces when it reads it; the padding is no part of the value.
    return fn.rtrim(value) if column.column.type.name is TypeName.CHAR else value


def _wire(value: Column, t: DataType, kind: Kind) -> Column:
    if is_nested(t):
        return json_text(value, t)
    if isinstance(t, spark.TimestampType):
        # As Arrow it would carry the session's time zone.
        return fn.unix_micros(value) if kind.form is Form.TIMESTAMP else utc_text(value)
    if isinstance(t, spark.DayTimeIntervalType) and kind.form is Form.TIME:
        return value
    if isinstance(t, spark.YearMonthIntervalType | spark.DayTimeIntervalType | spark.NullType):
        return value.cast("string")
    return value
