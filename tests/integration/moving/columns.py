"""The columns of the table that is moved: those of the verification's matrix, and types that only movers care about."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from tests.integration.matrix.columns import COLUMNS, MARIADB, POSTGRES, Column
from tests.integration.matrix.columns import Column as Moved

ODD = (
    "\\N",
    "a\tb",
    "a\nb",
    "\\.",
    "a\rb",
    "\\",
    None,
    "\\\\N",
    "ends with \\",
    "\\t",
    "\x01\x7f\b\f\v",
    "",
    "\t",
    "😀\\😀",
    "\n",
)


def geometry(srid: int, *numbers: float) -> bytes:
    """A point, or a line of them, as MariaDB keeps it."""
    if len(numbers) == 2:
        return struct.pack("<IBI2d", srid, 1, 1, *numbers)
    return struct.pack(f"<IBII{len(numbers)}d", srid, 1, 2, len(numbers) // 2, *numbers)


OF_BOTH = (
    Moved("odd", ODD, {MARIADB: "VARCHAR(60)", POSTGRES: "varchar(60)"}),
    Moved("odd_text", ODD[::-1], {MARIADB: "LONGTEXT", POSTGRES: "text"}),
    Moved(
        "large",
        ("ß\\" * 40_000, None, "x" * 70_000, "", "\t" * 70_000),
        {MARIADB: "LONGTEXT", POSTGRES: "text"},
    ),
    Moved("thirds", ("12:34:56.789", None, "00:00:00.001"), {MARIADB: "TIME(3)", POSTGRES: "time(3)"}),
    Moved("tenths", ("2024-02-29 12:34:56.700", None), {MARIADB: "DATETIME(1)", POSTGRES: "timestamp(1)"}),
    Moved("whole", ("2024-02-29 12:34:56", None), {MARIADB: "TIMESTAMP NULL", POSTGRES: "timestamptz(0)"}),
)

OF_MARIADB = tuple(
    Moved(name, values, {MARIADB: kind})
    for name, kind, values in (
        ("years", "YEAR", (0, 1901, 2155, None, 1999, 2000)),
        ("inet4", "INET4", ("1.2.3.4", None, "0.0.0.0", "255.255.255.255")),
        (
            "inet_odd",
            "INET6",
            ("::ffff:1.2.3.4", "::1.2.3.4", None, "::102", "1:0:2:0:3:0:4:0", "::", "1::", "::fffe:1.2.3.4"),
        ),
        ("tiny_text", "TINYTEXT CHARACTER SET latin1", ("é", "ÿ€", None, "")),
        ("cyrillic", "TEXT CHARACTER SET cp1251", ("Привет", "", None, "abc ")),
        ("wide_text", "MEDIUMTEXT CHARACTER SET utf32", ("😀中", "", None)),
        ("char_latin", "CHAR(5) CHARACTER SET latin1", ("é", "ab  ", None, "")),
        ("nothing", "CHAR(0)", ("", None)),
        ("tiny_blob", "TINYBLOB", (b"\0", b"", None, b"a\t\\\n")),
        ("medium_blob", "MEDIUMBLOB", (b"\0\xff" * 40_000, None, b"", b"\\x00")),
        ("packed", "TEXT COMPRESSED", ("x" * 5000, "short", None, "")),
        ("packed_blob", "VARBINARY(3000) COMPRESSED", (b"\0" * 3000, b"", None, b"\xff")),
        ("fixed_float", "FLOAT(7,3)", (1234.567, -0.001, None, 0)),
        ("fixed_double", "DOUBLE(20,2)", ("123456789012345678.12", "-0.01", None)),
        ("unsigned_dec", "DECIMAL(10,3) UNSIGNED ZEROFILL", ("1234567.891", "0", None)),
        ("bit1", "BIT(1)", (1, 0, None)),
        ("letters", r"ENUM('a\\b','c''d','e,f','','ü') CHARACTER SET latin1", ("a\\b", "c'd", "e,f", "", None, "ü")),
        ("many", "SET('a','b','ü','d') CHARACTER SET latin1", ("a,ü", "", None, "a,b,ü,d")),
        ("hours", "TIME", ("838:59:59", "-838:59:59", None, "00:00:00", "-00:00:01")),
    )
)

# No other engine has a type, or a value, for them.
OF_MARIADB_ALONE = tuple(
    Moved(name, values, {MARIADB: kind})
    for name, kind, values in (
        ("nul", "VARCHAR(20)", ("a\0b", "\0", None, "\0\0")),
        ("place", "POINT", (geometry(0, 1.5, -2), None, geometry(4326, 0, 0.1))),
        ("shape", "GEOMETRY", (geometry(0, 1, 2), geometry(0, 0, 0, 1, 1, 2, 2), None)),
    )
)

OF_POSTGRES = tuple(
    Moved(name, values, {POSTGRES: kind})
    for name, kind, values in (
        ("oid_name", "name", ("pg_class", None, "")),
        ("padded", "char(300)", ("a", "", None, "é ")),
        ("bare_char", "bpchar", ("a ", "", None)),
        ("posint", "positive", (1, 2147483647, None)),
        ("scale_off", "numeric(3,5)", ("0.00123", None, "0")),
        ("scale_below", "numeric(8,-2)", ("12345600", None, "0")),
        ("flags", "boolean[]", ("{t,f,NULL}", None, "{}")),
        ("documents", "jsonb[]", (r'{"{\"a\": 1}",NULL,"null","[1, 2]"}', None, "{}")),
        ("blobs", "bytea[]", (r'{"\\x00ff",NULL,"\\x"}', None)),
        ("days", "date[]", ("{2024-02-29,NULL,infinity}", None)),
        ("moments", "timestamp[]", ('{"2024-02-29 12:00:00.5",NULL,infinity}', None)),
        ("ids", "uuid[]", ("{00000000-0000-0000-0000-000000000000}", None)),
        ("cube", "smallint[]", ("{{{1},{2}},{{3},{NULL}}}", None, "{}")),
        ("nets", "inet[]", ("{10.0.0.1/8,::1}", None)),
    )
)

OF_POSTGRES_ALONE = tuple(
    Moved(name, values, {POSTGRES: kind})
    for name, kind, values in (
        ("one_char", '"char"', ("a", None, "")),
        ("paid", "money", ("-92233720368547758.08", "1.10", None, "1234567.89")),
        ("net", "cidr", ("10.0.0.0/8", None, "::/0")),
        ("mac", "macaddr", ("08:00:2b:01:02:03", None)),
        ("ints_range", "int4range", ("[1,5)", "empty", None, "(,)")),
        ("ints_ranges", "int4multirange", ("{[1,2),[5,7)}", "{}", None)),
        ("found", "tsvector", ("'it''s':1A '\\\\':2", "", None)),
        ("asked", "tsquery", ("'fat' & !'cat'", None)),
        ("ring", "circle", ("<(0.1,0.2),1e-300>", None)),
        ("outline", "polygon", ("((0,0),(1,1),(1,0))", None)),
        ("way", "path", ("[(0,0),(1,1)]", "((0,0),(1,1))", None)),
        ("place_in_log", "pg_lsn", ("16/B374D848", None)),
        ("bits70", "bit(70)", ("1" * 70, None, "0" * 70)),
        ("sizes", "matrix_size[]", ("{small,NULL,it's}", None, "{}")),
        ("positives", "positive[]", ("{1,2}", None)),
        ("address", "ip_domain", ("10.0.0.1", None)),
        ("zoned", "timetz(0)", ("10:00:00+05:30", None)),
        ("seconds", "interval(3)", ("1.123 seconds", None, "-1 day")),
        ("xids", "xid8", ("18446744073709551615", None)),
        ("place_path", "jsonpath", ('$."a"[*] ? (@ > 1)', None)),
    )
)

COLUMNS_OF = {
    MARIADB: (*COLUMNS, *OF_BOTH, *OF_MARIADB, *OF_MARIADB_ALONE),
    POSTGRES: (*COLUMNS, *OF_BOTH, *OF_POSTGRES, *OF_POSTGRES_ALONE),
}

REFUSED = {
    (MARIADB, POSTGRES): ("place", "shape"),
    (POSTGRES, MARIADB): (
        *("huge", "number", "number_special", "span", "clock_zone", "interval", "varbit", "inet", "point"),
        *("span_range", "made", *(column.name for column in OF_POSTGRES_ALONE)),
    ),
}
"""Columns of types that the other engine has no type for."""

UNFIT = {
    (MARIADB, POSTGRES): ("nul", "zero_date", "zero_moment", "zero_instant"),
    (POSTGRES, MARIADB): (
        *("dec_special", "float_special", "single_special", "end_date", "end_moment", "end_instant"),
    ),
}
"""Columns that have a type in the other engine, and values that this type does not hold."""

NOT_TAKEN = {
    (POSTGRES, MARIADB): ("bin", "bit_int", "set", "year"),
}
"""Columns that a table of the matrix has, and that a mover refuses: the server would change values without a word."""


def columns_of(source: str, target: str, keep: Callable[[str], bool] = lambda name: True) -> tuple[Column, ...]:
    """The columns that the source can have, without those that the target can't hold."""
    left_out = {*REFUSED.get((source, target), ()), *UNFIT.get((source, target), ())}
    return tuple(
        column
        for column in COLUMNS_OF[source]
        if column.type_on(source, is_source=True) and column.name not in left_out and keep(column.name)
    )


def required(columns: tuple[Column, ...], engine: str) -> tuple[Column, ...]:
    """The same without NULLs."""
    return tuple(
        replace(
            column,
            values=tuple(value for value in column.values if value is not None),
            types={engine: f"{str(column.type_on(engine, is_source=True)).removesuffix(' NULL')} NOT NULL"},
        )
        for column in columns
        if not column.generated
    )
