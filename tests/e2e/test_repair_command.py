"""`tieout repair`: planned, applied, taken back."""

from __future__ import annotations

import json

from tests.corruption import sqlite
from tests.integration.checking.repairing import Repairing
from tests.servers.sqlite import SqliteDatabase
from tieout.model.failures import Failure, FailureKind


def test_plan_apply_undo(sqlite_db, tieout):
    source: SqliteDatabase = sqlite_db("source")
    target: SqliteDatabase = sqlite_db("target")
    for side in (source, target):
        side.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        side.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"v{n}") for n in range(50)])
    target.execute("DELETE FROM t WHERE id = 1; UPDATE t SET v = 'x' WHERE id = 2; INSERT INTO t VALUES (99, 'rogue')")
    spoilt = target.rows("SELECT * FROM t ORDER BY id")
    verify = ("verify", "--source", source.url, "--target", target.url, "--quiet")
    assert tieout(*verify).code == 1

    planned = tieout("repair", "plan", "last", "--sql", "plan.sql", "-o", "json", "--quiet")
    assert planned.code == 0
    plan = json.loads(planned.out)
    assert (plan["inserts"], plan["updates"], plan["deletes"]) == (1, 1, 1)
    assert target.rows("SELECT * FROM t ORDER BY id") == spoilt, "a plan changes nothing"

    applied = tieout("repair", "apply", plan["plan"], "--quiet")
    assert applied.code == 0
    assert "3 changes applied" in applied.out
    assert "its rows are equal now" in applied.out
    assert tieout(*verify).code == 0

    undone = tieout("repair", "undo", "last", "--quiet")
    assert undone.code == 0
    assert "3 changes undone" in undone.out
    assert target.rows("SELECT * FROM t ORDER BY id") == spoilt

    listed = tieout("jobs", "list", "-o", "json")
    assert [job["kind"] for job in json.loads(listed.out)] == ["repair", "verification", "repair", "verification"]


def test_what_can_not_be_repaired_is_said(sqlite_db, tieout):
    source, target = sqlite_db("source"), sqlite_db("target")
    for side in (source, target):
        side.execute("CREATE TABLE keyless (v TEXT); INSERT INTO keyless VALUES ('a')")
    target.execute("INSERT INTO keyless VALUES ('b')")
    assert tieout("verify", "--source", source.url, "--target", target.url, "--quiet").code == 1
    planned = tieout("repair", "plan", "last", "--quiet")
    assert planned.code == 3
    assert "1 difference can't be repaired: it has no key" in planned.out


def test_what_a_check_found(sqlite_db, tieout, tmp_path):
    database: SqliteDatabase = sqlite_db("shop")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER CHECK (v > 0)); CREATE INDEX i ON t (v)")
    database.executemany("INSERT INTO t VALUES (?, ?)", [(n, n) for n in range(1, 6)])
    sqlite.violated_check(database, "t", "id = 3", {"v": -3})
    before = database.rows("SELECT * FROM t")
    meta = tmp_path / ".tieout"
    meta.mkdir()
    repairing = Repairing(database.url, meta)
    job = repairing.told(
        Failure(FailureKind.STALE_INDEX_ENTRY, "shop", "main.t", ("v",), "i", None, {"id": "2"}, "2", {"entry.v": "9"}),
        Failure(FailureKind.CHECK_VIOLATION, "shop", "main.t", ("v",), None, "check_1", {"id": "3"}, "3", {"v": "-3"}),
    )
    planned = tieout("repair", "plan", "last", "--quiet")
    assert planned.code == 3
    assert "1 change, 1 failure undecided" in planned.out
    assert "[replace, set_null, delete]" in planned.out
    assert f"decide with: tieout repair plan {job} --choose check_violation=replace" in planned.out
    partly = tieout("repair", "apply", "last", "--dry-run")
    assert partly.code == 0
    assert 'REINDEX "main"."i";' in partly.out

    decided = tieout(
        "repair", "plan", job, "--choose", "check_violation=replace", "--set", "t.v=33", "-o", "json", "-q"
    )
    assert decided.code == 0
    assert [each["action"] for each in json.loads(decided.out)["changes"]] == ["rebuild", "update"]
    assert database.rows("SELECT * FROM t") == before
    applied = tieout("repair", "apply", "last", "--quiet")
    assert applied.code == 0, applied.out
    assert "2 changes applied" in applied.out
    assert f'tieout check {database.url} "CHECK TABLE t"' in applied.out
    assert database.rows("SELECT v FROM t WHERE id = 3") == [(33,)]
    undone = tieout("repair", "undo", "last", "--quiet")
    assert undone.code == 0, undone.out
    assert "1 change undone, 1 kept" in undone.out
    assert database.rows("SELECT * FROM t") == before

    assert tieout("repair", "plan", job, "--choose", "check_violation").code == 2
    assert "--url" in tieout("repair", "plan", job, "--source", database.url).err
    shown = tieout("failures", "list", "--kind", "check_violation", "-o", "json")
    failure = json.loads(shown.out)[0]["id"]
    told = json.loads(tieout("failures", "show", failure, "-o", "json").out)
    assert (told["category"], told["job"]) == ("decision", job)
    assert told["detected_at"]
    assert "replace the value" in told["suggestion"]
