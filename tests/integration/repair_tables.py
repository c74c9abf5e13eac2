"""Wide tables with nasty values, for each pair of engines, and the faults that a repair has to repair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NASTY = 'it\'s \\ "quoted"\n\t%s :x $1 -- ; /* 😀 é ß'


@dataclass(frozen=True)
class Wide:
    """`columns` are name and declaration on the source and on the target; `rows` their values, the key first."""

    columns: tuple[tuple[str, str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    quote: tuple[str, str]
    setup: tuple[str, str] = ("", "")

    def create(self, side: int) -> str:
        declared = ", ".join(f"{self.name(c[0], side)} {c[1 + side]}" for c in self.columns)
        return f"{self.setup[side]} CREATE TABLE wide ({declared})"

    def name(self, column: str, side: int) -> str:
        mark = self.quote[side]
        return mark + column.replace(mark, mark * 2) + mark

    def written(self, side: int) -> list[str]:
        """The columns that take values: all but generated ones."""
        return [self.name(c[0], side) for c in self.columns if " AS (" not in c[1]]

    def insert(self, side: int, mark: str, override: str = "") -> str:
        names = self.written(side)
        return f"INSERT INTO wide ({', '.join(names)}) {override} VALUES ({', '.join([mark] * len(names))})"


def faults(wide: Wide, override: str = "") -> str:
    """Statements for the target: rows lost, rows too many, rows with every column changed, and emptied."""
    names = wide.written(1)
    key, rest = names[0], names[1:]
    columns, values = ", ".join(names), ", ".join(rest)
    insert = f"INSERT INTO wide ({columns}) {override}"
    nulls = ", ".join(["NULL"] * len(rest))
    return f"""
        DELETE FROM wide WHERE {key} IN (0, 2);
        {insert} SELECT 100, {values} FROM wide WHERE {key} = 1;
        {insert} SELECT 101, {values} FROM wide WHERE {key} = 3;
        {insert} SELECT -102, {values} FROM wide WHERE {key} = 4;
        DELETE FROM wide WHERE {key} IN (3, 4, 5);
        {insert} SELECT 3, {values} FROM wide WHERE {key} = 100;
        {insert} SELECT 4, {values} FROM wide WHERE {key} = 101;
        {insert} VALUES (5, {nulls});
    """


_EMPTY = (None,)

# fmt: off
MARIADB = Wide(
    columns=tuple(
        (name, declared, declared)
        for name, declared in (
            ("id", "BIGINT AUTO_INCREMENT PRIMARY KEY"),
            ("tiny", "TINYINT"),
            ("big", "BIGINT UNSIGNED"),
            ("dec", "DECIMAL(40,15)"),
            ("huge", "DECIMAL(65,30)"),
            ("fl", "FLOAT"),
            ("db", "DOUBLE"),
            ("ch", "CHAR(40)"),
            ("vc", "VARCHAR(200)"),
            ("la", "VARCHAR(50) CHARACTER SET latin1"),
            ("lt", "LONGTEXT"),
            ("bi", "BINARY(5)"),
            ("vb", "VARBINARY(300)"),
            ("da", "DATE"),
            ("tm", "TIME(6)"),
            ("dt", "DATETIME(6)"),
            ("ts", "TIMESTAMP(6) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(6)"),
            ("ye", "YEAR"),
            ("bt", "BIT(9)"),
            ("en", "ENUM('x','1','it''s')"),
            ("st", "SET('b','a','c')"),
            ("js", "JSON"),
            ("uu", "UUID"),
            ("ge", "GEOMETRY"),
            ("we`ird \"col\" é 'x'", "INT"),
            ("gen", "BIGINT AS (tiny + 1) STORED"),
        )
    ),
    rows=(
        (0, -128, 2**64 - 1, "-1234567890123456789012345.123456789012345", "0.000000000000000000000000000001",
         "0.1", "0.1", NASTY[:40], NASTY, "é€\\'", NASTY * 10, b"\0\xff'\\\n", bytes(range(256)),
         "0000-00-00", "-838:59:59.000000", "0000-00-00 00:00:00", "0000-00-00 00:00:00", 0, 341, "it's", "c,b",
         '{"b": [1, 2.50], "a": "\\"😀"}', "550e8400-e29b-41d4-a716-446655440000",
         bytes.fromhex("e6100000010100000000000000000000400000000000000840"), 1),
        (1, 127, 2**63, "0.000000000000001", "12345678901234567890123456789012345.123", "3.4028234e38",
         "1.7976931348623157e308", "trailing", "a\0b", "", "", b"", b"", "9999-12-31", "838:59:59",
         "9999-12-31 23:59:59.999999", "2038-01-19 01:14:07.999999", 2155, 0, "1", "",
         '{"z": 123456789012345678901234567890,  "a": 1.0}', "00000000-0000-0000-0000-000000000000", None, -1),
        (2, 0, 0, "0", "0", "1.1754944e-38", "5e-324", "", "", "", "x", b"x", b"'", "1000-01-01", "00:00:00.000001",
         "1000-01-01 00:00:00", "2024-10-27 02:30:00.5", 1901, 1, "x", "a,b,c", '"\\u0000"',
         "ffffffff-ffff-ffff-ffff-ffffffffffff", None, 0),
        (3, 1, 1, "1.5", "1.5", "16777217", "0.30000000000000004", "0x41", "0x41", "x", "true", b"0x41", b"0x41",
         "2024-02-29", "-00:00:00.000001", "2024-03-31 02:30:00", "2024-03-31 02:30:00", 2024, 511, "x", "a",
         "null", "12345678-1234-1234-1234-123456789abc", None, 2**31 - 1),
        (4, *_EMPTY * 24),
        (5, 5, 5, "5", "5", "5", "5", "5", "5", "5", "5", b"5", b"5", "2005-05-05", "05:05:05", "2005-05-05 05:05:05",
         "2005-05-05 05:05:05", 2005, 5, "1", "b", "5", "55555555-5555-5555-5555-555555555555", None, 5),
        (6, 6, 6, "6", "6", "6", "6", "6", "6", "6", "6", b"6", b"6", "2006-06-06", "06:06:06", "2006-06-06 06:06:06",
         "2006-06-06 06:06:06", 2006, 6, "x", "c", "6", "66666666-6666-6666-6666-666666666666", None, 6),
    ),
    quote=("`", "`"),
)

POSTGRES = Wide(
    columns=tuple(
        (name, declared, declared)
        for name, declared in (
            ("id", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
            ("sm", "smallint"),
            ("nu", "numeric"),
            ("dec", "numeric(40,15)"),
            ("re", "real"),
            ("db", "double precision"),
            ("bo", "boolean"),
            ("ch", "char(40)"),
            ("te", "text"),
            ("by", "bytea"),
            ("da", "date"),
            ("tm", "time"),
            ("tz", "timetz"),
            ("ts", "timestamp"),
            ("tt", "timestamptz"),
            ("iv", "interval"),
            ("bi", "bit(9)"),
            ("vb", "varbit"),
            ("mo", "mood"),
            ("js", "json"),
            ("jb", "jsonb"),
            ("uu", "uuid"),
            ("ia", "int[]"),
            ("ta", "text[]"),
            ("na", "numeric[]"),
            ("ca", "pair[]"),
            ("ip", "inet"),
            ("po", "point"),
            ("rg", "int4range"),
            ('we"ird `col` é', "int"),
            ("gen", "bigint GENERATED ALWAYS AS (sm + 1) STORED"),
        )
    ),
    rows=(
        (0, -32768, "1.10", "-1234567890123456789012345.123456789012345", "0.1", "0.1", True, NASTY[:30], NASTY,
         bytes(range(256)), "infinity", "24:00:00", "12:00:00.5+05:30", "infinity", "-infinity",
         "1 year 2 mons -3 days 04:05:06.7", "101010101", "1", "it's", '{"b": 1.10, "a": "\\u0041", "b": 2}',
         '{"b": 1.10, "a": 12345678901234567890}', "550e8400-e29b-41d4-a716-446655440000", "{1,NULL,3}",
         ["a,b", 'q"\\', "NULL", "", None, "{}"], "[2:3][-1:0]={{1.10,NaN},{NULL,1e30}}",
         '{"(1,\\"a b\\")"}', "::1/64", "(1.5,-2)", "[1,5)", 1),
        (1, 32767, "NaN", "0.000000000000001", "NaN", "NaN", False, "trailing  ", "", b"", "0044-03-15 BC",
         "23:59:59.999999", "00:00:00-15:59", "0044-03-15 12:00:00 BC", "0044-03-15 12:00:00 BC", "-1 mons",
         "000000000", "", "sad", '{"z": 1.10,  "a": [1, 2]}', "[]", "00000000-0000-0000-0000-000000000000", "{}", [],
         "{}", "{}",
         "10.0.0.1", "(0,0)", "empty", -1),
        (2, 0, "Infinity", "0", "Infinity", "-Infinity", None, "", "\\x41", b"\\x41", "294000-01-01",
         "00:00:00", "00:00:00+00", "294000-01-01 00:00:00", "2024-10-27 02:30:00.5+02", "30 days", "111111111", "01",
         "happy", '"x"', '"x"', "ffffffff-ffff-ffff-ffff-ffffffffffff", "{{1,2},{3,4}}", ["'"], "{1.0,1.00}", None,
         None, None, None, 0),
        (3, 1, "1e-30", "1.5", "16777216", "0.30000000000000004", True, "0x41", "0x41", b"0x41", "2024-02-29",
         "02:30:00", "02:30:00+01", "2024-03-31 02:30:00", "2024-03-31 02:30:00+00", "00:00:00", "000000001", "0",
         "sad", "null", "null", "12345678-1234-1234-1234-123456789abc", "[0:1]={1,2}", ["x"], "{1}", None, None, None,
         None, 2**31 - 1),
        (4, *_EMPTY * 29),
        (5, 5, "5", "5", "5", "5", True, "5", "5", b"5", "2005-05-05", "05:05:05", "05:05:05+05",
         "2005-05-05 05:05:05", "2005-05-05 05:05:05+00", "5 days", "000000101", "101", "sad", "5", "5",
         "55555555-5555-5555-5555-555555555555", "{5}", ["5"], "{5}", None, "5.5.5.5", "(5,5)", "[5,6)", 5),
        (6, 6, "6", "6", "6", "6", False, "6", "6", b"6", "2006-06-06", "06:06:06", "06:06:06+06",
         "2006-06-06 06:06:06", "2006-06-06 06:06:06+00", "6 days", "000000110", "110", "happy", "6", "6",
         "66666666-6666-6666-6666-666666666666", "{6}", ["6"], "{6}", None, "6.6.6.6", "(6,6)", "[6,7)", 6),
    ),
    quote=('"', '"'),
    setup=(
        "CREATE TYPE mood AS ENUM ('sad', 'happy', 'it''s'); CREATE TYPE pair AS (n int, t text);",
        "CREATE TYPE mood AS ENUM ('sad', 'happy', 'it''s'); CREATE TYPE pair AS (n int, t text);",
    ),
)

MARIADB_TO_POSTGRES = Wide(
    columns=(
        ("id", "BIGINT PRIMARY KEY", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
        ("flag", "TINYINT(1)", "boolean"),
        ("big", "BIGINT UNSIGNED", "numeric(20)"),
        ("dec", "DECIMAL(40,15)", "numeric"),
        ("fl", "FLOAT", "real"),
        ("db", "DOUBLE", "double precision"),
        ("ch", "CHAR(40)", "varchar(40)"),
        ("te", "LONGTEXT", "text"),
        ("by", "VARBINARY(300)", "bytea"),
        ("da", "DATE", "date"),
        ("tm", "TIME(6)", "interval"),
        ("dt", "DATETIME(6)", "timestamp"),
        ("ts", "TIMESTAMP(6) NULL", "timestamptz"),
        ("ye", "YEAR", "smallint"),
        ("bt", "BIT(9)", "bit(9)"),
        ("bn", "BIT(9)", "int"),
        ("en", "ENUM('x','1','it''s')", "text"),
        ("js", "JSON", "jsonb"),
        ("ja", "JSON", "int[]"),
        ("uu", "CHAR(36)", "uuid"),
        ("ub", "BINARY(16)", "uuid"),
    ),
    rows=(
        (0, 1, 2**64 - 1, "-1234567890123456789012345.123456789012345", "0.1", "0.1", NASTY[:40], NASTY,
         bytes(range(256)), "1000-01-01", "-838:59:59", "9999-12-31 23:59:59.999999", "2038-01-19 01:14:07.999999",
         0, 341, 341, "it's", '{"b": [1, 2.50], "a": 12345678901234567890}', "[1, null, 3]",
         "550e8400-e29b-41d4-a716-446655440000", bytes(range(16))),
        (1, 0, 0, "0.000000000000001", "3.4028234e38", "1.7976931348623157e308", "", "", b"", "9999-12-31", "838:59:59",
         "1000-01-01 00:00:00", "1970-01-01 00:00:01", 2155, 0, 0, "1", "[]", "[[1, 2], [3, 4]]",
         "00000000-0000-0000-0000-000000000000", bytes(16)),
        (2, 1, 1, "1.5", "1.1754944e-38", "5e-324", "\\x41", "\\x41", b"\\x41", "2024-02-29", "00:00:00.000001",
         "2024-03-31 02:30:00", "2024-10-27 02:30:00.5", 1901, 10, 10, "x", "null", "[]",
         "ffffffff-ffff-ffff-ffff-ffffffffffff", bytes([255]) * 16),
        (3, 1, 1, "1.5", "16777216", "0.30000000000000004", "0x41", "0x41", b"0x41", "2024-02-29", "-00:00:00.000001",
         "2024-03-31 02:30:00", "2024-03-31 02:30:00", 2024, 511, 511, "x", "true", "[5]",
         "12345678-1234-1234-1234-123456789abc", b"1234567890123456"),
        (4, *_EMPTY * 20),
        (5, 0, 5, "5", "5", "5", "5", "5", b"5", "2005-05-05", "05:05:05", "2005-05-05 05:05:05", "2005-05-05 05:05:05",
         2005, 5, 5, "1", "5", "[5]", "55555555-5555-5555-5555-555555555555", b"5" * 16),
        (6, 0, 6, "6", "6", "6", "6", "6", b"6", "2006-06-06", "06:06:06", "2006-06-06 06:06:06", "2006-06-06 06:06:06",
         2006, 6, 6, "1", "6", "[6]", "66666666-6666-6666-6666-666666666666", b"6" * 16),
    ),
    quote=("`", '"'),
)

SQLITE = Wide(
    columns=tuple(
        (name, declared, declared)
        for name, declared in (
            ("id", "INTEGER PRIMARY KEY"),
            ("n", "INTEGER"),
            ("dec", "DECIMAL(30,10)"),
            ("re", "REAL"),
            ("te", "TEXT"),
            ("bl", "BLOB"),
            ("any", ""),
            ("bo", "BOOLEAN"),
            ("da", "DATE"),
            ("dt", "DATETIME"),
            ("js", "JSON"),
            ('we"ird `col` é', "INT"),
            ("gen", "INTEGER GENERATED ALWAYS AS (n + 1) STORED"),
        )
    ),
    rows=(
        (0, 2**63 - 1, "1.10", 8178.894821176194, NASTY, bytes(range(256)), 5, 1, "2024-02-29", "2024-02-29 01:02:03.5",
         '{"b": 1.10, "a": 2}', 1),
        (1, "no number", 12345.6789, 5e-324, "a\0b", b"", 5.0, 0, "no date", 1700000000, "[]", "x"),
        (2, -1, "no number", float("inf"), "", b"\0", "5", 2, "", "", "", 0),
        (3, 1, 1, 0.1, "0x41", b"0x41", b"5", "yes", "2024-01-01", "2024-01-01T00:00:00", "null", 3),
        (4, *_EMPTY * 11),
        (5, 5, 5, 5.5, "5", b"5", None, 1, "2005-05-05", "2005-05-05 05:05:05", "5", 5),
        (6, b"blob", b"blob", b"blob", b"blob", "text", -1, b"blob", b"blob", b"blob", b"blob", 6),
    ),
    quote=('"', '"'),
)
# fmt: on
