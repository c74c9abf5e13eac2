"""Values of SQLite files that are none: each by its kind, column and key, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import sqlite
from tests.integration.checking.checks import Checking
from tieout.model.check_statements import Family
from tieout.model.failures import FailureKind, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.sqlite import SqliteDatabase

HEALTHY = """
CREATE TABLE "every ""type" (id INTEGER PRIMARY KEY, i INT, u UNSIGNED BIG INT, r REAL, n NUMERIC(10, 2), b BOOLEAN,
  d DATE, t TIMESTAMP, ti TIME, v VARCHAR(3), s STRING, x BLOB, j JSON, k TEXT CHECK (k IS NULL OR json_valid(k)),
  u2 UUID, any_thing, p TEXT CHECK (p <> '{' OR json_valid(p)),
  g TEXT AS (i || 'x') STORED, gi INTEGER NOT NULL GENERATED ALWAYS AS (coalesce(v, '0') + 1) STORED,
  gv AS (i * 2), gn TEXT COLLATE NOCASE AS (upper(v)) STORED, gt TEXT AS (i) STORED);
CREATE TABLE strict_one (id INTEGER PRIMARY KEY, i INT, r REAL, t TEXT, b BLOB, a ANY) STRICT;
CREATE TABLE pairs (a TEXT, b INT, c DATE, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT INTO strict_one
VALUES (1, 1, 1, '1', x'01', 'x'), (2, NULL, 1.5, '😀', x'', 5), (3, -1, -1e300, '', x'ff', NULL);
INSERT INTO pairs VALUES ('', 0, '2024-02-29'), ('ä', 9223372036854775807, 2460000.5)"""
ROWS: list[tuple[Any, ...]] = [
    (
        1,
        -(2**63),
        1.8e19,
        5,
        12.5,
        1,
        "0001-01-01",
        "2024-02-29T23:59:59.999Z",
        "-838:59:59",
        "long 😀",
        7,
        "t",
        "{}",
        "[]",
    ),
    (2, 0, 0, float("inf"), 5, "FALSE", "9999-12-31", "2024-01-01 12:00:00+05:30", "12:00", "", "", b"\xff", 5, "1"),
    (3, *[None] * 13),
    (4, 1, 1, 1.5, "12.5", 0, "infinity", "-0044-03-15 00:00:00", 5, "1", 1.5, 1, '"ä"', '{"a": [1]}'),
    (5, "7", 1, "1e3", 1, "true", 1700000000, 2460000.5, "1 day 12:00", "x", "s", None, "null", None),
    (6, 5.0, 1, 1, 1, 1, "2024-01-01 00:00:00", "12024-01-01", None, None, None, None, None, None),
]
UUIDS = [
    "00000000-0000-0000-0000-000000000000",
    b"0123456789abcdef",
    None,
    "{ABCDEF00-0000-0000-0000-000000000000}",
    "0" * 32,
    None,
]


@pytest.fixture
def shop(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    return sqlite_db("shop")


@pytest.fixture
def checking(shop: SqliteDatabase, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(shop.url, spark, tmp_path)


def test_values_at_the_edge_of_every_type(shop: SqliteDatabase, checking: Checking) -> None:
    shop.execute(HEALTHY)
    rows = [(*row, uuid) for row, uuid in zip(ROWS, UUIDS, strict=True)]
    marks = ", ".join("?" * len(rows[0]))
    shop.executemany(
        f'INSERT INTO "every ""type" (id, i, u, r, n, b, d, t, ti, v, s, x, j, k, u2) VALUES ({marks})', rows
    )
    report = checking.run("CHECK DATABASE shop VALIDITY")
    assert report.failures == ()
    made = [check for check in report.checks if check.family is Family.VALIDITY]
    assert [(check.table, check.name, check.status, check.rows) for check in made] == [
        ('main.every "type', "values", Status.OK, 6),
        ("main.pairs", "values", Status.OK, 2),
        ("main.strict_one", "values", Status.OK, 3),
        ('main.every "type', "integrity_check", Status.OK, None),
        ("main.pairs", "integrity_check", Status.OK, None),
        ("main.strict_one", "integrity_check", Status.OK, None),
    ]


TABLE = """
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, n DECIMAL, b BOOLEAN, d DATE, at DATETIME, j JSON, v VARCHAR(9),
  k TEXT CHECK (json_valid(k)), twice INT AS (id * 2) STORED);
CREATE TABLE strict_one (id INTEGER PRIMARY KEY, i INT, t TEXT) STRICT"""


def test_faults_of_every_kind(shop: SqliteDatabase, checking: Checking) -> None:
    shop.execute(TABLE)
    shop.executemany(
        "INSERT INTO t (id, i, n, b, d, at, j, v, k)"
        " VALUES (?, 1, 1.5, 0, '2024-02-29', '2024-02-29 12:00', '{}', 'v', '[]')",
        [(n,) for n in range(1, 301)],
    )
    shop.executemany("INSERT INTO strict_one VALUES (?, 1, 't')", [(n,) for n in range(1, 301)])
    wrong = {
        10: {"i": "abc"},
        11: {"i": b"\x01"},
        12: {"i": 1.5},
        20: {"n": "12,5"},
        30: {"b": 2},
        31: {"b": "maybe"},
        40: {"d": "2024-02-30"},
        41: {"d": "16.11.2026"},
        50: {"at": "2024-02-28 25:00:00"},
        51: {"at": "2024-02-28 noon"},
        60: {"j": "{"},
        70: {"v": b"bytes"},
        80: {"k": "{"},
    }
    for row, values in wrong.items():
        sqlite.violated_check(shop, "t", f"id = {row}", values)
    shop.execute("UPDATE t SET v = CAST(x'61ff62' AS TEXT) WHERE id = 90")
    sqlite.wrong_generated_value(shop, "t", "twice", "id = 100", 7)
    sqlite.wrong_type(shop, "strict_one", "i", "id = 7", "seven")
    report = checking.run("CHECK DATABASE shop VALIDITY", engine_checker="none")
    assert [each for each in report.failures if each.primary_key is None] == []
    found = sorted((each.kind.value, *each.columns, int(each.primary_key["id"])) for each in report.failures)
    assert found == [
        ("invalid_encoding", "v", 90),
        ("invalid_json", "j", 60),
        ("invalid_json", "k", 80),
        ("invalid_value", "at", 51),
        ("invalid_value", "b", 30),
        ("invalid_value", "b", 31),
        ("invalid_value", "d", 41),
        ("invalid_value", "i", 7),
        ("invalid_value", "i", 10),
        ("invalid_value", "i", 11),
        ("invalid_value", "i", 12),
        ("invalid_value", "n", 20),
        ("invalid_value", "v", 70),
        ("value_out_of_range", "at", 50),
        ("value_out_of_range", "d", 40),
        ("wrong_generated_value", "twice", 100),
    ]
    details = {(each.table, each.primary_key["id"]): each.details for each in report.failures}
    assert details["main.t", "90"] == {"value": "0x61ff62", "rule": "text in UTF-8"}
    assert details["main.t", "100"] == {"value": "7", "expression_gives": "200", "rule": "always id * 2"}


def test_what_integrity_check_says_comes_last(shop: SqliteDatabase, checking: Checking) -> None:
    shop.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX i ON t (v)")
    shop.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"v{n}") for n in range(1, 101)])
    sqlite.missing_entry(shop, "t", "i", "id = 7")
    report = checking.run("CHECK TABLE t")
    assert next((each.kind, each.index) for each in report.failures) == (FailureKind.MISSING_INDEX_ENTRY, "i")
    own = [each for each in report.failures if each.kind is FailureKind.ENGINE_FINDING]
    assert [(each.index, each.place, each.details["message"]) for each in own] == [
        ("i", "row 7", "row 7 missing from index i"),
        ("i", None, "wrong # of entries in index i"),
    ]
    assert report.checks[-1].name == "integrity_check"


def test_rows_that_can_not_be_read(shop: SqliteDatabase, checking: Checking) -> None:
    """Each is found among all the others, which are judged all the same."""
    shop.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, n INTEGER)")
    shop.executemany("INSERT INTO t VALUES (?, ?, 1)", [(n, f"v{n}") for n in range(1, 501)])
    shop.execute("UPDATE t SET n = 'none' WHERE id = 300")
    sqlite.lost_pages(shop, "t", "v", "id IN (7, 8, 444)")
    report = checking.run("CHECK TABLE t VALIDITY")
    values = [each for each in report.failures if each.kind is not FailureKind.ENGINE_FINDING]
    assert [(each.kind.value, *each.columns, each.place, each.details.get("error")) for each in values] == [
        ("invalid_value", "v", "7", "database disk image is malformed"),
        ("invalid_value", "v", "8", "database disk image is malformed"),
        ("invalid_value", "n", None, None),
        ("invalid_value", "v", "444", "database disk image is malformed"),
    ]
    assert [each.primary_key for each in values] == [{"id": n} for n in ("7", "8", "300", "444")]
    (check,) = [check for check in report.checks if check.name == "values"]
    assert check.rows == 500


def test_a_check_that_stops_says_so(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path
) -> None:
    """At 10,000 values of a part."""
    database = sqlite_db("cut")
    database.execute(f"""
        CREATE TABLE t (id INTEGER PRIMARY KEY, n INT);
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i - 1 FROM n WHERE i > -10100)
        INSERT INTO t SELECT i, 'x' FROM n UNION ALL SELECT {2**40}, 1""")
    report = Checking(database.url, spark, tmp_path).run("CHECK TABLE t VALIDITY", limit=1)
    assert [each.name for each in report.checks if each.cut] == ["values"]
