"""Definitions in SQLite files that are really broken: each by its kind and name, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.corruption import sqlite
from tests.integration.checking.checks import Checking
from tests.integration.checking.definitions import definitions, found, statuses
from tieout.model.failures import CheckVerdict, Status
from tieout.model.tables import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.sqlite import SqliteDatabase

HEALTHY = """
CREATE TABLE "Order" ("Id" INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT DEFAULT foo, b DEFAULT "bar",
  c DEFAULT (json('[]')), d DEFAULT CURRENT_TIMESTAMP, e DEFAULT -5, f DEFAULT (random()), g TEXT DEFAULT 'it''s',
  doc TEXT CHECK (doc <> ','), h AS (json_extract(doc, '$.a,b')), [i i] INT GENERATED ALWAYS AS (abs(e)) STORED,
  k DEFAULT TRUE, UNIQUE (a, b));
CREATE TABLE pairs (a TEXT COLLATE NOCASE, b INT, c BLOB, PRIMARY KEY (b, a)) WITHOUT ROWID;
CREATE TABLE child (o INT REFERENCES "order" ON DELETE CASCADE, a TEXT, b INT, x TEXT REFERENCES named(name),
  FOREIGN KEY (a, b) REFERENCES pairs (a, b), FOREIGN KEY (b, a) REFERENCES pairs);
CREATE TABLE named (id INT, name TEXT); CREATE UNIQUE INDEX by_name ON named (name);
CREATE INDEX lowered ON "Order" (lower(a) || ',' DESC, "b") WHERE "e" IS NOT NULL;
CREATE VIEW seen (one, two) AS SELECT a, b FROM "Order"; CREATE VIEW above AS SELECT two FROM seen;
CREATE TRIGGER t AFTER UPDATE OF a ON "Order" WHEN NEW.a <> 'x' BEGIN UPDATE named SET id = 1; DELETE FROM pairs; END;
CREATE TRIGGER "t 2" INSTEAD OF DELETE ON seen BEGIN DELETE FROM "Order" WHERE a = OLD.one; END;
CREATE VIRTUAL TABLE words USING fts5(x);
CREATE TABLE strict (a INT, b ANY) STRICT;
INSERT INTO "Order" (a, doc) VALUES ('x', '{}'), ('y', '[1]')"""

ROOM = """
CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT, b INT, c DEFAULT (json('[]')), doc TEXT,
  g AS (json_extract(doc, '$.a')), s INT AS (b + 1) STORED);
INSERT INTO t (a, b, doc) VALUES ('x', 1, '{}'), ('y', 2, '{}');
CREATE TABLE log (m); CREATE TABLE other (id INT, u INT UNIQUE);
CREATE TABLE child (p REFERENCES nowhere (id), q REFERENCES other (id), r REFERENCES t (zz), s REFERENCES t,
  v REFERENCES other (u), w REFERENCES other);
CREATE INDEX typed ON t ("bb"); CREATE INDEX fine ON t (b);
CREATE TRIGGER fires AFTER INSERT ON t BEGIN INSERT INTO log VALUES (NEW.id); END;
CREATE TRIGGER fine_one AFTER INSERT ON t BEGIN INSERT INTO other VALUES (NEW.id, 1); END;
CREATE VIEW reads AS SELECT id, m FROM t, log; CREATE VIEW above AS SELECT id FROM reads;
CREATE VIEW apart AS SELECT id FROM other"""


def test_a_rich_schema_is_sound(sqlite_db: Callable[[str], SqliteDatabase]) -> None:
    database = sqlite_db("shop")
    database.execute(HEALTHY)
    checked = definitions(database.url)
    assert found(checked) == set()
    assert {each.result.status for each in checked} == {Status.OK}, [each.result for each in checked]
    evidence = {each.result.table: each.result.evidence for each in checked}
    assert evidence["main.Order"] == (
        "definitions: 1, defaults: 8, generated columns: 2, sequences: 1, indexes: 1, triggers: 1"
    )
    assert evidence["main.child"] == "definitions: 1, foreign keys: 4"
    assert statuses(definitions(database.url, [TableName("main", "Order")])).keys() == {
        "main.Order",
        "main.seen",
        "main.above",
    }


def test_faults_of_every_kind(sqlite_db: Callable[[str], SqliteDatabase]) -> None:
    database = sqlite_db("shop")
    database.execute(ROOM)
    sqlite.redeclared(database, "t", "json('[]')", "json('[')")
    sqlite.broken_view(database, "reads", "DROP TABLE log")
    sqlite.sequence_behind(database, "t")
    sqlite.redeclared(database, "t", "json_extract(doc", "json_extract(a")
    assert found(definitions(database.url)) == {
        ("sequence_behind", "main.t", "column id"),
        ("invalid_default", "main.t", "column c"),
        ("invalid_generated_column", "main.t", "column g"),
        ("invalid_index_definition", "main.t", "typed"),
        ("missing_reference", "main.t", "trigger fires"),
        ("invalid_view", "main.reads", None),
        ("invalid_view", "main.above", None),
        ("invalid_foreign_key", "main.child", "fk0"),
        ("invalid_foreign_key", "main.child", "fk3"),
        ("invalid_foreign_key", "main.child", "fk4"),
        ("invalid_foreign_key", "main.child", "fk5"),
    }


def test_what_is_the_applications_own_is_not_checked(sqlite_db: Callable[[str], SqliteDatabase]) -> None:
    database = sqlite_db("shop")
    with database.connect() as connection:
        connection.create_function("own", 1, lambda value: value, deterministic=True)
        connection.create_collation("sorted", lambda one, other: 0)
        connection.executescript("""
            CREATE TABLE t (a TEXT); CREATE INDEX by_own ON t (own(a)); CREATE VIEW w AS SELECT own(a) FROM t;
            CREATE TABLE u (a TEXT); CREATE INDEX by_sorted ON u (a COLLATE sorted)""")
    checked = definitions(database.url)
    assert found(checked) == set()
    assert statuses(checked) == {"main.t": "not_checked", "main.u": "not_checked", "main.w": "not_checked"}
    assert checked[0].result.reason == "by_own: unknown function: own(), which may be the application's own"


def test_a_definition_that_sqlite_does_not_understand(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path
) -> None:
    database = sqlite_db("shop")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); CREATE INDEX i ON t (a); CREATE TABLE u (b)")
    with database.connect() as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = 'CREATE INDEX i ON t (gone)' WHERE name = 'i'")
        connection.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE u (b,)' WHERE name = 'u'")
    report = Checking(database.url, spark, tmp_path).run("CHECK DATABASE shop")
    assert report.verdict is CheckVerdict.FAILURES
    assert {(f.kind.value, f.table, f.index) for f in report.failures} == {
        ("invalid_index_definition", "main.t", "i"),
        ("engine_finding", "main.u", None),
    }
    others = {check.status for check in report.checks if check.family.value != "schema"}
    assert others == {Status.NOT_CHECKED}
