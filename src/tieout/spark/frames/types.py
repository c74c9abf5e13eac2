"""Spark's types as logical types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import types as spark
from pyspark.sql.types import DataType, StructField

from tieout.model.types import LogicalType, TypeName

# By name: the classes of later types (TimeType) are not in every pyspark.
_SIMPLE = {
    "BooleanType": TypeName.BOOLEAN,
    "FloatType": TypeName.FLOAT32,
    "DoubleType": TypeName.FLOAT64,
    "StringType": TypeName.TEXT,
    "VarcharType": TypeName.TEXT,
    "NullType": TypeName.TEXT,
    "BinaryType": TypeName.BINARY,
    "DateType": TypeName.DATE,
    "TimestampType": TypeName.INSTANT,
    "TimestampNTZType": TypeName.TIMESTAMP,
    "TimeType": TypeName.TIME,
    # An exact number of microseconds, like MySQL's TIME.
    "DayTimeIntervalType": TypeName.TIME,
    "YearMonthIntervalType": TypeName.OPAQUE,
}

_BITS = {"ByteType": 8, "ShortType": 16, "IntegerType": 32, "LongType": 64}

_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
"""The metadata in which Spark keeps that a string column was declared CHAR(n) or VARCHAR(n)."""


def logical_type(field: StructField) -> LogicalType:
    declared = str(field.metadata.get(_DECLARED, ""))
    length = re.fullmatch(r"(char|varchar)\((\d+)\)", declared)
    if length is not None:
        name = TypeName.CHAR if length[1] == "char" else TypeName.TEXT
        return LogicalType(name, declared, precision=int(length[2]))
    return _by_type(field.dataType)


def type_as_text(field: StructField) -> LogicalType:
    """The type of a value that becomes a text: nothing reads the text of an interval as a time."""
    found = logical_type(field)
    if is_interval(field.dataType):
        return replace(found, name=TypeName.INTERVAL)
    return (
        replace(found, precision=getattr(field.dataType, "precision", None)) if found.name is TypeName.TIME else found
    )


def is_interval(t: DataType) -> bool:
    return type(t).__name__.endswith("IntervalType")


def _by_type(t: DataType) -> LogicalType:
    native, name = t.simpleString(), type(t).__name__
    if name in _BITS:
        return LogicalType(TypeName.INTEGER, native, precision=_BITS[name])
    if isinstance(t, spark.DecimalType):
        return LogicalType(TypeName.DECIMAL, native, t.precision, t.scale)
    if isinstance(t, spark.CharType):
        return LogicalType(TypeName.CHAR, native, precision=t.length)
    if is_nested(t):
        return LogicalType(TypeName.JSON if _has_one_json(t) else TypeName.UNKNOWN, native)
    return LogicalType(_SIMPLE.get(name, TypeName.UNKNOWN), native)


def is_nested(t: DataType) -> bool:
    return isinstance(t, spark.ArrayType | spark.MapType | spark.StructType)


def is_collated(t: DataType) -> bool:
    """Whether Spark compares (and hashes) strings of this type by anything but their bytes."""
    return isinstance(t, spark.StringType) and getattr(t, "collation", "UTF8_BINARY") != "UTF8_BINARY"


def _has_one_json(t: DataType) -> bool:
    """Whether two values of a type have the same JSON only if they are the same."""
    if isinstance(t, spark.StructType):
        names = [name.casefold() for name in t.fieldNames()]
        if len(set(names)) < len(names):
            return False
    if is_nested(t):
        return all(map(_has_one_json, _parts(t)))
    # A variant keeps the type of every value, JSON does not: a date in it looks like a string.
    return _by_type(t).name is not TypeName.UNKNOWN


def _parts(t: DataType) -> Iterator[DataType]:
    if isinstance(t, spark.ArrayType):
        yield t.elementType
    elif isinstance(t, spark.MapType):
        yield from (t.keyType, t.valueType)
    elif isinstance(t, spark.StructType):
        yield from (field.dataType for field in t.fields)
