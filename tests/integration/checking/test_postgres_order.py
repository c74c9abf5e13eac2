"""Indexes of PostgreSQL whose entries are not in the order that they are looked for by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import postgres
from tests.integration.checking.checks import Checking
from tieout.model.failures import CheckVerdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

WORDS = "ARRAY['apple', 'Apple', 'öl', 'zebra', 'Zebra', 'ol']"

TYPES = {
    "int2": "n % 300 - 150",
    "int8": "n * -7000000000",
    "float4": "CASE n % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '-Infinity' ELSE (n % 50 - 25.5)::text END",
    "float8": "CASE n % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' ELSE (n % 50 / 7.0)::text END",
    "numeric": "CASE n % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' ELSE (n % 50 - 25) || '.' || n % 5 || '0' END",
    "bool": "n % 2 = 0",
    "date": "CASE n % 9 WHEN 0 THEN 'infinity' ELSE (date '1950-01-01' + (n % 90) * 100)::text END",
    "time": "time '00:00' + n * interval '7 minutes'",
    "timestamp": "CASE n % 9 WHEN 0 THEN '-infinity' ELSE (timestamp '1969-12-31' + n * interval '1 hour')::text END",
    "timestamptz": "timestamptz '1969-12-31 23:00Z' + n * interval '1 minute'",
    "uuid": "md5(n::text)",
    "bytea": "decode(md5((n % 200)::text), 'hex')",
    "oid": "n * 1000000",
    "text": "(ARRAY['a', 'B', 'ä', 'Z z', 'zz', '-a', ''])[1 + n % 7] || n % 90",
    'text COLLATE "C"': "(ARRAY['a', 'B', 'ä', 'Z z'])[1 + n % 4] || n % 90",
    'varchar COLLATE "en-x-icu"': "(ARRAY['a', 'B', 'ä', 'Z z', 'zz', '-a'])[1 + n % 6] || n % 90",
    "char(9)": "(ARRAY['a', 'B', 'ä'])[1 + n % 3] || n % 90",
    "name": "(ARRAY['a', 'B', 'ä'])[1 + n % 3] || n % 90",
    "citext": "(ARRAY['a', 'B', 'ä'])[1 + n % 3] || n % 90",
    "mood": "(ARRAY['sad', 'ok', 'it''s'])[1 + n % 3]",
    "small": "n % 9",
}


@pytest.mark.thorough
def test_every_type_is_in_its_order(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    """Nothing but PostgreSQL's own order of each type, either way, with NULLs at either end."""
    columns = ", ".join(f"c{place} {name}" for place, name in enumerate(TYPES))
    values = ", ".join(
        f"CASE WHEN n % 11 <> 0 THEN ({value})::text::{name.split(' COLLATE')[0]} END" for name, value in TYPES.items()
    )
    db.execute(f"CREATE TABLE t ({columns})")
    ways = ["", "DESC", "NULLS FIRST", "DESC NULLS LAST"]
    for place in range(0, len(TYPES), 2):
        other = (place + 11) % len(TYPES)
        db.execute(f"CREATE INDEX i{place} ON t (c{place} {ways[place // 2 % 4]}, c{other} {ways[place % 3]})")
    db.execute("CREATE INDEX pattern ON t (c13 text_pattern_ops, c16 bpchar_pattern_ops)")
    db.execute(f"INSERT INTO t SELECT {values} FROM generate_series(1, 700) n")
    report = Checking(db.url, spark, tmp_path).run("INSPECT TABLE t")
    assert [(check.name, check.reason) for check in report.checks if check.reason] == []
    assert [(each.index, dict(each.details)) for each in report.failures] == []
    assert report.verdict is CheckVerdict.CLEAN
    assert {(check.evidence or "").count("order") for check in report.checks} == {0}


def test_orders_that_are_wrong(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    db.execute("CREATE COLLATION words (provider = icu, locale = 'en')")
    db.execute('CREATE TABLE t (id int PRIMARY KEY, s text COLLATE "en-x-icu", w text COLLATE words, n int)')
    db.execute(f"INSERT INTO t SELECT n, s, s, n FROM unnest({WORDS}) WITH ORDINALITY AS u(s, n)")
    db.execute("INSERT INTO t SELECT n, 'm', 'm', n FROM generate_series(7, 3000) n")
    db.execute("CREATE INDEX by_s ON t (s); CREATE INDEX by_s_too ON t (s)")
    db.execute("CREATE INDEX by_w ON t (w DESC, n); CREATE INDEX by_n ON t (n) INCLUDE (s)")
    postgres.wrong_order(db, "by_s", "C")
    postgres.changed_collation(db, "words", "sv")
    report = Checking(db.url, spark, tmp_path).run("INSPECT TABLE t")
    assert sorted((each.kind.value, each.index, *each.details.values()) for each in report.failures) == [
        ("index_order", "by_s", "apple", "Apple"),
        ("index_order", "by_s", "zebra", "Zebra"),
        ("index_order", "by_s", "öl", "zebra"),
        ("index_order", "by_w", "zebra", "4", "öl", "3"),
    ]
    assert {each.place for each in report.failures if each.index == "by_w"} == {
        "block 1, item 3 before block 1, item 4"
    }
    # Entries of several pages that are all the wrong way round.
    db.execute("UPDATE pg_index SET indoption = '3' WHERE indexrelid = 'by_n'::regclass")
    report = Checking(db.url, spark, tmp_path).run("CHECK TABLE t INDEX by_n", limit=None)
    assert [check.failures for check in report.checks] == [2999]
    pairs = {(int(str(each.details["first.n"])), int(str(each.details["second.n"]))) for each in report.failures}
    assert pairs == {(n, n + 1) for n in range(1, 3000)}
    assert len({place for each in report.failures for place in str(each.place).split(" before ")}) == 3000
