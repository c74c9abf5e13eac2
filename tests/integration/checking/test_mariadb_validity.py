"""Values of MariaDB that are none: each by its kind, column and key, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import mariadb
from tests.integration.checking.checks import Checking
from tests.variants import later
from tieout.model.check_statements import Family
from tieout.model.failures import Failure, FailureKind, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

HEALTHY = """
CREATE TABLE `every ``type` (
  id BIGINT PRIMARY KEY, u BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(65, 30), n5 DECIMAL(5, 2) UNSIGNED,
  t TEXT CHARACTER SET utf8mb4, v VARCHAR(4) CHARACTER SET utf8mb3, c CHAR(4) CHARACTER SET latin1,
  a CHAR(3) CHARACTER SET ascii, w VARCHAR(4) CHARACTER SET utf16, x VARBINARY(4), xb BINARY(4), bl LONGBLOB, da DATE,
  dt DATETIME(6), ts TIMESTAMP(6) NULL, tm TIME(6), y YEAR, e ENUM('', 'a', 'it''s'), s SET('a', 'b', 'c'), b BIT(3),
  b64 BIT(64), j JSON, uu UUID, i6 INET6, g GEOMETRY,
  gi INT AS (n5 / 2) STORED, gd DECIMAL(10, 2) AS (n5 / 3) STORED,
  gv VARCHAR(9) CHARACTER SET utf8mb3 AS (CONCAT(v, '-', v)) STORED,
  gc CHAR(9) CHARACTER SET utf8mb3 AS (CONCAT(v, '  ')) STORED, gf FLOAT AS (n5 / 7) STORED,
  gj JSON AS (JSON_ARRAY(v, n5)) STORED, ge ENUM('x', 'y') AS (IF(n5 > 1, 'x', 'y')) STORED,
  gy YEAR AS (id) STORED, gb BIT(4) AS (id) STORED, gt DATETIME(6) AS (dt + INTERVAL 1 DAY) STORED,
  gw BIGINT UNSIGNED AS (u * 2) VIRTUAL, gx VARBINARY(9) AS (CONCAT(x, x)) STORED
) ENGINE={}"""
ROWS = """
INSERT INTO `every ``type`
  (id, u, f, d, n, n5, t, v, c, a, w, x, xb, bl, da, dt, ts, tm, y, e, s, b, b64, j, uu, i6)
VALUES
  (1, 18446744073709551615 DIV 4, -3.4e38, 1.7e308, 99999999999999999999999999999999999.999999999999999999999999999999,
   999.99, '', '', '', '', '', '', '', '', '0001-01-01', '0001-01-01 00:00:00', '1970-01-01 12:00:01',
   '-838:59:59.999999', 1901, '', '', b'111', b'1', '{}', UUID(), '::'),
  (2, 0, 0, 0, 0, 0, '😀?', 'äöü€', 'äÿ', '~?', '😀?', X'00FF', X'00', X'FF', '9999-12-31',
   '9999-12-30 23:59:59.999999', '2038-01-19 03:14:07.999999', '838:59:59.999999', 2155, 'it''s', 'a,b,c', b'0', ~0,
   '[1, "ä", null]', UUID(), '::1'),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2024-02-29', '2000-02-29 00:00:00',
   NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""


@pytest.fixture
def checking(mysql_db: Database, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(mysql_db.url, spark, tmp_path)


def key_of(failure: Failure) -> str | None:
    return None if failure.primary_key is None else failure.primary_key["id"]


@pytest.mark.parametrize("engine", ["InnoDB", later("Aria")])
def test_values_at_the_edge_of_every_type(mysql_db: Database, checking: Checking, engine: str) -> None:
    mysql_db.execute(HEALTHY.format(engine))
    mysql_db.execute(ROWS)
    report = checking.run("CHECK TABLE `every ``type` VALIDITY", engine_checker="extended")
    assert report.failures == ()
    made = {check.name: check for check in report.checks if check.family is Family.VALIDITY}
    assert {name: (check.status, check.rows, check.reason) for name, check in made.items()} == {
        "values": (Status.OK, 3, None),
        "CHECK TABLE": (Status.OK, None, None),
    }


TABLE = """
CREATE TABLE t (id INT PRIMARY KEY, day DATE, at DATETIME, stamp TIMESTAMP NULL, size ENUM('s', 'm'), doc JSON,
  twice INT AS (id * 2) STORED)"""


def test_faults_that_a_session_lets_in(mysql_db: Database, checking: Checking) -> None:
    mysql_db.execute(TABLE)
    mysql_db.execute(
        "INSERT INTO t (id, day, at, stamp, size, doc)"
        " SELECT seq, '2024-02-29', NOW(), NOW(), 'm', '{}' FROM seq_1_to_1000"
    )
    mariadb.zero_date(mysql_db, "t", "day", "id = 10")
    mariadb.zero_date(mysql_db, "t", "day", "id = 11", "2023-02-29")
    mariadb.zero_date(mysql_db, "t", "at", "id = 20", "2024-04-31 10:00:00")
    mariadb.zero_date(mysql_db, "t", "stamp", "id = 30")
    mariadb.no_member(mysql_db, "t", "size", "id = 40")
    mariadb.invalid_json(mysql_db, "t", "doc", "id = 50")
    mariadb.wrong_generated_value(mysql_db, "t", "twice", "id = 60", 7)
    report = checking.run("CHECK TABLE t VALIDITY")
    assert sorted((each.kind.value, *each.columns, key_of(each)) for each in report.failures) == [
        ("invalid_json", "doc", "50"),
        ("invalid_value", "size", "40"),
        ("value_out_of_range", "at", "20"),
        ("value_out_of_range", "day", "10"),
        ("value_out_of_range", "day", "11"),
        ("value_out_of_range", "stamp", "30"),
        ("wrong_generated_value", "twice", "60"),
    ]
    details = {key_of(each): each.details for each in report.failures}
    assert details["11"] == {"value": "2023-02-29", "rule": "a day of the calendar"}
    assert details["60"] == {"value": "7", "expression_gives": "120", "rule": "always `id` * 2"}
    made = {check.name: check for check in report.checks if check.family is Family.VALIDITY}
    assert made["values"].evidence == "t through its primary key, which is the table"
    assert "CHECK TABLE" not in made
    assert ["CHECK TABLE was not run, since it marks" in note for note in report.notes] == [True]


STORED = """
CREATE TABLE {} (id INT PRIMARY KEY, name {}, word {}, sizes SET({}), short {}, size ENUM({}),
  twice INT AS (id * 2) STORED) ENGINE=InnoDB"""


def test_faults_that_no_session_lets_in(mysql_db: Database, checking: Checking) -> None:
    """What is stored is read as something else."""
    was = ("VARBINARY(20)", "VARBINARY(20)", "'a', 'b', 'c'", "VARCHAR(20)", "'x', 'y', 'z'")
    now = ("VARCHAR(20) CHARACTER SET utf8mb4", "VARCHAR(20) CHARACTER SET ascii", "'a', 'b'", "VARCHAR(5)", "'x', 'y'")
    mysql_db.execute(STORED.format("t", *was))
    mysql_db.execute(
        "INSERT INTO t (id, name, word, sizes, short, size)"
        " SELECT seq, CONCAT('ä', seq), 'w', 'a,b', 'short', 'y' FROM seq_1_to_1000"
    )
    mysql_db.execute("UPDATE t SET name = X'61FF62' WHERE id = 10")
    mysql_db.execute("UPDATE t SET word = X'E9' WHERE id = 20")
    mysql_db.execute("UPDATE t SET sizes = 'a,c' WHERE id = 30")
    mysql_db.execute("UPDATE t SET short = 'far too long' WHERE id = 40")
    mysql_db.execute("UPDATE t SET size = 'z' WHERE id = 50")
    mariadb.redeclared_table(mysql_db, "t", STORED.format("twin", *now))
    report = checking.run("CHECK TABLE t VALIDITY")
    assert sorted((each.kind.value, *each.columns, key_of(each)) for each in report.failures) == [
        ("invalid_encoding", "name", "10"),
        ("invalid_encoding", "word", "20"),
        ("invalid_value", "short", "40"),
        ("invalid_value", "size", "50"),
        ("invalid_value", "sizes", "30"),
    ]
    assert {each.columns[0]: each.details["value"] for each in report.failures} == {
        "name": "0x61ff62",
        "word": "0xe9",
        "short": "far too long",
        "size": "3",
        "sizes": "5",
    }


def test_a_table_without_a_key(mysql_db: Database, checking: Checking) -> None:
    """Its rows have no names; what is wrong with them is told."""
    mysql_db.execute("CREATE TABLE t (day DATE, word VARCHAR(9) CHARACTER SET sjis)")
    mysql_db.execute("INSERT INTO t SELECT '2024-01-01', 'w' FROM seq_1_to_10")
    mariadb.zero_date(mysql_db, "t", "day", "word = 'w' LIMIT 1")
    report = checking.run("CHECK TABLE t VALIDITY")
    (failure,) = report.failures
    assert (failure.kind.value, failure.primary_key, failure.details["value"]) == (
        "value_out_of_range",
        None,
        "0000-00-00",
    )
    (left_out,) = [check for check in report.checks if check.name == "values of word"]
    assert left_out.status is Status.NOT_CHECKED


@pytest.mark.thorough
def test_what_the_server_says_comes_last(spark: SparkSession, tmp_path: Path) -> None:
    """CHECK TABLE marks an index that it finds wrong: by then, all tables have been read."""
    from tests.servers.mariadb import start_mariadb

    server = start_mariadb(time_zone="+00:00", server_id=8)
    try:
        with server.fresh_database() as database:
            for table in ("a", "b"):
                database.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT, KEY i (v))")
                database.execute(f"INSERT INTO {table} SELECT seq, 10 * seq FROM seq_1_to_20")
            mariadb.missing_entry(database, "a", "i", "id = 7")
            checking = Checking(database.url, spark, tmp_path)
            report = checking.run(f"CHECK DATABASE {database.name}")
            assert [each.kind for each in report.failures] == [FailureKind.MISSING_INDEX_ENTRY]
            assert [check for check in report.checks if check.name == "CHECK TABLE"] == []
            report = checking.run(f"CHECK DATABASE {database.name}", engine_checker="extended")
    finally:
        server.stop()
    assert [check.table.split(".")[1] for check in report.checks[-2:]] == ["a", "b"]
    assert [check.status for check in report.checks[-2:]] == [Status.FAILURES, Status.OK]
    assert {(each.kind, each.index) for each in report.failures} == {
        (FailureKind.MISSING_INDEX_ENTRY, "i"),
        (FailureKind.ENGINE_FINDING, "i"),
    }
