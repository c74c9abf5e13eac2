"""Types of extensions: their operators are in the extension's schema, which no session of ours looks in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.repairing import Pair
from tieout import api
from tieout.model.moves import Delivery
from tieout.model.requests import MoveRequest
from tieout.model.results import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TABLES = """
CREATE TABLE mail (address ext.citext PRIMARY KEY, path ext.ltree, n int);
CREATE TABLE book (number ext.isbn13 PRIMARY KEY, title text);
CREATE TABLE both_parts (a ext.citext, b int, c text, PRIMARY KEY (a, b));
"""
ROWS = """
INSERT INTO mail SELECT 'Mail' || n || '@x', ('a.b' || n)::ext.ltree, n FROM generate_series(1, 30) AS n;
INSERT INTO book VALUES ('978-0-393-04002-9', 'a'), ('978-0-306-40615-7', 'b');
INSERT INTO both_parts SELECT 'K' || n, n, 'v' FROM generate_series(1, 9) AS n;
"""
NAMES = ("mail", "book", "both_parts")


@pytest.fixture
def pair(pg_db: Database, pg_db_b: Database, spark: SparkSession, tmp_path: Path) -> Pair:
    for database in (pg_db, pg_db_b):
        extensions = ";".join(f"CREATE EXTENSION {name} SCHEMA ext" for name in ("citext", "ltree", "isn"))
        database.execute(f"CREATE SCHEMA ext; {extensions}")
        database.execute(f'ALTER DATABASE "{database.name}" SET search_path = public, ext')
    pg_db.execute(TABLES + ROWS)
    return Pair.of(pg_db, pg_db_b, tmp_path, spark)


def test_rows_are_moved_verified_and_repaired(pair: Pair) -> None:
    request = MoveRequest("extensions", pair.source.url, pair.target.url, delivery=Delivery.EXACTLY_ONCE)
    assert pair.spark is not None
    try:
        api.run_move(request, spark=pair.spark, meta=pair.meta, until_caught_up=True)
        pair.source.execute("UPDATE mail SET n = -n WHERE n < 5; UPDATE mail SET address = 'MAIL7@x' WHERE n = 7")
        pair.source.execute("DELETE FROM book WHERE title = 'b'; UPDATE both_parts SET c = 'w' WHERE b = 3")
        api.run_move(request, spark=pair.spark, meta=pair.meta, until_caught_up=True)
    finally:
        api.drop_move(request, pair.meta)
    assert pair.verify(*NAMES).verdict is Verdict.EQUAL

    pair.target.execute("DELETE FROM mail WHERE n = 9; UPDATE book SET title = 'x'; UPDATE both_parts SET c = 'y'")
    found = pair.verify(*NAMES)
    assert found.verdict is Verdict.DIFFERENT
    plan = api.plan_repair(found.job, pair.source.url, pair.target.url, meta=pair.meta)
    ended = api.apply_repair(plan.plan, pair.source.url, pair.target.url, meta=pair.meta)
    assert (ended.failed, ended.skipped) == (0, 0), ended
    assert pair.verify(*NAMES).verdict is Verdict.EQUAL


def test_a_key_is_compared_as_its_type_does(pair: Pair) -> None:
    """What the type takes for the same is found, and told as another spelling."""
    pair.target.execute(TABLES + ROWS)
    pair.target.execute("UPDATE mail SET address = upper(address::text)::ext.citext WHERE n <= 2")
    (mail,) = pair.verify("mail", chunk_rows=10).tables
    before = (mail.verdict, mail.differences.missing, mail.differences.extra, mail.differences.changed)
    assert before == (Verdict.DIFFERENT, 2, 2, 0)
