"""A row that differs while its table is written to is looked up by its key, and must be found again.

A key whose canonical text is not how its engine writes it is the danger: looked up in vain on both sides, the
difference would be gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.keys.looking import compared_twice, planned
from tieout.model.differences import DifferenceCounts
from tieout.model.requests import TableRequest

M, P, S = "mariadb", "postgres", "sqlite"


@dataclass(frozen=True)
class Key:
    """A type on both sides (`other`: as the target has it), and three values as each side is given them."""

    engine: str
    type: str
    values: tuple[Any, Any, Any]
    other: tuple[str, str] | None = None
    other_values: tuple[Any, Any, Any] | None = None

    def __str__(self) -> str:
        there = f"-{self.other[0]}-{self.other[1]}" if self.other else ""
        return f"{self.engine}-{self.type}{there}-{self.values[0]}"[:80]


KEYS = [
    Key(M, "BIGINT UNSIGNED", (18446744073709551615, 0, 9223372036854775808)),
    Key(M, "INT", (-1, 0, -2147483648)),
    Key(M, "FLOAT", ("0.1", "3.4028e38", "-16777216")),
    Key(M, "DOUBLE", ("0.1", "5e-324", "-1.7976931348623157e308")),
    Key(M, "DECIMAL(30,10)", ("0.1", "-1", "12345678901234567890.0123456789")),
    Key(M, "DATE", ("2024-02-29", "1000-01-01", "9999-12-31")),
    Key(M, "DATETIME(6)", ("2024-02-29 10:00:00.000001", "1000-01-01 00:00:00", "9999-12-31 23:59:59.999999")),
    Key(M, "TIMESTAMP(6)", ("2024-10-27 00:30:00.000001", "2024-10-27 01:30:00.000001", "1970-01-01 00:00:01")),
    Key(M, "TIME(6)", ("26:00:00.000001", "-00:00:01", "00:00:00")),
    Key(M, "YEAR", (2024, 1901, 2155)),
    Key(M, "BIT(10)", (5, 0, 1023)),
    Key(M, "ENUM('b','a','c')", ("b", "a", "c")),
    Key(M, "SET('b','a','c')", ("b,a", "", "a,c")),
    Key(M, "CHAR(10)", ("abc", "", "é")),
    Key(M, "VARCHAR(20)", ("it's", "back\\slash", "😀 ")),
    Key(M, "VARCHAR(20) CHARACTER SET latin1", ("é", "€", "x")),
    Key(M, "VARCHAR(20) CHARACTER SET sjis", ("ソ", "表", "x")),
    Key(M, "VARCHAR(20) COLLATE utf8mb4_unicode_ci", ("é", "ß", "x")),
    Key(M, "VARBINARY(20)", (b"\0\xff", b"", b"'\\")),
    Key(M, "UUID", ("01890a5d-ac96-774b-bcce-b302099a8057", "00000000-0000-0000-0000-000000000000", "f" * 32)),
    Key(M, "INET6", ("::1", "fe80::1", "::")),
    Key(P, "bigint", (-1, 0, 9223372036854775807)),
    Key(P, "numeric", ("0.10", "-1e30", "12345678901234567890.5")),
    Key(P, "real", ("0.1", "1e-45", "3.4028235e38")),
    Key(P, "double precision", ("0.1", "5e-324", "NaN")),
    Key(P, "date", ("2024-02-29", "0044-03-15 BC", "5874897-12-31")),
    Key(P, "timestamp", ("2024-02-29 10:00:00.000001", "0044-03-15 00:00:00 BC", "12000-01-01 00:00:00")),
    Key(P, "timestamptz", ("2024-10-27 00:30:00+00", "2024-10-27 01:30:00+00", "0001-01-01 00:00:00+00")),
    Key(P, "time", ("24:00:00", "00:00:00.000001", "12:00")),
    Key(P, "timetz", ("10:00:00+00", "11:00:00+02", "12:00+05:30")),
    Key(P, "interval", ("1 month", "1 day", "-00:00:01")),
    Key(P, "bit(10)", ("0000000101", "0000000000", "1111111111")),
    Key(P, "varbit", ("1", "01", "")),
    Key(P, "char(10)", ("abc", "", "é")),
    Key(P, "text", ("it's", "back\\slash", "😀 ")),
    Key(P, 'text COLLATE "und-x-icu"', ("é", "E", "e")),
    Key(P, "bytea", (b"\0\xff", b"", b"'\\")),
    Key(P, "uuid", ("01890a5d-ac96-774b-bcce-b302099a8057", "0" * 32, "f" * 32)),
    Key(P, "jsonb", ('{"a": 1.10}', "[]", '"x"')),
    Key(P, "integer[]", ("{1,2}", "[0:1]={1,2}", "{}")),
    Key(P, "text[]", ('{a,"b c",NULL}', "{}", '{"\\""}')),
    Key(P, "inet", ("10.0.0.1/8", "::1", "10.0.0.1")),
    Key(P, "int8range", ("[1,5)", "empty", "(,)")),
    Key(S, "INTEGER", (-1, 0, 9223372036854775807)),
    Key(S, "INT", (-1, 0, "text")),
    Key(S, "REAL", (0.1, 5e-324, 1e300)),
    Key(S, "DECIMAL(10,2)", (1.1, -5, 100)),
    Key(S, "TEXT", ("it's", "back\\slash", "nul\0nul")),
    Key(S, "TEXT COLLATE NOCASE", ("Case", "b", "")),
    Key(S, "BLOB", (b"\0\xff", b"", b"'")),
    Key(S, "", ("text", 5, b"bytes")),
    Key(S, "BOOLEAN", (1, 0, "maybe")),
    Key(S, "DATE", ("2024-02-29", "2024-03-01 00:00:00", "soon")),
    Key(S, "DATETIME", ("2024-02-29T10:00:00", "2024-02-29 10:00:01.500000", "2024-02-29 10:00:02+02:00")),
    Key(S, "DATETIME", (1709200800, 1709200801.5, "2024-02-29")),
    Key(S, "TIME", ("10:00:00.000", "9:00", "25:00:00")),
    Key(S, "UUID", ("01890A5D-AC96-774B-BCCE-B302099A8057", "abcdefghijklmnop", bytes(16))),
    Key(S, "JSON", ('{"a": 1.10}', '{"b":1, "a":2}', "[ ]")),
    Key(M, "CHAR(36) COLLATE utf8mb4_bin", ("01890A5D-AC96-774B-BCCE-B302099A8057", "f" * 32, "0" * 32), (P, "uuid")),
    Key(
        M,
        "BINARY(16)",
        (bytes(range(16)), bytes(16), b"\xff" * 16),
        (P, "uuid"),
        (bytes(range(16)).hex(), "0" * 32, "f" * 32),
    ),
    Key(M, "BIT(8)", (5, 0, 255), (P, "smallint"), (5, 0, 255)),
    Key(M, "INT", (-1, 0, 7), (P, "numeric(12,2)")),
    Key(
        M,
        "DATETIME",
        ("2024-02-29 10:00:00", "2024-02-29 10:00:01", "2024-02-29 00:00:00"),
        (S, "DATETIME"),
        ("2024-02-29T10:00:00", "2024-02-29 10:00:01.000", "2024-02-29"),
    ),
    Key(
        M,
        "DATE",
        ("2024-02-29", "2024-03-01", "2024-03-02"),
        (P, "text"),
        ("2024-02-29", "2024-03-01 00:00:00", "2024-03-02"),
    ),
    Key(M, "TIME", ("26:00:00", "-01:00:00", "00:00:01"), (P, "interval")),
    Key(M, "TIMESTAMP(6)", ("2024-10-27 00:30:00", "2024-10-27 01:30:00", "2038-01-19 03:14:07"), (P, "timestamptz")),
    Key(M, "VARCHAR(20)", ("Case", "trailing", "é"), (P, "text")),
    Key(
        S,
        "UUID",
        ("01890A5D-AC96-774B-BCCE-B302099A8057", "f" * 32, bytes(16)),
        (P, "uuid"),
        ("01890a5d-ac96-774b-bcce-b302099a8057", "f" * 32, "0" * 32),
    ),
    Key(
        S,
        "BLOB",
        (bytes(range(16)), bytes(16), b"\xff" * 16),
        (P, "uuid"),
        (bytes(range(16)).hex(), "0" * 32, "f" * 32),
    ),
]


@pytest.fixture(scope="module")
def databases(
    mariadb: Any, mariadb_b: Any, postgres: Any, tmp_path_factory: Any
) -> Iterator[dict[tuple[str, bool], Any]]:
    from tests.servers.sqlite import SqliteDatabase

    path = tmp_path_factory.mktemp("keys")
    with (
        mariadb.fresh_database() as here,
        mariadb_b.fresh_database() as there,
        postgres.fresh_database() as pg_here,
        postgres.fresh_database() as pg_there,
    ):
        yield {
            (M, True): here,
            (M, False): there,
            (P, True): pg_here,
            (P, False): pg_there,
            (S, True): SqliteDatabase(path / "here.db"),
            (S, False): SqliteDatabase(path / "there.db"),
        }


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_what_differs_is_found_again_by_its_key(databases: Any, key: Key) -> None:
    """The first row is changed on the target, the second is missing there; the third is the same."""
    engine, declared = key.other or (key.engine, key.type)
    source, target = databases[key.engine, True], databases[engine, False]
    _make(source, key.engine, key.type, list(zip(key.values, "abc", strict=True)))
    there = key.other_values or key.values
    _make(target, engine, declared, [(there[0], "changed"), (there[2], "c")])

    with planned(source.url, target.url, TableRequest("keyed", key=("k",))) as plan:
        found = compared_twice(plan)

    kinds = sorted(str(difference.kind) for difference in found.differences)
    assert found.counts == DifferenceCounts(missing=1, changed=1), found.differences
    assert kinds == ["changed", "missing"]


def _make(database: Any, engine: str, declared: str, rows: list[tuple[Any, str]]) -> None:
    mark = "?" if engine == S else "%s"
    with database.connect() as connection:
        cursor = connection.cursor()
        if engine == M:
            cursor.execute("SET SESSION time_zone = '+00:00'")
        if engine == P:
            cursor.execute("SET TimeZone = 'UTC'")
        cursor.execute("DROP TABLE IF EXISTS keyed")
        cursor.execute(f"CREATE TABLE keyed (k {declared} NOT NULL, v varchar(20))")
        for value, text in rows:
            given = str(value) if engine == P and not isinstance(value, bytes) else value
            cursor.execute(f"INSERT INTO keyed VALUES ({mark}, {mark})", (given, text))
