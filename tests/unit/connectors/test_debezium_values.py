"""Values in Debezium's events become exact ones, whatever they are called."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from tests.servers.debezium import decimal, named, unscaled
from tieout.connectors.debezium.types import field_type
from tieout.model.types import TypeName

TIME, DATA, CONNECT = "io.debezium.time.", "io.debezium.data.", "org.apache.kafka.connect.data."


def decoded(schema, text):
    """As a feed reads it."""
    value = json.loads(text, parse_float=Decimal, parse_constant=str)
    return field_type(schema)[1](value)


@pytest.mark.parametrize(
    ("schema", "text", "meant"),
    [
        ({"type": "boolean"}, "true", 1),
        ({"type": "int8"}, "-128", -128),
        ({"type": "int64"}, "9223372036854775807", 2**63 - 1),
        ({"type": "float"}, "0.1", "0.10000000149011612"),
        ({"type": "float"}, "3.4028235E38", "3.4028234663852886e+38"),
        ({"type": "double"}, "0.1", "0.1"),
        ({"type": "double"}, "-0.0", "-0.0"),
        ({"type": "double"}, '"NaN"', "NaN"),
        ({"type": "double"}, "-Infinity", "-Infinity"),
        ({"type": "string"}, r'"\u00e4\ud83d\ude00"', "ä😀"),
        ({"type": "bytes"}, '"AP+A"', b"\x00\xff\x80"),
        (decimal(6, 4), '"D3J5"', "101.2345"),
        (decimal(6, 4), "10.2345", "10.2345"),
        (decimal(38, 2), f'"{unscaled(-(10**38 - 1))}"', "-" + "9" * 36 + ".99"),
        (decimal(10, 0), f'"{unscaled(2**63)}"', "9223372036854775808"),
        (decimal(10, -2), f'"{unscaled(5)}"', "500"),
        (decimal(10, 5), f'"{unscaled(-1)}"', "-0.00001"),
        (
            named("struct", f"{DATA}VariableScaleDecimal"),
            f'{{"scale": 3, "value": "{unscaled(123456789)}"}}',
            "123456.789",
        ),
        (named("int32", f"{TIME}Date"), "0", "1970-01-01"),
        (named("int32", f"{CONNECT}Date"), "-719528", "0001-01-01 BC"),
        (named("int32", f"{TIME}Date"), "2932896", "9999-12-31"),
        (named("int32", f"{TIME}Date"), "11016", "2000-02-29"),
        (named("string", f"{TIME}IsoDate"), '"2016-08-24Z"', "2016-08-24"),
        (named("int32", f"{TIME}Time"), "1", "00:00:00.001000"),
        (named("int32", f"{CONNECT}Time"), "86399000", "23:59:59"),
        (named("int64", f"{TIME}MicroTime"), "-3020399000001", "-838:59:59.000001"),
        (named("int64", f"{TIME}NanoTime"), "1000", "00:00:00.000001"),
        (named("string", f"{TIME}ZonedTime"), '"15:13:16.945104Z"', "15:13:16.945104+00"),
        (named("string", f"{TIME}IsoTime"), '"10:00:00Z"', "10:00:00"),
        # The examples of Debezium's documents.
        (named("int64", f"{TIME}MicroTimestamp"), "1529507596945104", "2018-06-20 15:13:16.945104"),
        (named("int64", f"{TIME}Timestamp"), "1529476623000", "2018-06-20 06:37:03"),
        (named("int64", f"{CONNECT}Timestamp"), "-1", "1969-12-31 23:59:59.999000"),
        (named("int64", f"{TIME}NanoTimestamp"), "1529507596945104000", "2018-06-20 15:13:16.945104"),
        (named("int64", f"{TIME}MicroTimestamp"), "9223372036825200000", "infinity"),
        (named("int64", f"{TIME}MicroTimestamp"), "-9223372036832400000", "-infinity"),
        (named("string", f"{TIME}IsoTimestamp"), '"2018-06-20T15:13:16.945104Z"', "2018-06-20 15:13:16.945104"),
        (named("string", f"{TIME}ZonedTimestamp"), '"2018-06-20T13:37:03Z"', "2018-06-20 13:37:03"),
        (named("string", f"{TIME}ZonedTimestamp"), '"2016-12-31T23:30:00.5-05:30"', "2017-01-01 05:00:00.500000"),
        (named("string", f"{TIME}ZonedTimestamp"), '"+292278994-08-16T23:00:00Z"', "infinity"),
        (named("string", f"{TIME}ZonedTimestamp"), '"-0043-03-15T12:00Z"', "0044-03-15 12:00:00 BC"),
        (named("int32", f"{TIME}Year"), "2155", 2155),
        (named("string", f"{TIME}Interval"), '"P1Y2M3DT4H5M6.78S"', "P1Y2M3DT4H5M6.78S"),
        (named("string", f"{DATA}Json"), r'"{\"a\": 1.10}"', '{"a": 1.10}'),
        (named("string", f"{DATA}Xml"), '"<a/>"', "<a/>"),
        (
            named("string", f"{DATA}Uuid"),
            '"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"',
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        (named("string", f"{DATA}Enum", allowed="a,b"), '"b"', "b"),
        (named("string", f"{DATA}EnumSet", allowed="a,b"), '"a,b"', "a,b"),
        # Little-endian: the first byte has the last bits.
        (named("bytes", f"{DATA}Bits", length=10), '"BQI="', "1000000101"),
        (named("bytes", f"{DATA}Bits", length=2), '"AQ=="', "01"),
        (
            {"type": "array", "items": {"type": "double"}},
            '[1.10, null, "a", {"b": true}]',
            '[1.10,null,"a",{"b":true}]',
        ),
    ],
)
def test_a_value_is_exact(schema, text, meant):
    assert decoded(schema, text) == meant


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "boolean"}, "1"),
        ({"type": "int32"}, "true"),
        ({"type": "int32"}, "1.0"),
        ({"type": "string"}, r'"\ud83d"'),
        ({"type": "string"}, "1"),
        ({"type": "bytes"}, '"no base64!"'),
        (decimal(6, 4), '"10.5"'),
        (decimal(6, 4), '""'),
        (named("int32", f"{TIME}Date"), "2147483647"),
        (named("string", f"{TIME}IsoDate"), '"2023-02-29Z"'),
        (named("string", f"{TIME}ZonedTimestamp"), '"2024-04-31T10:00:00Z"'),
        (named("int64", f"{TIME}NanoTimestamp"), "1"),
        (named("string", f"{TIME}ZonedTimestamp"), '"yesterday"'),
        (named("string", f"{TIME}ZonedTimestamp"), '"2018-06-20T13:37:03.123456789Z"'),
        (named("string", f"{TIME}ZonedTime"), '"10:00:00"'),
        (named("string", f"{DATA}Uuid"), '""'),
        # Shorter than its length: a BIT VARYING, whose own length is not told.
        (named("bytes", f"{DATA}Bits", length=20), '"BQI="'),
        (named("bytes", f"{DATA}Bits", length=3), '"/w=="'),
    ],
)
def test_a_wrong_value_is_no_other(schema, text):
    with pytest.raises((ValueError, TypeError)):
        decoded(schema, text)


@pytest.mark.parametrize(
    ("schema", "name", "precision", "scale"),
    [
        ({"type": "int16"}, TypeName.INTEGER, 16, None),
        ({"type": "string"}, TypeName.TEXT, None, None),
        (decimal(20, 4), TypeName.DECIMAL, 20, 4),
        (named("bytes", f"{CONNECT}Decimal", scale=2), TypeName.DECIMAL, None, 2),
        (named("struct", f"{DATA}VariableScaleDecimal"), TypeName.DECIMAL, None, None),
        (named("int64", f"{TIME}Timestamp"), TypeName.TIMESTAMP, 3, None),
        (named("int64", f"{TIME}MicroTimestamp"), TypeName.TIMESTAMP, 6, None),
        (named("string", f"{TIME}ZonedTimestamp"), TypeName.INSTANT, 6, None),
        (named("string", f"{TIME}ZonedTime"), TypeName.TIMETZ, 6, None),
        (named("int64", f"{TIME}MicroTime"), TypeName.TIME, 6, None),
        (named("string", f"{DATA}Ltree"), TypeName.TEXT, None, None),
        # Approximate, or without a form that databases share.
        (named("int64", f"{TIME}MicroDuration"), TypeName.UNKNOWN, None, None),
        (named("struct", f"{DATA}geometry.Point"), TypeName.UNKNOWN, None, None),
        (named("bytes", f"{DATA}Bits", length=2**31 - 1), TypeName.UNKNOWN, None, None),
        ({"type": "array", "items": {"type": "int32"}}, TypeName.UNKNOWN, None, None),
        (named("int64", "com.example.Ticks"), TypeName.UNKNOWN, None, None),
    ],
)
def test_what_a_schema_means(schema, name, precision, scale):
    found, _ = field_type(schema)
    assert (found.name, found.precision, found.scale) == (name, precision, scale)


def test_labels_are_those_of_the_schema():
    assert field_type(named("string", f"{DATA}Enum", allowed="small,large"))[0].values == ("small", "large")


def test_the_calendar_is_that_of_python():
    from datetime import date, timedelta

    from tieout.connectors.debezium import calendar

    first = date(1970, 1, 1)
    for days in range(-719_162, 2_932_897, 997):
        day = first + timedelta(days)
        assert calendar.civil(days) == (day.year, day.month, day.day)
        assert calendar.days_of(day.year, day.month, day.day) == days
    for days in (-2_000_000_000, -800_000, 5_000_000, 2_100_000_000):
        assert calendar.days_of(*calendar.civil(days)) == days
