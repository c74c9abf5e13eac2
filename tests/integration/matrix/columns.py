"""The wide table: every column, the types that hold it on each engine, and what is in it.

A pair of databases compares the columns for which both have a type. What is missing from an engine here is
what it can't hold: SQLite has neither exact decimals of 38 digits nor integers above 2^63, MariaDB no NaN, …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.integration.matrix import values as v

MARIADB, POSTGRES, SQLITE = "mariadb", "postgres", "sqlite"

ROWS = 40
KEYS = tuple(range(-3, ROWS - 3))
"""Negative keys and zero included."""

Spelling = Callable[[Any], Any]


@dataclass(frozen=True)
class Column:
    """`types` maps an engine to its type, or to a pair of types: as a source and as a target.

    `spelled` turns a value into what an engine's driver is given, where the value itself won't do.
    `generated` maps an engine to the expression of a generated column: no values are given.
    """

    name: str
    values: tuple[Any, ...] = ()
    types: Mapping[str, str | tuple[str, str]] = field(default_factory=dict)
    spelled: Mapping[str, Spelling] = field(default_factory=dict)
    generated: Mapping[str, str] = field(default_factory=dict)

    def type_on(self, engine: str, *, is_source: bool) -> str | None:
        declared = self.types.get(engine)
        return declared[0 if is_source else 1] if isinstance(declared, tuple) else declared

    def value(self, row: int, engine: str) -> Any:
        return self.spell(self.values[row % len(self.values)], engine)

    def spell(self, value: Any, engine: str) -> Any:
        return self.spelled[engine](value) if value is not None and engine in self.spelled else value


def columns_of(source: str, target: str) -> tuple[Column, ...]:
    """The columns that both engines can hold."""
    return tuple(c for c in COLUMNS if c.type_on(source, is_source=True) and c.type_on(target, is_source=False))


def everywhere(mariadb: str, postgres: str, sqlite: str) -> dict[str, str | tuple[str, str]]:
    return {MARIADB: mariadb, POSTGRES: postgres, SQLITE: sqlite}


def servers(mariadb: str, postgres: str) -> dict[str, str | tuple[str, str]]:
    return {MARIADB: mariadb, POSTGRES: postgres}


def from_bits(digits: str) -> int:
    return int(digits, 2)


INTEGERS = (
    Column("tiny", v.integers(8), everywhere("TINYINT", "smallint", "TINYINT")),
    Column("small", v.integers(16), everywhere("SMALLINT", "smallint", "SMALLINT")),
    Column("medium", v.integers(24), everywhere("MEDIUMINT", "integer", "MEDIUMINT")),
    Column("int", v.integers(32), everywhere("INT", "integer", "INT")),
    Column("big", v.integers(64), everywhere("BIGINT", "bigint", "BIGINT")),
    Column("utiny", v.integers(8, unsigned=True), everywhere("TINYINT UNSIGNED", "smallint", "INTEGER")),
    Column("uint", v.integers(32, unsigned=True), everywhere("INT UNSIGNED", "bigint", "INTEGER")),
    Column("ubig", v.integers(64, unsigned=True), servers("BIGINT UNSIGNED", "numeric(20)")),
    Column("year", (2024, 1901, 2155, None, 1970), everywhere("YEAR", "smallint", "YEAR")),
    Column("truth", (1, 0, None), everywhere("TINYINT(1)", "boolean", "BOOLEAN")),
    Column("zerofill", (0, 7, None, 99999), {MARIADB: "INT(5) UNSIGNED ZEROFILL", POSTGRES: "integer"}),
)

DECIMALS = (
    Column(
        "dec",
        (
            "0",
            "-0.000000000000001",
            "12345678901234567890123.123456789012345",
            None,
            "99999999999999999999999.999999999999999",
            "-99999999999999999999999.999999999999999",
            "0.1",
            "1",
            "100",
        ),
        servers("DECIMAL(38,15)", "numeric(38,15)"),
    ),
    Column("money", ("0.00", "-1.10", "9999999.99", None, "0.01", "10"), servers("DECIMAL(12,2)", "numeric(12,2)")),
    Column("huge", ("1" * 65, "-" + "9" * 65, "0", None, "7"), servers("DECIMAL(65,0)", "numeric")),
    Column(
        "number",
        ("1.50", "0", "-0.000000000000000000000000000001", None, "12345678901234567890123456789012345.5", "100"),
        {MARIADB: "DECIMAL(65,30)", POSTGRES: "numeric"},
    ),
    Column("short", (0, -1.5, 9999.25, None, 100, 0.01), everywhere("DECIMAL(8,2)", "numeric(8,2)", "DECIMAL(8,2)")),
    Column(
        "number_special",
        ("NaN", "Infinity", "-Infinity", None, "0", "1e-300", "1e300", "1.000"),
        {POSTGRES: "numeric"},
    ),
    Column("dec_special", ("NaN", None, "0", "-1.50"), {POSTGRES: "numeric(10,2)"}),
    Column("rounded", ("12345600", None, "0"), {POSTGRES: "numeric(8,-2)"}),
)

FLOATS = (
    Column("single", v.SINGLES, everywhere("FLOAT", "real", "REAL")),
    Column("double", v.DOUBLES, everywhere("DOUBLE", "double precision", "DOUBLE")),
    Column("float_special", ("NaN", "Infinity", "-Infinity", None, "-0", "1e-320"), {POSTGRES: "double precision"}),
    Column("single_special", ("NaN", "Infinity", "-Infinity", None, "-0"), {POSTGRES: "real"}),
)

TEXTS = (
    Column(
        "ch",
        ("abc", "ab  ", "", None, " x", "é  "),
        everywhere("CHAR(10)", "char(10)", "CHAR(10)"),
        {SQLITE: str.rstrip},
    ),
    Column("vc", v.TEXTS, everywhere("VARCHAR(80)", "varchar(80)", "VARCHAR(80)")),
    # The neighbour, for text that moves.
    Column("vc2", v.TEXTS[7:], everywhere("VARCHAR(80)", "varchar(80)", "TEXT")),
    Column("txt", ("long " * 2000, *v.TEXTS), everywhere("TEXT", "text", "TEXT")),
    Column("longtxt", ("é" * 70_000, "", None, "😀"), everywhere("LONGTEXT", "text", "CLOB")),
    Column(
        "latin",
        v.LATIN_TEXTS,
        {
            MARIADB: ("VARCHAR(80) CHARACTER SET latin1", "VARCHAR(80) CHARACTER SET utf8mb4"),
            POSTGRES: "text",
            SQLITE: "TEXT",
        },
    ),
    Column(
        "latin_both", v.LATIN_TEXTS, {MARIADB: "VARCHAR(80) CHARACTER SET latin1", POSTGRES: 'varchar(80) COLLATE "C"'}
    ),
    Column(
        "gbk",
        v.GBK_TEXTS,
        {
            MARIADB: ("VARCHAR(80) CHARACTER SET gbk", "VARCHAR(80) CHARACTER SET utf8mb3"),
            POSTGRES: "text",
            SQLITE: "TEXT",
        },
    ),
    Column("sjis", v.SJIS_TEXTS, {MARIADB: "VARCHAR(80) CHARACTER SET sjis", POSTGRES: "text", SQLITE: "TEXT"}),
    Column("ucs2", ("中文", "é", None, "", "plain "), {MARIADB: "VARCHAR(80) CHARACTER SET ucs2", POSTGRES: "text"}),
    Column(
        "utf16",
        ("😀", "é", None, "", "plain "),
        {MARIADB: ("VARCHAR(80) CHARACTER SET utf16", "VARCHAR(80) CHARACTER SET utf32")},
    ),
    Column(
        "enum",
        ("small", "größe", "it's", None),
        everywhere("ENUM('small','größe','it''s','Small') COLLATE utf8mb4_bin", "matrix_size", "ENUM"),
    ),
    Column("set", ("b,a", "a", "", None, "b,a,c"), {MARIADB: "SET('b','a','c')", POSTGRES: "text"}),
    Column("insensitive", v.TEXTS, {POSTGRES: "text COLLATE matrix_insensitive"}),
)

BINARIES = (
    Column("bin", v.EIGHT_BYTES, everywhere("BINARY(8)", "bytea", "BLOB")),
    Column("varbin", v.BYTES, everywhere("VARBINARY(300)", "bytea", "VARBINARY(300)")),
    Column("blob", (b"\0\xff" * 5000, *v.BYTES), everywhere("BLOB", "bytea", "BLOB")),
    Column("longblob", (bytes(range(256)) * 300, None, b""), everywhere("LONGBLOB", "bytea", "BLOB")),
)

TEMPORALS = (
    Column("date", v.DATES, everywhere("DATE", "date", "DATE")),
    Column("clock", v.CLOCKS, everywhere("TIME(6)", "time(6)", "TIME")),
    Column("span", v.SPANS, servers("TIME(6)", "interval")),
    Column("moment", v.MOMENTS, everywhere("DATETIME(6)", "timestamp(6)", "DATETIME")),
    Column("second", ("2024-10-27 02:30:00", None, "1999-12-31 23:59:59"), servers("DATETIME", "timestamp(0)")),
    Column("instant", v.INSTANTS, everywhere("TIMESTAMP(6) NULL", "timestamptz(6)", "TIMESTAMPTZ")),
    Column("zero_date", ("0000-00-00", "2024-00-00", "2024-01-01", None, "2024-02-00"), {MARIADB: "DATE"}),
    Column("zero_moment", ("0000-00-00 00:00:00", "2024-01-01 00:00:00.000001", None), {MARIADB: "DATETIME(6)"}),
    Column("zero_instant", ("0000-00-00 00:00:00", "2024-01-01 00:00:00.000001", None), {MARIADB: "TIMESTAMP(6) NULL"}),
    Column("end_date", ("infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", None), {POSTGRES: "date"}),
    Column(
        "end_moment",
        ("infinity", "-infinity", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999", None),
        {POSTGRES: "timestamp"},
    ),
    Column("end_instant", ("infinity", "-infinity", None, "294276-12-31 00:00:00+00"), {POSTGRES: "timestamptz"}),
    Column("clock_zone", ("10:00:00+00", "11:00:00+01", None, "23:59:59.999999-12"), {POSTGRES: "timetz"}),
    Column(
        "interval",
        ("1 month", "30 days", "720 hours", "0", None, "-1 year 2 days -00:00:00.000001", "178000000 years"),
        {POSTGRES: "interval"},
    ),
)

OTHERS = (
    # Declared as JSON alone, SQLite would keep a number in JSON as a number of its own.
    Column("json", v.JSONS, everywhere("JSON", "jsonb", "JSON TEXT")),
    Column("json_text", v.JSONS, everywhere("JSON", "json", "JSON TEXT")),
    Column(
        "bit",
        ("0000000001", "1111111111", None, "0000000000", "1000000000"),
        servers("BIT(10)", "bit(10)"),
        {MARIADB: from_bits},
    ),
    Column("bit64", ("1" * 64, "1" + "0" * 63, None, "0" * 64), servers("BIT(64)", "bit(64)"), {MARIADB: from_bits}),
    Column(
        "bit_int",
        ("11111111", "00000000", None, "00000111"),
        servers("BIT(8)", "smallint"),
        {MARIADB: from_bits, POSTGRES: from_bits},
    ),
    Column("varbit", ("1", "01", "", None), {POSTGRES: "varbit(8)"}),
    Column("uuid", v.UUIDS, everywhere("UUID", "uuid", "UUID"), {SQLITE: str}),
    Column("uuid_text", v.UUIDS, servers("CHAR(36)", "uuid")),
    Column("uuid_bytes", v.UUIDS, servers("BINARY(16)", "uuid"), {MARIADB: lambda u: u.bytes}),
    Column("uuid_blob", v.UUIDS, {POSTGRES: "uuid", SQLITE: "BLOB"}, {SQLITE: lambda u: u.bytes}),
    Column("inet", ("10.0.0.1", None, "::1"), {POSTGRES: "inet"}),
    Column("point", ("(0.1,-0)", None, "(1e308,5e-324)"), {POSTGRES: "point"}),
    Column("span_range", ("[2024-01-01 00:00+00,)", "empty", None), {POSTGRES: "tstzrange"}),
    Column("inet6", ("::1", None, "fe80::1"), {MARIADB: "INET6"}),
)

ARRAYS = (
    Column("ints", ("{1,2,3}", "[0:2]={1,2,3}", "{}", None, "{NULL}", "{9007199254740993}"), {POSTGRES: "bigint[]"}),
    Column("grid", ("{{1,2},{3,4}}", "{{1,2,3,4}}", "{1,2,3,4}", None, "[0:0][5:6]={{1,2}}"), {POSTGRES: "integer[]"}),
    Column(
        "words",
        ('{a,"",NULL,"NULL","x,y","q\\"q","back\\\\slash",é}', "{}", None, '{""}', '{"{}"}'),
        {POSTGRES: "text[]"},
    ),
    Column("reals", ("{0.1,-0,NaN,Infinity,1e-300}", None, "{}"), {POSTGRES: "double precision[]"}),
    Column("numbers", ("{1.0,1.00,NaN}", None, "{12345678901234567890.5}"), {POSTGRES: "numeric[]"}),
    Column("instants", ('{"2024-01-01 00:00:00+00",infinity}', None, "{}"), {POSTGRES: "timestamptz[]"}),
)

GENERATED = (
    Column(
        "made",
        types=everywhere("BIGINT", "bigint", "BIGINT"),
        generated={MARIADB: "`int` * 2", POSTGRES: '"int"::bigint * 2', SQLITE: '"int" * 2'},
    ),
    Column("virtual", types={MARIADB: "VARCHAR(90)"}, generated={MARIADB: "CONCAT(`vc`, '!')"}),
)


COLUMNS: tuple[Column, ...] = (
    *INTEGERS,
    *DECIMALS,
    *FLOATS,
    *TEXTS,
    *BINARIES,
    *TEMPORALS,
    *OTHERS,
    *ARRAYS,
    *GENERATED,
)
