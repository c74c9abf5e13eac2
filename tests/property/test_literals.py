"""A literal says its text and nothing else, whatever the text holds."""

from __future__ import annotations

import re
import sqlite3
import struct

import pytest
import sqlglot
from hypothesis import example, given
from hypothesis import strategies as st

from tieout.connectors.mysql.dialect import MySQLDialect as MySQLChangeDialect
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.postgres.dialect import PostgresChangeDialect
from tieout.connectors.postgres.literals import array_literal, from_postgres, to_postgres
from tieout.connectors.protocols.repair import Refused
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.literals import real
from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName

MYSQL, POSTGRES, SQLITE = MySQLChangeDialect(ServerKind.MARIADB), PostgresChangeDialect(), SQLiteDialect()
EVERY_TYPE = st.sampled_from(TypeName).map(lambda name: Column("c", LogicalType(name, name.value, precision=8)))

texts = st.text() | st.text("'\"\\`;-/*#$0x%\n\0 ab")


def column(name: TypeName) -> Column:
    return Column("c", LogicalType(name, name.value))


@given(EVERY_TYPE, texts)
@example(column(TypeName.TEXT), "'; DROP TABLE t; --")
@example(column(TypeName.INTEGER), "1 OR 1=1")
@example(column(TypeName.BITS), "²")
@example(column(TypeName.FLOAT64), "1_0")
def test_mysql_literals_have_no_way_out(of: Column, text: str) -> None:
    try:
        literal = MYSQL.value(of, text)
    except Refused:
        return
    harmless = r"'[^'\\\0]*'"
    assert re.fullmatch(rf"{harmless}|(_utf8mb4 )?X'[0-9a-f]*'|b'[01]*'|-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", literal)


@given(EVERY_TYPE, texts)
@example(column(TypeName.TEXT), "\\'; DROP TABLE t; --")
@example(column(TypeName.BITS), "1²")
def test_postgres_literals_have_no_way_out(of: Column, text: str) -> None:
    try:
        literal = POSTGRES.value(of, text)
    except Refused:
        return
    assert re.fullmatch(r"'([^'\0]|'')*'|-?[0-9]+(\.[0-9]+)?|[0-9]+::bit\([0-9]+\)", literal)


@given(texts.filter(lambda text: not text.startswith("\0blob ")))
def test_sqlite_gives_back_the_text(text: str) -> None:
    try:
        literal = SQLITE.value(column(TypeName.TEXT), text)
    except Refused:
        text.encode("utf-16", "surrogatepass")
        assert re.search("[\ud800-\udfff]", text)
        return
    connection = sqlite3.connect(":memory:")
    assert connection.execute(f"SELECT {literal}, typeof({literal})").fetchone() == (text, "text")
    connection.close()


@given(EVERY_TYPE, texts)
def test_sqlite_literals_are_one_value(of: Column, text: str) -> None:
    try:
        literal = SQLITE.value(of, text)
    except Refused:
        return
    assert len(sqlglot.parse(f"SELECT {literal}", dialect="sqlite")) == 1
    connection = sqlite3.connect(":memory:")
    assert len(connection.execute(f"SELECT {literal}").fetchone()) == 1
    connection.close()


@given(st.floats(allow_nan=False))
@example(8178.894821176194)
@example(-2.326683404616181e-273)
def test_sqlite_reals_are_exact_to_the_last_bit(number: float) -> None:
    connection = sqlite3.connect(":memory:")
    (back,) = connection.execute(f"SELECT {real(number)}").fetchone()
    connection.close()
    assert struct.pack("d", float(back)) == struct.pack("d", number) or back == number == 0


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_mysql_floats_are_written_as_the_double_they_are(number: float) -> None:
    import numpy as np

    literal = MYSQL.value(column(TypeName.FLOAT32), str(np.float32(number)))
    assert float(literal) == number


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("0044-03-15 BC", "-0043-03-15"),
        ("0001-01-01 BC", "0000-01-01"),
        ("4713-01-01 00:00:00+00 BC", "-4712-01-01 00:00:00+00"),
        ("2024-02-29", "2024-02-29"),
        ("infinity", "infinity"),
    ],
)
def test_years_before_christ(theirs: str, ours: str) -> None:
    assert from_postgres(theirs) == ours
    assert to_postgres(ours) == theirs


def test_a_zero_date_is_no_year_before_christ() -> None:
    assert to_postgres("0000-00-00") == "0000-00-00"


@pytest.mark.parametrize(
    ("canonical", "literal"),
    [
        ('["[1:2]",[1,null]]', "[1:2]={1,NULL}"),
        ('["[0:0][2:3]",[[1.5,2]]]', "[0:0][2:3]={{1.5,2}}"),
        ("[null,[]]", "{}"),
        ("[]", "{}"),
        ("[1,2]", "{1,2}"),
        ('["a\\"b\\\\c","NULL",true,12345678901234567890]', '{"a\\"b\\\\c","NULL",t,12345678901234567890}'),
        ("{1,2}", "{1,2}"),
        ("[0:1]={1,2}", "[0:1]={1,2}"),
    ],
)
def test_arrays_from_canonical_text(canonical: str, literal: str) -> None:
    assert array_literal(canonical) == literal
