"""`tieout repair`: planned, applied, taken back."""

from __future__ import annotations

import json

from tests.servers.sqlite import SqliteDatabase


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
