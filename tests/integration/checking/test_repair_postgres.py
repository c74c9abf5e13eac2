"""What a check found in PostgreSQL is repaired: corrupt, check, plan, apply, check again clean; and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import postgres
from tests.corruption.postgres.session import blind, remove, unguarded, vacuum
from tests.integration.checking.repairing import Repairing, counts
from tieout.model.failures import CheckVerdict, Failure, FailureKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

EVERYTHING = "SELECT * FROM orders ORDER BY id"
CHECK = "INSPECT TABLE orders"


def test_entries(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    db.execute("""
        CREATE TABLE orders (id int PRIMARY KEY, sku text NOT NULL, qty numeric(9,2), note text DEFAULT 'new');
        CREATE INDEX by_sku ON orders (sku) INCLUDE (qty);
        CREATE UNIQUE INDEX by_qty ON orders (qty);
        INSERT INTO orders SELECT n, 's' || n, n, NULL FROM generate_series(1, 20) n""")
    postgres.missing_entry(db, "orders", "by_sku", "id = 5")
    postgres.missing_entry(db, "orders", "by_sku", "id = 6")
    postgres.wrong_stored_value(db, "orders", "by_sku", "id = 8", {"qty": 88})
    with unguarded(db) as cursor, blind(cursor, "orders_pkey"), blind(cursor, "by_sku"):
        remove(cursor, "orders", "id = 7")
        vacuum(cursor, "orders")
    postgres.duplicate_without_entry(db, "orders", "by_qty", "id = 10", {"id": 110})
    before = db.rows(EVERYTHING)
    repairing = Repairing(db.url, tmp_path, spark)
    found = repairing.check(CHECK)
    by_row = {(each.index, (each.primary_key or {}).get("id")): each.kind.value for each in found.failures}
    assert by_row == {
        ("by_sku", "5"): "missing_index_entry",
        ("by_sku", "6"): "missing_index_entry",
        ("by_sku", "8"): "wrong_stored_value",
        ("by_sku", None): "dangling_index_entry",
        ("orders_pkey", None): "dangling_index_entry",
        ("by_qty", "110"): "missing_index_entry",
    }
    of_row = {}
    with_ids = repairing.ids(found.job)["missing_index_entry"]
    for each in repairing.plan(found.job).undecided:
        of_row[each.where] = each.id
    assert set(with_ids) == {of_row["by_sku id=5"], of_row["by_sku id=6"], of_row["by_qty id=110"]}

    blocked = repairing.plan(found.job, "missing_index_entry=create", "dangling_index_entry=quarantine")
    applied = repairing.apply(blocked.plan)
    assert counts(applied) == {"done": 2, "failed": 1}
    assert "could not create unique index" in applied.messages[0]
    assert "several rows have qty = 10.00: check the constraints" in applied.messages[0]
    assert db.rows("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == [(0,)], "nothing half built is left"
    assert len(db.rows("SELECT * FROM tieout_quarantine WHERE what = 'entry'")) == 3

    found = repairing.check(CHECK)
    assert [(each.kind.value, each.index) for each in found.failures] == [("missing_index_entry", "by_qty")]
    repairing.plan(found.job, "missing_index_entry=delete")
    assert counts(repairing.apply()) == {"done": 1}
    assert repairing.check("INSPECT DATABASE " + db.name).verdict is CheckVerdict.CLEAN
    assert db.rows(EVERYTHING) == [row for row in before if row[0] != 110]
    assert counts(repairing.undo()) == {"failed": 1}, "the index is right, and unique"


@pytest.mark.thorough
def test_a_row_that_two_indexes_still_know(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    db.execute("""
        CREATE TABLE orders (id int PRIMARY KEY, sku text NOT NULL, qty numeric(9,2), note text DEFAULT 'new');
        CREATE INDEX by_sku ON orders (sku) INCLUDE (qty);
        INSERT INTO orders SELECT n, 's' || n, n, NULL FROM generate_series(1, 20) n""")
    postgres.missing_entry(db, "orders", "by_sku", "id = 6")
    with unguarded(db) as cursor, blind(cursor, "orders_pkey"), blind(cursor, "by_sku"):
        remove(cursor, "orders", "id = 7")
        vacuum(cursor, "orders")
    before = db.rows("SELECT * FROM orders ORDER BY sku")
    repairing = Repairing(db.url, tmp_path, spark)
    job = repairing.check(CHECK).job
    plan = repairing.plan(job, "dangling_index_entry=restore", "missing_index_entry=delete")
    (lost,) = plan.lost_rows
    assert (set(lost.indexes), lost.known) == ({"orders_pkey", "by_sku"}, {"id": "7", "sku": "s7", "qty": "7.00"})
    assert plan.complete
    statements = repairing.sql()
    assert statements.count("REINDEX INDEX CONCURRENTLY") == 2
    assert "DELETE FROM" in statements.partition("REINDEX")[0]
    assert counts(repairing.apply()) == {"done": 4}
    assert repairing.check(CHECK).verdict is CheckVerdict.CLEAN
    assert [row[0] for row in db.rows(EVERYTHING)] == [*range(1, 6), *range(7, 21)]
    assert db.rows("SELECT sku, qty::text, note FROM orders WHERE id = 7") == [("s7", "7.00", "new")]
    assert counts(repairing.undo()) == {"done": 2, "kept": 2}
    assert db.rows("SELECT * FROM orders ORDER BY sku") == before


TABLES = """
CREATE TABLE parents (id int PRIMARY KEY, name text NOT NULL, note text DEFAULT 'none');
CREATE TABLE t (id serial PRIMARY KEY, p int DEFAULT 1 CONSTRAINT fk REFERENCES parents,
  q int CONSTRAINT positive CHECK (q > 0), u text CONSTRAINT only_u UNIQUE, n text NOT NULL,
  twice int GENERATED ALWAYS AS (q * 2) STORED);
CREATE TABLE keyless (v int CONSTRAINT small CHECK (v < 10), w text);
INSERT INTO parents VALUES (1, 'one');
INSERT INTO t (id, p, q, u, n) SELECT n, 1, n, 'u' || n, 'x' FROM generate_series(1, 8) n;
INSERT INTO keyless VALUES (1, 'a'), (1, 'a'), (2, 'b')"""
T = "SELECT * FROM t ORDER BY id"
REST = "SELECT (SELECT array_agg(p ORDER BY id) FROM parents p), (SELECT array_agg(k ORDER BY v, w) FROM keyless k)"


def violation(kind: str, constraint: str | None, column: str, row: int, value: str | None) -> Failure:
    key = {"id": str(row)}
    return Failure(
        FailureKind(kind), "db", "public.t", (column,), constraint=constraint, primary_key=key, details={column: value}
    )


@pytest.fixture
def broken(pg_db: Database, tmp_path: Path) -> tuple[Repairing, str]:
    """A row for each kind of constraint that can be violated; and the job that found them."""
    pg_db.execute(TABLES)
    postgres.wrong_reference(pg_db, "t", "id = 1", {"p": 77})
    postgres.wrong_reference(pg_db, "t", "id = 2", {"p": 88})
    postgres.wrong_reference(pg_db, "t", "id = 3", {"p": 99})
    postgres.violated_check(pg_db, "t", "id = 3", {"q": -3})
    postgres.duplicate_entry(pg_db, "t", "only_u", "id = 4", {"id": 40})
    postgres.null_value(pg_db, "t", "n", "id = 5")
    postgres.wrong_generated_value(pg_db, "t", "twice", "id = 6", 99)
    postgres.violated_check(pg_db, "keyless", "v = 2", {"v": 20})
    ((place,),) = pg_db.rows("SELECT ctid::text FROM keyless WHERE v = 20")
    repairing = Repairing(pg_db.url, tmp_path)
    job = repairing.told(
        violation("foreign_key_violation", "fk", "p", 1, "77"),
        violation("foreign_key_violation", "fk", "p", 2, "88"),
        violation("foreign_key_violation", "fk", "p", 3, "99"),
        violation("check_violation", "positive", "q", 3, "-3"),
        violation("unique_violation", "only_u", "u", 4, "u4"),
        violation("unique_violation", "only_u", "u", 40, "u4"),
        violation("not_null_violation", "t_n_not_null", "n", 5, None),
        violation("wrong_generated_value", None, "twice", 6, "99"),
        Failure(FailureKind.SEQUENCE_BEHIND, "db", "public.t", ("id",)),
        Failure(
            FailureKind.CHECK_VIOLATION,
            "db",
            "public.keyless",
            ("v",),
            constraint="small",
            place=place,
            details={"v": "20"},
        ),
    )
    return repairing, job


def test_violated_constraints(pg_db: Database, broken: tuple[Repairing, str]) -> None:
    repairing, job = broken
    before, rest = pg_db.rows(T), pg_db.rows(REST)
    first, second, _ = repairing.ids(job)["foreign_key_violation"]
    keyless = repairing.ids(job)["check_violation"][1]
    choices = (
        "foreign_key_violation=set_default",
        f"{first}=set_null",
        f"{second}=insert_parent",
        "check_violation=replace",
        f"{keyless}=delete",
        "unique_violation=keep_last",
        "not_null_violation=delete",
    )
    values = {"q": "30", "parents.name": "new"}
    pg_db.execute("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
    pg_db.execute("CREATE TRIGGER own BEFORE INSERT OR DELETE ON parents FOR EACH ROW EXECUTE FUNCTION nothing()")
    plan = repairing.plan(job, *choices, **values)
    assert [(each.id, each.reason.partition(" that")[0]) for each in plan.left] == [
        (second, "public.parents has a trigger own (INSERT)")
    ]
    pg_db.execute("ALTER TABLE parents DISABLE TRIGGER own")
    plan = repairing.plan(job, *choices, **values)
    assert (plan.undecided, plan.left) == ((), ())
    assert len(plan.changes) == 8, "what is wrong with one row is repaired at once"
    applied = repairing.apply()
    assert (counts(applied), applied.messages) == ({"done": 8}, ())
    assert pg_db.rows(T) == [
        (1, None, 1, "u1", "x", 2),
        (2, 88, 2, "u2", "x", 4),
        (3, 1, 30, "u3", "x", 60),
        (6, 1, 6, "u6", "x", 12),
        (7, 1, 7, "u7", "x", 14),
        (8, 1, 8, "u8", "x", 16),
        (40, 1, 4, "u4", "x", 8),
    ]
    assert pg_db.rows("SELECT nextval('t_id_seq')") > [(40,)]
    assert pg_db.rows("SELECT count(*) FROM keyless WHERE v > 10") == [(0,)]
    kept = pg_db.rows("SELECT row_values FROM tieout_quarantine WHERE table_name = 'public.keyless'")
    assert [json.loads(values) for (values,) in kept] == [{"v": "20", "w": "b"}]

    pg_db.execute("ALTER TABLE parents ENABLE TRIGGER own")  # none that runs in the session that undoes
    pg_db.execute("INSERT INTO t (id, p, q, u, n) VALUES (50, 88, 1, 'later', 'x')")
    undone = repairing.undo()
    assert counts(undone) == {"done": 3, "skipped": 1, "kept": 2, "failed": 2}
    assert "1 row of public.t would lose what it refers to: id=50" in "\n".join(undone.messages)
    pg_db.execute("DELETE FROM t WHERE id = 50")
    assert counts(repairing.undo()) == {"done": 4, "kept": 2, "failed": 2}
    assert set(undone.notes) == {
        "positive of public.t is NOT VALID now: rows violate it",
        "small of public.keyless is NOT VALID now: rows violate it",
    }
    assert pg_db.rows(REST) == rest
    stays = {4: None, 5: None, 6: (6, 1, 6, "u6", "x", 12)}
    assert pg_db.rows(T) == [row for each in before if (row := stays.get(each[0], each))]
    assert repairing.undo().exit_code == 1


def test_what_was_changed_since_is_left_alone(pg_db: Database, broken: tuple[Repairing, str]) -> None:
    repairing, job = broken
    repairing.plan(job, "foreign_key_violation=delete", "check_violation=delete")
    pg_db.execute("UPDATE t SET n = 'y' WHERE id = 1; INSERT INTO parents VALUES (88, 'late')")
    assert counts(repairing.apply()) == {"done": 4, "skipped": 2, "undecided": 3}
    assert [row[0] for row in pg_db.rows(T)] == [1, 2, 4, 5, 6, 7, 8, 40]


def test_an_entry_that_is_there_again(db: Database, tmp_path: Path) -> None:
    db.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v int); CREATE INDEX i ON t (v); INSERT INTO t VALUES (1, 1), (2, 2)"
    )
    postgres.missing_entry(db, "t", "i", "id = 2")
    places = dict(db.rows("SELECT id, ctid::text FROM t"))
    repairing = Repairing(db.url, tmp_path)
    missing = [
        Failure(FailureKind.MISSING_INDEX_ENTRY, "d", "public.t", ("v",), "i", None, {"id": str(n)}, places[n])
        for n in (1, 2)
    ]
    repairing.plan(repairing.told(*missing), "missing_index_entry=delete")
    applied = repairing.apply()
    assert counts(applied) == {"done": 1, "skipped": 1}
    assert "i has an entry of the row now" in applied.messages[0]
    assert db.rows("SELECT * FROM t") == [(1, 1)]
