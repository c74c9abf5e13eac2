"""Values of PostgreSQL that are none: each by its kind, column and key, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import postgres
from tests.integration.checking.checks import Checking
from tieout.model.check_statements import Family
from tieout.model.failures import CheckVerdict, Failure, FailureKind, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

HEALTHY = """
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN code AS varchar(5) CHECK (VALUE ~ '^[A-Z'']+$' AND VALUE <> 'VALUE');
CREATE DOMAIN present AS text NOT NULL;
CREATE TABLE "Every ""type" (
  id bigint PRIMARY KEY, i2 smallint, b boolean, f4 real, f8 float8, n numeric, n5 numeric(5, 2), n0 numeric(38),
  t text, v varchar(4), c char(4), ct citext, x bytea, d date, ts timestamp, tz timestamptz, tm time, tmz timetz,
  iv interval, j json, jb jsonb, u uuid, m mood, ms mood[], a int[], at text[], p pair, r int4range, bt bit(3),
  vb varbit(5), ip inet, pt point, nm name, mo money, q "char", o oid, xm xml, cd code, pr present, s small,
  tsv tsvector,  g int GENERATED ALWAYS AS (i2 * 2) STORED, gt text GENERATED ALWAYS AS (upper(t)) STORED,
  gn numeric(6, 2) GENERATED ALWAYS AS (n5 / 3) STORED, gj jsonb GENERATED ALWAYS AS (jb -> 'a') STORED,
  gv varchar(9) GENERATED ALWAYS AS (v || '-' || c) STORED);
INSERT INTO "Every ""type" VALUES
  (1, -32768, true, 'NaN', 'Infinity', 'NaN', 'NaN', 99999999999999999999999999999999999999, '', '', '', '', '',
   '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 00:00:00+00 BC', '00:00', '00:00+15:59', '0', '{}', '{}',
   '00000000-0000-0000-0000-000000000000', 'sad', '{}', '{}', '{}', '(,)', 'empty', B'000', B'', '0.0.0.0', '(0,0)', '',
   0, '', 0, '<a/>', 'A''B', '', -9, ''),
  (2, 32767, false, '-0', '1e-307', '-Infinity', -999.99, -1, U&'\\+01F600', U&'\\+01F600äöü', 'ab', 'Ab', '\\x00ff',
   '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00', '24:00', '23:59:59-15:59',
   'P-178000000Y', '[1, "\\u00e4"]', '{"a": {"b": null}}', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'it''s',
   '{sad,NULL}', '{{1,2},{3,4}}', '{"a,b",NULL}', '(1,"x y")', '[1,)', B'111', B'10101', '::1/0', '(1e300,-1e300)', 'n',
   -92233720368547758.08, 'x', 4294967295, 'text', 'ZZ', 'x', 9.99, 'a:1 b:2');
INSERT INTO "Every ""type" (id, d, ts, tz, pr) VALUES (3, 'infinity', 'infinity', '-infinity', '');
INSERT INTO "Every ""type" (id, t, pr, jb) SELECT n, repeat(md5(n::text), 200), '', jsonb_build_object('a', n)
FROM generate_series(4, 200) n"""


@pytest.fixture
def checking(db: Database, spark: SparkSession, tmp_path: Path) -> Checking:
    return Checking(db.url, spark, tmp_path)


def told(failure: Failure) -> tuple[str, str, dict[str, str | None] | None]:
    """Kind, column and key."""
    key = None if failure.primary_key is None else dict(failure.primary_key)
    return failure.kind.value, ", ".join(failure.columns), key


def test_values_at_the_edge_of_every_type(db: Database, checking: Checking) -> None:
    db.execute("CREATE EXTENSION amcheck")
    for statement in HEALTHY.split(";\n"):
        db.execute(statement)
    report = checking.run('CHECK TABLE "Every ""type" VALIDITY')
    assert report.failures == ()
    made = {check.name: check for check in report.checks if check.family is Family.VALIDITY}
    assert {name: (check.status, check.rows, check.reason) for name, check in made.items()} == {
        "values": (Status.OK, 200, None),
        "amcheck": (Status.OK, None, None),
    }
    assert made["values"].evidence == 'Tid Range Scan on Every "type'


TABLE = """
CREATE TABLE t (id int PRIMARY KEY, name bytea, doc text, mood mood, day int, at bigint, code text, price numeric,
  long text, tiny numeric, twice int GENERATED ALWAYS AS (id * 2) STORED, bits text, "full" text
    GENERATED ALWAYS AS (lower(code)) STORED);
INSERT INTO t (id, name, doc, mood, day, at, code, price, long, tiny)
SELECT n, convert_to('ä' || n, 'UTF8'), '{"n": ' || n || '}', CASE WHEN n = 70 THEN 'sad' ELSE 'ok' END::mood, n, n,
  'c' || n, n + 0.5, 'short', n % 10 FROM generate_series(1, 1000) n;
UPDATE t SET name = '\\x61ff62' WHERE id = 10;
UPDATE t SET doc = '{"n": ' WHERE id = 20;
UPDATE t SET day = 2147483000 WHERE id = 30;
UPDATE t SET at = -9223372036854775000 WHERE id = 40;
UPDATE t SET code = 'far too long' WHERE id = 50;
UPDATE t SET price = 12345.678 WHERE id = 60;
UPDATE t SET tiny = 11 WHERE id = 80"""


def test_faults_of_every_kind(db: Database, checking: Checking) -> None:
    for statement in TABLE.split(";\n"):
        db.execute(statement)
    for column, declared in {
        "name": "text",
        "doc": "json",
        "day": "date",
        "at": "timestamp",
        "code": "varchar(5)",
        "price": "numeric(5, 1)",
        "tiny": "small",
    }.items():
        postgres.redeclared_column(db, "t", column, declared)
    postgres.lost_label(db, "mood", "sad")
    postgres.lost_chunks(db, "t", "long", "id = 90")
    postgres.wrong_generated_value(db, "t", "twice", "id = 100", 7)
    report = checking.run("CHECK TABLE t VALIDITY")
    assert sorted(map(told, [each for each in report.failures if each.kind is not FailureKind.ENGINE_FINDING])) == [
        ("invalid_encoding", "name", {"id": "10"}),
        ("invalid_json", "doc", {"id": "20"}),
        ("invalid_value", "code", {"id": "50"}),
        ("invalid_value", "long", {"id": "90"}),
        ("invalid_value", "mood", {"id": "70"}),
        ("invalid_value", "tiny", {"id": "80"}),
        ("value_out_of_range", "at", {"id": "40"}),
        ("value_out_of_range", "day", {"id": "30"}),
        ("value_out_of_range", "price", {"id": "60"}),
        ("wrong_generated_value", "twice", {"id": "100"}),
    ]
    by_column = {each.columns: each for each in report.failures}
    assert by_column["tiny",].constraint == "tiny_tiny_check"
    assert by_column["twice",].details == {"value": "7", "expression_gives": "200", "rule": "always (id * 2)"}
    assert "missing chunk number 0" in str(by_column["long",].details["error"])
    assert by_column["code",].details["value"] == "far too long"


@pytest.fixture
def of_domains(db: Database) -> None:
    """A table whose rows are not of their domains: two of one, one of another, and one of which a third can't tell."""
    for statement in (
        "CREATE DOMAIN even AS int",
        "CREATE DOMAIN divides AS int",
        "CREATE DOMAIN present AS text NOT NULL",
        "CREATE TABLE t (id int PRIMARY KEY, v even, p text, d divides)",
        "INSERT INTO t VALUES (1, 2, '', 1), (2, 3, '', 1), (3, 4, NULL, 1), (4, 5, '', 1), (5, 6, '', 0)",
        "ALTER DOMAIN even ADD CONSTRAINT is_even CHECK (value % 2 = 0) NOT VALID",
        "ALTER DOMAIN divides ADD CONSTRAINT ten CHECK (10 / value > 0) NOT VALID",
    ):
        db.execute(statement)
    postgres.redeclared_column(db, "t", "p", "present")


UNTOLD = ("invalid_value", "d_ten", {"id": "5"})
"""What no check of constraints can say."""


@pytest.mark.usefixtures("of_domains")
def test_what_a_constraint_tells_is_told_once(checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    report = checking.run("CHECK TABLE t", engine_checker="none")
    by_name = {check.name: (check.status, check.failures) for check in report.checks}
    assert by_name["v_is_even"] == (Status.FAILURES, 2)
    assert by_name["p_present_not_null"] == (Status.FAILURES, 1)
    assert by_name["d_ten"] == (Status.NOT_CHECKED, 0)
    assert by_name["values"] == (Status.FAILURES, 1)
    told_once = [
        ("check_violation", "v_is_even", {"id": "2"}),
        ("check_violation", "v_is_even", {"id": "4"}),
        UNTOLD,
        ("not_null_violation", "p_present_not_null", {"id": "3"}),
    ]
    assert checking.broken("CHECK TABLE t", engine_checker="none") == told_once
    # One of two rows is named: the other is left to the values.
    monkeypatch.setattr("tieout.checks.constraints.MOST", 1)
    told_once[1] = ("invalid_value", "v_is_even", {"id": "4"})
    assert checking.broken("CHECK TABLE t", engine_checker="none") == sorted(told_once, key=str)


@pytest.mark.usefixtures("of_domains")
def test_what_no_constraint_was_asked_the_values_tell(checking: Checking) -> None:
    everything = [
        UNTOLD,
        ("invalid_value", "p_present_not_null", {"id": "3"}),
        ("invalid_value", "v_is_even", {"id": "2"}),
        ("invalid_value", "v_is_even", {"id": "4"}),
    ]
    assert checking.broken("CHECK TABLE t VALIDITY", engine_checker="none") == everything
    # The words of a rule identify a failure in the meta store: other words would make it a new one.
    rules = {failure.details["rule"] for failure in checking.run("CHECK TABLE t VALIDITY").failures}
    assert rules == {
        "of its domain: ((VALUE % 2) = 0)",
        "of its domain: ((10 / VALUE) > 0)",
        "public.present has no NULL",
    }
    named = "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS CONSTRAINT (t_pkey), PHYSICAL"
    assert checking.broken(named, engine_checker="none") == everything


@pytest.mark.thorough
def test_rows_without_a_key_and_a_function_that_changed(db: Database, checking: Checking) -> None:
    db.execute("CREATE FUNCTION half(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT n / 2'")
    db.execute("""
        CREATE TABLE t (n int, bad bytea, h int GENERATED ALWAYS AS (half(n)) STORED);
        INSERT INTO t SELECT n, convert_to('b' || n, 'UTF8') FROM generate_series(1, 9) n;
        UPDATE t SET bad = '\\xff' WHERE n = 9""")
    postgres.redeclared_column(db, "t", "bad", "text")
    db.execute("CREATE OR REPLACE FUNCTION half(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT (n + n % 2) / 2'")
    report = checking.run("CHECK TABLE t VALIDITY")
    found = [(each.kind.value, *each.columns, each.place, each.primary_key) for each in report.failures]
    assert sorted(found) == [
        ("invalid_encoding", "bad", "(0,10)", None),
        *(("wrong_generated_value", "h", f"(0,{place})", None) for place in (1, 10, 3, 5, 7)),
    ]
    status = {check.name: check.status for check in report.checks if check.family is Family.VALIDITY}
    assert status == {"values": Status.FAILURES}


def test_a_missing_amcheck_is_a_gap_only_if_somebody_asked_for_it(db: Database, checking: Checking) -> None:
    for table in ("a", "b"):
        db.execute(f"CREATE TABLE {table} (id int PRIMARY KEY)")
    reason = "amcheck is not installed: CREATE EXTENSION amcheck, as a superuser"
    unasked = checking.run("CHECK TABLE a, b")
    assert unasked.verdict is CheckVerdict.CLEAN
    assert {check.name for check in unasked.checks if check.family is Family.VALIDITY} == {"values"}
    assert unasked.notes == (f"the engine's own checker did not run: {reason}",)
    asked = checking.run("CHECK TABLE a, b", engine_checker="safe")
    assert asked.verdict is CheckVerdict.UNVERIFIED
    left_out = [(check.table, check.name, check.reason) for check in asked.checks if check.status is not Status.OK]
    assert left_out == [("public.a", "amcheck", reason), ("public.b", "amcheck", reason)]
    assert asked.notes == ()


def test_what_amcheck_says_comes_last(db: Database, checking: Checking) -> None:
    db.execute("CREATE EXTENSION amcheck")
    for table in ("a", "b"):
        db.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v int)")
        db.execute(f"CREATE INDEX {table}_i ON {table} (v)")
        db.execute(f"INSERT INTO {table} SELECT n, n FROM generate_series(1, 100) n")
    postgres.missing_entry(db, "a", "a_i", "id = 7")
    report = checking.run("CHECK TABLE a, b")
    assert [(each.kind.value, each.index) for each in report.failures] == [
        ("missing_index_entry", "a_i"),
        ("engine_finding", "a_i"),
    ]
    assert 'lacks matching index tuple within index "a_i"' in str(report.failures[-1].details["message"])
    last = [(check.table, check.name, check.status) for check in report.checks[-2:]]
    assert last == [("public.a", "amcheck", Status.FAILURES), ("public.b", "amcheck", Status.OK)]
