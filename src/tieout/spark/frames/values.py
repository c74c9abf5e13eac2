"""Rows of a frame in the forms that the canonical decoders take: exact, and the same in every session.

Arrays, maps and structs become JSON text that is the same only for the same value.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.types import TypeName
from tieout.spark.frames.types import is_nested


def selected(frame: DataFrame, scan: Scan) -> DataFrame:
    """The rows and columns of a scan, unchanged; columns are named c0, c1, … in order."""
    rows = frame.where(scan.where) if scan.where else frame
    return rows.select(*(_reference(column).alias(place_name(place)) for place, column in enumerate(scan.columns)))


def wired(rows: DataFrame, scan: Scan) -> DataFrame:
    """Rows of `selected` with each value in the form that decoders take; drops further columns."""
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
    # Spark pads CHAR(n) with spaces when it reads it; the padding does not belong to the value.
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


_MARK = "\0invalid "
_OPTIONS = {"ignoreNullFields": "false"}
_NAME_KEYS = (spark.StringType, spark.IntegralType, spark.BooleanType, spark.DecimalType)
"""Types of map keys that stand as an object's names; a map with others is a list of its entries."""


def json_text(value: Column, t: DataType, *, entries: bool = False) -> Column:
    """NULL stays NULL. `entries`: each map is the sorted list of its entries, for hashing: objects have no order."""
    return fn.to_json(_prepared(value, t, entries), _OPTIONS)


def utc_text(moment: Column) -> Column:
    """A timestamp as text in UTC: to_json would truncate it to milliseconds and print years of an era."""
    epoch = fn.lit("1970-01-01").cast("timestamp_ntz")
    return fn.timestamp_add("MICROSECOND", fn.unix_micros(moment), epoch).cast("string")


def _prepared(value: Column, t: DataType, entries: bool) -> Column:
    if isinstance(t, spark.TimestampType):
        return utc_text(value)
    if isinstance(t, spark.DateType | spark.TimestampNTZType | spark.YearMonthIntervalType | spark.DayTimeIntervalType):
        return value.cast("string")
    if isinstance(t, spark.StringType):
        return _valid(value)
    if isinstance(t, spark.ArrayType):
        element = t.elementType
        return fn.transform(value, lambda item: _prepared(item, element, entries))
    if isinstance(t, spark.MapType):
        return _prepared_map(value, t, entries)
    if isinstance(t, spark.StructType):
        fields = [_prepared(value.getField(f.name), f.dataType, entries).alias(f.name) for f in t.fields]
        return fn.when(value.isNotNull(), fn.struct(*fields))
    return value


def _valid(text: Column) -> Column:
    """Marks bytes that are not UTF-8 and writes them in hexadecimal: JSON would replace all of them alike."""
    marked = fn.concat(fn.lit(_MARK), fn.lower(fn.hex(text)))
    # A text that looks like such a mark gets one more NUL, so that nobody mistakes it for one.
    return (
        fn.when(~fn.is_valid_utf8(text), marked)
        .when(text.rlike(f"^\\x00*{_MARK}"), fn.concat(fn.lit("\0"), text))
        .otherwise(text)
    )


def _prepared_map(value: Column, t: spark.MapType, entries: bool) -> Column:
    if isinstance(t.keyType, _NAME_KEYS) and not entries:
        return fn.transform_values(value, lambda _, item: _prepared(item, t.valueType, entries))

    def in_order(a: Column, b: Column) -> Column:
        before, after = a.getField("key"), b.getField("key")
        return fn.when(before < after, -1).when(before > after, 1).otherwise(0)

    def entry(item: Column) -> Column:
        key = _prepared(item.getField("key"), t.keyType, entries).alias("key")
        return fn.struct(key, _prepared(item.getField("value"), t.valueType, entries).alias("value"))

    return fn.transform(fn.array_sort(fn.map_entries(value), in_order), entry)
