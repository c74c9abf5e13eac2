"""What a check found in an SQLite file is repaired: corrupt, check, plan, apply, check again clean; and back."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import sqlite
from tests.corruption.sqlite.session import hidden, remove, unguarded
from tests.integration.checking.repairing import Repairing, counts
from tests.variants import later
from tieout.errors import UsageError
from tieout.model.failures import CheckVerdict, Failure, FailureKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.sqlite import SqliteDatabase

TABLES = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, sku TEXT NOT NULL, qty REAL, note TEXT);
CREATE INDEX by_sku ON orders (sku, qty);
CREATE INDEX by_qty ON orders (qty DESC)"""
EVERYTHING = "SELECT * FROM orders NOT INDEXED ORDER BY id"
QUARANTINE = "SELECT what, table_name, row_key, row_values FROM tieout_quarantine ORDER BY change_number, part"


@pytest.fixture
def shop(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    database = sqlite_db("shop")
    database.execute(TABLES)
    database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", [(n, f"s{n}", n + 0.5, None) for n in range(1, 41)])
    return database


@pytest.fixture
def repairing(shop: SqliteDatabase, spark: SparkSession, tmp_path: Path) -> Repairing:
    return Repairing(shop.url, tmp_path, spark)


def test_entries_of_every_kind(shop: SqliteDatabase, repairing: Repairing) -> None:
    sqlite.missing_entry(shop, "orders", "by_sku", "id = 5")
    sqlite.missing_entry(shop, "orders", "by_sku", "id = 6")
    sqlite.stale_entry(shop, "orders", "by_sku", "id = 7", {"sku": "other"})
    sqlite.wrong_row_entry(shop, "orders", "by_qty", "id = 8", {"qty": 1000.0})
    before = shop.rows(EVERYTHING)
    job = repairing.check("INSPECT DATABASE shop").job
    missing = repairing.ids(job)["missing_index_entry"]

    undecided = repairing.plan(job)
    assert {each.failure for each in undecided.undecided} == {"missing_index_entry", "stale_index_entry"}
    assert [change.what for change in undecided.changes] == ["by_qty"]
    assert not undecided.complete

    plan = repairing.plan(job, "missing_index_entry=create", f"{missing[0]}=delete")
    assert plan.complete
    assert [(change.action, change.what) for change in plan.changes] == [
        ("delete", "id=5"),
        ("rebuild", "by_qty"),
        ("rebuild", "by_sku"),
    ]
    assert shop.rows(EVERYTHING) == before, "a plan changes nothing"
    assert 'REINDEX "main"."by_sku"' in repairing.sql(plan.plan)

    applied = repairing.apply(plan.plan)
    assert (counts(applied), applied.exit_code, applied.messages) == ({"done": 3}, 0, ())
    assert "INSPECT DATABASE shop" in applied.notes[0]
    assert repairing.check("INSPECT DATABASE shop").verdict is CheckVerdict.CLEAN
    assert shop.rows(EVERYTHING) == [row for row in before if row[0] != 5]
    kept = [(what, json.loads(key), json.loads(values)) for what, _, key, values in shop.rows(QUARANTINE)]
    assert kept[0] == ("row", {"id": "5"}, {"id": "5", "sku": "s5", "qty": "5.5", "note": None})
    assert ("entry", {"index": "by_qty", "place": "8"}, {"qty": "8.5"}) in kept

    undone = repairing.undo(plan.plan)
    assert (counts(undone), undone.exit_code) == ({"done": 1, "kept": 2}, 0)
    assert shop.rows(EVERYTHING) == before
    assert repairing.check("INSPECT DATABASE shop").verdict is CheckVerdict.CLEAN, (
        "entries of rebuilt indexes stay right"
    )


def test_a_row_that_two_indexes_still_know(shop: SqliteDatabase, repairing: Repairing) -> None:
    """Entries of two indexes at one place: what they know together is enough to insert the row again."""
    gone = shop.rows("SELECT * FROM orders WHERE id IN (7, 9)")
    sqlite.dangling_entry(shop, "orders", "by_sku", "id = 9")
    with_both_blind(shop, "id = 7")
    job = repairing.check("INSPECT DATABASE shop").job

    undecided = repairing.plan(job)
    assert undecided.changes == ()
    told = {lost.place: lost for lost in undecided.lost_rows}
    assert set(told["7"].indexes) == {"by_sku", "by_qty"}
    assert told["7"].known == {"id": "7", "sku": "s7", "qty": "7.5"}
    assert told["7"].unknown == ("note",)
    assert told["9"].indexes == ("by_sku",)
    assert counts(repairing.apply(undecided.plan)) == {"undecided": 3}

    plan = repairing.plan(job, "dangling_index_entry=restore")
    assert counts(repairing.apply(plan.plan)) == {"done": 4}
    assert repairing.check("INSPECT DATABASE shop").verdict is CheckVerdict.CLEAN
    assert shop.rows("SELECT * FROM orders WHERE id IN (7, 9)") == gone
    assert len(shop.rows(QUARANTINE)) == 3 + 2, "the entries, and that rows were inserted"
    assert counts(repairing.undo(plan.plan)) == {"done": 2, "kept": 2}
    assert shop.rows("SELECT * FROM orders WHERE id IN (7, 9)") == []


def with_both_blind(shop: SqliteDatabase, where: str) -> None:
    """The rows are gone, and both indexes have their entries."""
    with unguarded(shop) as connection, hidden(connection, "by_sku"), hidden(connection, "by_qty"):
        remove(connection, "orders", where)


CONSTRAINTS = """
CREATE TABLE parents (id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT DEFAULT 'none');
CREATE TABLE t (
  id INTEGER PRIMARY KEY, p INTEGER DEFAULT 1 REFERENCES parents, q INTEGER CHECK (q > 0), u TEXT,
  n TEXT NOT NULL, twice INTEGER AS (q * 2) STORED);
CREATE UNIQUE INDEX only_u ON t (u);
INSERT INTO parents (id, name) VALUES (1, 'one');
INSERT INTO t (id, p, q, u, n) VALUES (1, 1, 1, 'a', 'x'), (2, 1, 2, 'b', 'x'), (3, 1, 3, 'c', 'x'),
  (4, 1, 4, 'd', 'x'), (5, 1, 5, 'e', 'x'), (6, 1, 6, 'f', 'x'), (7, 1, 7, 'g', 'x')"""
T = "SELECT * FROM t NOT INDEXED ORDER BY id"
PARENTS = "SELECT * FROM parents ORDER BY id"


@pytest.fixture
def broken(sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path) -> tuple[SqliteDatabase, Repairing, str]:
    """A row for each kind of constraint that can be violated; and the job that found them."""
    database = sqlite_db("broken")
    database.execute(CONSTRAINTS)
    sqlite.wrong_reference(database, "t", "id = 1", {"p": 77})
    sqlite.wrong_reference(database, "t", "id = 2", {"p": 88})
    sqlite.violated_check(database, "t", "id = 3", {"q": -3})
    sqlite.duplicate_entry(database, "t", "only_u", "id = 4", {"id": 40})
    sqlite.null_value(database, "t", "n", "id = 5")
    sqlite.wrong_generated_value(database, "t", "twice", "id = 6", 99)
    repairing = Repairing(database.url, tmp_path)
    job = repairing.told(
        violation("foreign_key_violation", "fk0", "p", 1, "77"),
        violation("foreign_key_violation", "fk0", "p", 2, "88"),
        violation("check_violation", "q_check", "q", 3, "-3"),
        violation("unique_violation", "only_u", "u", 4, "d"),
        violation("unique_violation", "only_u", "u", 40, "d"),
        violation("not_null_violation", "n_not_null", "n", 5, None),
        violation("wrong_generated_value", None, "twice", 6, "99"),
        Failure(FailureKind.INVALID_VIEW, "broken", "main.some_view"),
    )
    return database, repairing, job


def violation(kind: str, constraint: str | None, column: str, row: int, value: str | None) -> Failure:
    return Failure(
        FailureKind(kind),
        "broken",
        "main.t",
        (column,),
        constraint=constraint,
        primary_key={"id": str(row)},
        place=str(row),
        details={column: value},
    )


def test_violated_constraints(broken: tuple[SqliteDatabase, Repairing, str]) -> None:
    database, repairing, job = broken
    before = database.rows(T)
    first = repairing.ids(job)["foreign_key_violation"][0]
    plan = repairing.plan(
        job,
        "foreign_key_violation=insert_parent",
        f"{first}=set_null",
        "check_violation=replace",
        "unique_violation=keep_first",
        "not_null_violation=replace",
        q="30",
        n="given",
        **{"parents.name": "new"},
    )
    assert [(each.failure, each.reason) for each in plan.left] == [
        ("invalid_view", "replace the view by one that reads what is there (CREATE OR REPLACE VIEW)")
    ]
    assert plan.undecided == ()
    applied = repairing.apply()
    assert (counts(applied), applied.exit_code) == ({"done": 6, "skipped": 1}, 1)
    assert database.rows(T) == [
        (1, None, 1, "a", "x", 2),
        (2, 88, 2, "b", "x", 4),
        (3, 1, 30, "c", "x", 60),
        (4, 1, 4, "d", "x", 8),
        (5, 1, 5, "e", "given", 10),
        (6, 1, 6, "f", "x", 12),
        (7, 1, 7, "g", "x", 14),
    ]
    assert database.rows(PARENTS) == [(1, "one", "none"), (88, "new", "none")]
    assert database.rows("PRAGMA integrity_check") == [("ok",)]
    assert database.rows("PRAGMA foreign_key_check") == []

    undone = repairing.undo()
    assert counts(undone) == {"done": 3, "kept": 1, "failed": 2}
    assert sorted(message.partition(": ")[2].split(":")[0] for message in undone.messages if "kept" not in message) == [
        "not undone",
        "not undone",
    ], "a healthy unique index and NOT NULL take back no row that breaks them: it stays in quarantine"
    assert database.rows(PARENTS) == [(1, "one", "none")]
    unbreakable = {5: (5, 1, 5, "e", "given", 10), 6: (6, 1, 6, "f", "x", 12), 40: None}
    assert database.rows(T) == [row for each in before if (row := unbreakable.get(each[0], each))]


def test_what_was_changed_since_is_left_alone(broken: tuple[SqliteDatabase, Repairing, str]) -> None:
    database, repairing, job = broken
    database.execute("UPDATE t SET q = 3 WHERE id = 3")
    planned = repairing.plan(
        job, "check_violation=delete", "foreign_key_violation=delete", "unique_violation=keep_last"
    )
    assert planned.vanished == 1, "of which the check saw other values"
    database.execute("UPDATE t SET n = 'y' WHERE id = 1; INSERT INTO parents VALUES (88, 'late', NULL)")
    database.execute("UPDATE t SET u = 'dd' WHERE id = 40")
    before = database.rows(T)
    applied = repairing.apply()
    assert (counts(applied), applied.exit_code) == ({"done": 1, "skipped": 4, "undecided": 1}, 1)
    assert [message.partition("): ")[2] for message in applied.messages][:3] == [
        "the failure is gone: no other row has the same values",
        "the row has changed since the plan was made",
        "the failure is gone: the parent is there",
    ]
    assert database.rows(T) == [row if row[0] != 6 else (6, 1, 6, "f", "x", 12) for row in before]


def test_what_was_changed_after_the_repair_is_not_put_back(broken: tuple[SqliteDatabase, Repairing, str]) -> None:
    database, repairing, job = broken
    repairing.plan(job, "check_violation=replace", "foreign_key_violation=delete", q="30")
    assert counts(repairing.apply())["done"] == 4
    database.execute("UPDATE t SET n = 'later' WHERE id = 3")
    database.execute("INSERT INTO t (id, p, q, u, n) VALUES (1, 1, 1, 'new', 'x')")
    undone = repairing.undo()
    assert (counts(undone), undone.exit_code) == ({"done": 1, "skipped": 2, "kept": 1}, 1)
    assert "not undone: the row has changed since the repair" in "\n".join(undone.messages)
    assert database.rows("SELECT id, p, q, n FROM t NOT INDEXED WHERE id < 4 ORDER BY id") == [
        (1, 1, 1, "x"),
        (2, 88, 2, "x"),
        (3, 1, 30, "later"),
    ]


def test_choices_that_are_none(broken: tuple[SqliteDatabase, Repairing, str]) -> None:
    _, repairing, job = broken
    with pytest.raises(UsageError, match="create can't repair check_violation"):
        repairing.plan(job, "check_violation=create")
    with pytest.raises(UsageError, match="no failure of the kind index_order"):
        repairing.plan(job, "index_order=rebuild")
    with pytest.raises(UsageError, match="'remove' is no way"):
        repairing.plan(job, "check_violation=remove")
    plan = repairing.plan(job, "not_null_violation=replace", "foreign_key_violation=insert_parent")
    reasons = {each.failure: each.reason for each in plan.undecided}
    assert reasons["not_null_violation"] == "it needs a value: --set n=VALUE"
    assert reasons["foreign_key_violation"] == "the parent needs a value for name: --set parents.name=VALUE"


KILLED = """
import os, signal, sys
from tieout import api
from tieout.connectors.sqlite.check.repairer import SQLiteRepairer

url, meta, action, point, count = sys.argv[1:]
left = int(count)
commit = SQLiteRepairer.commit

def reached(name):
    global left
    left -= name == point
    if name == point and left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def killed(self):
    reached("before")
    commit(self)
    reached("after")

SQLiteRepairer.commit = killed
getattr(api, action)("last", url, meta=meta)
"""


@pytest.mark.parametrize("point", [later("before"), "after"])
def test_killed_between_commit_and_record(broken: tuple[SqliteDatabase, Repairing, str], point: str) -> None:
    """What is in quarantine was committed: it is neither done twice nor lost."""
    database, repairing, job = broken
    before = database.rows(T)
    repairing.plan(job, "foreign_key_violation=delete", "check_violation=set_null", "unique_violation=leave")
    kill(repairing, "apply_check_repair", point, 2)
    assert len(database.rows(QUARANTINE)) == (2 if point == "after" else 1)
    assert counts(repairing.apply()) == {"done": 4, "skipped": 3, "undecided": 1}
    assert [row[:3] for row in database.rows(T)][:2] == [(3, 1, None), (4, 1, 4)]
    assert len(database.rows(QUARANTINE)) == 4
    kill(repairing, "undo_check_repair", point, 2)
    assert counts(repairing.undo()) == {"done": 3, "kept": 1}
    assert database.rows(T) == [row if row[0] != 6 else (6, 1, 6, "f", "x", 12) for row in before]


def kill(repairing: Repairing, action: str, point: str, count: int) -> None:
    arguments = [repairing.url, repairing.meta, action, point, str(count)]
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], check=False, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def test_an_entry_that_is_there_again(shop: SqliteDatabase, tmp_path: Path) -> None:
    """Whoever chose to delete a row because its entry was missing does not lose one that has it."""
    repairing = Repairing(shop.url, tmp_path)
    missing = [
        Failure(FailureKind.MISSING_INDEX_ENTRY, "shop", "main.orders", ("qty",), "by_qty", None, {"id": n}, n)
        for n in ("3", "4")
    ]
    sqlite.missing_entry(shop, "orders", "by_qty", "id = 4")
    repairing.plan(repairing.told(*missing), "missing_index_entry=delete")
    applied = repairing.apply()
    assert (counts(applied), applied.exit_code) == ({"done": 1, "skipped": 1}, 1)
    assert "the failure is gone: by_qty has an entry of the row now" in applied.messages[0]
    assert shop.rows("SELECT id FROM orders NOT INDEXED WHERE id IN (3, 4)") == [(3,)]


def test_a_parent_that_others_refer_to_by_now_stays(broken: tuple[SqliteDatabase, Repairing, str]) -> None:
    """Undo works with foreign keys off: what it took away from under a lawful row would make an orphan of it."""
    database, repairing, job = broken
    repairing.plan(job, "foreign_key_violation=insert_parent", **{"parents.name": "new"})
    repairing.apply()
    database.execute("INSERT INTO t (id, p, q, u, n) VALUES (50, 88, 1, 'z', 'x')")
    undone = repairing.undo()
    assert (counts(undone), undone.exit_code) == ({"done": 1, "skipped": 1, "kept": 1}, 1)
    assert "not undone: 1 row of main.t would lose what it refers to: id=50" in "\n".join(undone.messages)
    assert [row[0] for row in database.rows(PARENTS)] == [1, 88]
    assert [row[:4:2] for row in database.rows("PRAGMA foreign_key_check")] == [("t", "parents")], "as before"
    database.execute("DELETE FROM t WHERE id = 50")
    assert counts(repairing.undo()) == {"done": 2, "kept": 1}
    assert [row[0] for row in database.rows(PARENTS)] == [1]


def test_a_value_that_others_refer_to_by_now_stays(sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path) -> None:
    database = sqlite_db("values")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, q INTEGER UNIQUE CHECK (q > 0))")
    database.execute(
        "CREATE TABLE child (id INTEGER PRIMARY KEY, q INTEGER REFERENCES t (q)); INSERT INTO t VALUES (1, 1)"
    )
    sqlite.violated_check(database, "t", "id = 1", {"q": -3})
    repairing = Repairing(database.url, tmp_path)
    repairing.plan(
        repairing.told(violation("check_violation", "check_1", "q", 1, "-3")), "check_violation=replace", q="5"
    )
    assert counts(repairing.apply()) == {"done": 1}
    database.execute("INSERT INTO child VALUES (1, 5)")
    undone = repairing.undo()
    assert (counts(undone), undone.exit_code) == ({"skipped": 1}, 1)
    assert database.rows("SELECT q FROM t") == [(5,)]


def test_triggers_run_only_if_somebody_accepts_it(broken: tuple[SqliteDatabase, Repairing, str]) -> None:
    """What a trigger changes elsewhere is in no quarantine."""
    database, repairing, job = broken
    database.execute("CREATE TABLE logged (id INTEGER); INSERT INTO logged VALUES (1), (3)")
    database.execute(
        """CREATE TRIGGER "after update" AFTER DELETE ON T BEGIN DELETE FROM logged WHERE id = old.id; END"""
    )
    choices = ("foreign_key_violation=delete", "check_violation=replace")
    plan = repairing.plan(job, *choices, q="30")
    assert sorted((each.failure, each.where) for each in plan.left) == [
        ("foreign_key_violation", "fk0 id=1"),
        ("foreign_key_violation", "fk0 id=2"),
        ("invalid_view", ""),
    ]
    assert {each.reason for each in plan.left if each.failure == "foreign_key_violation"} == {
        "main.t has a trigger after update (DELETE) that would run: "
        "drop or disable it first, or plan with --choose triggers=run"
    }
    assert [each.what for each in plan.changes if each.action != "rebuild"] == ["id=3: q = 30", "id=6: written again"]
    database.execute("CREATE TRIGGER late UPDATE OF q ON t BEGIN DELETE FROM logged; END")
    applied = repairing.apply()
    assert counts(applied)["failed"] == 2, "one that came after the plan"
    assert "main.t has a trigger late (UPDATE) that would run" in applied.messages[0]
    assert len(database.rows("SELECT * FROM logged")) == 2

    database.execute("DROP TRIGGER late")
    assert counts(repairing.apply())["done"] == 2
    database.execute("CREATE TRIGGER late UPDATE ON t BEGIN DELETE FROM logged; END")
    assert counts(repairing.undo()) == {"failed": 1, "kept": 1}
    database.execute("DROP TRIGGER late")
    assert counts(repairing.undo()) == {"done": 1, "kept": 1}
    assert len(database.rows("SELECT * FROM logged")) == 2

    repairing.plan(job, *choices, "triggers=run", q="30")
    assert counts(repairing.apply())["done"] >= 3
    assert database.rows("SELECT id FROM logged") == [(3,)]
    with pytest.raises(UsageError, match="triggers=yes is not a choice"):
        repairing.plan(job, "triggers=yes")
