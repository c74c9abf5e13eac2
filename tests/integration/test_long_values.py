"""Values of many megabytes: what is kept of them is short, and a repair writes all of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.checking.repairing import Repairing, counts
from tests.integration.keys.looking import planned
from tests.integration.repairing import Pair
from tests.variants import later
from tieout.meta import open_store
from tieout.model.documents import failure_document
from tieout.model.keys import EVERYTHING
from tieout.model.requests import TableRequest
from tieout.model.results import Verdict
from tieout.verification.compare import compare_rows
from tieout.verification.localise import shape_of
from tieout.verification.rows import read_rows
from tieout.verification.work import DigestRange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.mariadb import MariaDB
    from tests.servers.sqlite import SqliteDatabase

LONG = 64 << 20
PACKET = 16 << 20
"""The max_allowed_packet that a MariaDB server begins with."""

Create = Callable[[str], "SqliteDatabase"]


@contextmanager
def packets_of(size: int, *servers: MariaDB) -> Iterator[None]:
    """For sessions that begin in the block."""
    for server in servers:
        server.execute(None, f"SET GLOBAL max_allowed_packet = {size}")
    try:
        yield
    finally:
        for server in servers:
            server.execute(None, f"SET GLOBAL max_allowed_packet = {PACKET}")


PAIRS = [
    ("sqlite", "text", 12 << 20),
    later(("sqlite", "text", LONG)),
    later(("sqlite", "blob", LONG)),
    later(("mariadb", "longblob", LONG)),
    later(("postgres", "bytea", LONG)),
]


@pytest.fixture(params=PAIRS, ids=lambda pair: "-".join(map(str, pair)))
def long_pair(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Iterator[tuple[Pair, str, Any]]:
    """Two tables that are the same but for the last byte of one value; how the value is read, and the target's."""
    engine, declared, size = request.param
    fixture = request.getfixturevalue
    if engine == "sqlite":
        create: Create = fixture("sqlite_db")
        pair, mark = Pair.of(create("source"), create("target"), tmp_path, spark), "?"
        servers: tuple[Any, ...] = ()
    else:
        names = ("mysql_db", "mysql_db_b") if engine == "mariadb" else ("pg_db", "pg_db_b")
        pair, mark = Pair.of(fixture(names[0]), fixture(names[1]), tmp_path, spark), "%s"
        servers = (fixture("mariadb"), fixture("mariadb_b")) if engine == "mariadb" else ()
    value: Any = "it is long" * (size // 10) if declared == "text" else random.Random(19).randbytes(size)
    other = value[:-1] + ("!" if declared == "text" else bytes([value[-1] ^ 1]))
    with packets_of(1 << 30, *servers):
        pair.both(f"CREATE TABLE t (id INT PRIMARY KEY, v {declared}, n INT)")
        for database, long in ((pair.source, value), (pair.target, other)):
            for row in ((1, value[:5], 1), (2, long, 2), (3, None, 3)):
                database.execute(f"INSERT INTO t VALUES ({mark}, {mark}, {mark})", *row)
        yield pair, "SELECT v FROM t WHERE id = 2", (value, other)


def test_a_long_value_differs_is_repaired_and_comes_back(long_pair: Any, tmp_path: Path) -> None:
    pair, statement, (value, other) = long_pair
    result = pair.verify("t")
    assert (result.verdict, result.tables[0].reason) == (Verdict.DIFFERENT, None)
    (difference,) = json.loads(result.to_json())["differences"]
    assert (difference["kind"], difference["key"], list(difference["columns"])) == ("changed", {"id": "2"}, ["v"])
    assert len(result.to_json()) < 10_000
    assert (tmp_path / "meta.db").stat().st_size < 1 << 20

    told = difference["truncated_values"]["columns"]["v"]
    assert [told[side]["length"] for side in ("source", "target")] == [len(value), len(other)]
    assert told["source"]["xxh3"] != told["target"]["xxh3"]
    assert difference["columns"]["v"]["source"] != difference["columns"]["v"]["target"]

    plan = pair.plan()
    assert (plan.updates, plan.changes, plan.skipped) == (1, 1, 0)
    applied = pair.apply()
    assert (applied.done, applied.equal, applied.messages) == (1, True, ())
    assert is_one(pair.target.rows(statement), value)
    assert pair.undo().done == 1
    assert is_one(pair.target.rows(statement), other)


def test_a_differing_value_of_64_mb_does_not_end_a_verification(
    sqlite_db: Create, tmp_path: Path, spark: SparkSession
) -> None:
    """In a table without a key, all of its row is what the difference names it by."""
    pair = Pair.of(sqlite_db("source"), sqlite_db("target"), tmp_path, spark)
    pair.both("CREATE TABLE t (n INT, v BLOB)")
    for database, end in ((pair.source, b"a"), (pair.target, b"b")):
        database.executemany("INSERT INTO t VALUES (?, ?)", [(1, b"x"), (2, bytes(LONG) + end)])
    result = pair.verify("t")
    assert {(d.kind.value, d.key["n"]) for d in result.differences} == {("missing", "2"), ("extra", "2")}
    document = json.loads(result.to_json())
    assert {d["truncated_values"]["key"]["v"]["length"] for d in document["differences"]} == {LONG + 1}
    assert len({d["truncated_values"]["key"]["v"]["xxh3"] for d in document["differences"]}) == 2
    assert len(result.to_json()) < 10_000


def is_one(rows: list[tuple[Any, ...]], value: Any) -> bool:
    """No report of a failed assertion shows them."""
    ((found,),) = rows
    return bool((found if isinstance(found, str) else bytes(found)) == value)


@pytest.fixture
def beyond_packets(mysql_db: Any, mysql_db_b: Any, mariadb: MariaDB, mariadb_b: MariaDB, tmp_path: Path) -> Pair:
    """Values that were written when the servers took longer packets than they do now."""
    pair = Pair.of(mysql_db, mysql_db_b, tmp_path)
    with packets_of(1 << 30, mariadb, mariadb_b):
        pair.both("CREATE TABLE documents (id INT PRIMARY KEY, doc JSON)")
        pair.both("CREATE TABLE texts (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT CHARACTER SET latin1, c LONGBLOB)")
        for database, end in ((pair.source, "a"), (pair.target, "b")):
            value = f"CONCAT('[\"', REPEAT('x', {PACKET}), '{end}\"]')"
            database.execute(f"INSERT INTO documents VALUES (1, {value}), (2, NULL)")
            database.execute(f"INSERT INTO texts VALUES (1, {value}, {value}, {value}), (2, NULL, NULL, NULL)")
    return pair


def test_what_a_servers_functions_make_null_of_differs_all_the_same(beyond_packets: Pair) -> None:
    pair = beyond_packets
    for table, columns in (("documents", {"doc"}), ("texts", {"a", "b", "c"})):
        with planned(pair.source.url, pair.target.url, TableRequest(table)) as plan:
            sides = (plan.source, plan.target)
            compared = compare_rows(shape_of(plan), *(read_rows(s.reader, s.scan, EVERYTHING) for s in sides))
            assert [(d.key["id"], set(d.columns)) for d in compared.differences()] == [("1", columns)]
    # Hashed as the servers send them, too, where a NULL would be the same on both sides.
    with planned(pair.source.url, pair.target.url, TableRequest("documents")) as plan:
        assert plan.as_sent
        digests = [
            next(DigestRange(side, EVERYTHING, as_sent=True).run()).digest for side in (plan.source, plan.target)
        ]
    assert digests[0] != digests[1]


def test_a_repair_refuses_what_the_server_would_make_null_of(beyond_packets: Pair) -> None:
    pair = beyond_packets
    pair.compare("documents")
    plan, applied = pair.plan(), pair.apply()
    assert (plan.changes + plan.skipped, applied.done) == (1, 0)
    (change,) = pair.changes()
    assert "max_allowed_packet" in (change.message or "")
    assert pair.target.rows("SELECT LENGTH(doc) FROM documents WHERE id = 1") == [(PACKET + 5,)]


def test_a_meta_store_that_can_not_keep_a_row_refuses_it_alone(
    sqlite_db: Create, mysql_db: Any, tmp_path: Path
) -> None:
    pair = Pair(sqlite_db("source"), sqlite_db("target"), mysql_db.url)
    pair.both("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    for database, end in ((pair.source, "a"), (pair.target, "b")):
        database.executemany("INSERT INTO t VALUES (?, ?)", [(1, end), (2, "x" * (9 << 20) + end)])
    pair.compare("t")
    assert pair.plan().updates == 1
    (refused,) = [change for change in pair.changes() if change.key == {"id": "2"}]
    assert "raise its max_allowed_packet" in (refused.message or "")
    assert pair.apply().done == 1


def test_a_row_whose_key_was_truncated_is_not_repaired(sqlite_db: Create, tmp_path: Path) -> None:
    pair = Pair.of(sqlite_db("source"), sqlite_db("target"), tmp_path)
    pair.both("CREATE TABLE t (k TEXT PRIMARY KEY, v INT)")
    pair.source.executemany("INSERT INTO t VALUES (?, ?)", [("x" * 100_000, 1), ("y", 1)])
    pair.target.executemany("INSERT INTO t VALUES (?, ?)", [("x" * 1_000, 2), ("y", 2)])
    pair.compare("t")
    plan = pair.plan()
    assert (plan.inserts, plan.updates, plan.deletes, plan.skipped) == (0, 1, 1, 1)
    assert "too long" in (next(c.message for c in pair.changes() if c.message) or "")


def test_what_a_check_finds_is_truncated_and_repaired_whole(
    sqlite_db: Create, tmp_path: Path, spark: SparkSession
) -> None:
    shop = sqlite_db("shop")
    shop.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, CONSTRAINT short CHECK (length(v) < 10))")
    with shop.connect() as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("INSERT INTO t VALUES (1, 'ok'), (2, ?), (3, ?)", ["x" * (1 << 20), "x" * (1 << 20) + "y"])
        connection.commit()
    repairing = Repairing(shop.url, tmp_path, spark)
    report = repairing.check("CHECK TABLE t CONSTRAINT short")
    assert [dict(each.primary_key or {}) for each in report.failures] == [{"id": "2"}, {"id": "3"}]
    assert len({each.details["v"] for each in report.failures}) == 2
    assert sum(len(each.details["v"] or "") for each in report.failures) < 5_000
    with open_store(repairing.meta) as store:
        (kept, _) = store.failures.of_job(report.job)
    assert failure_document(kept.failure)["truncated_values"]["details"]["v"]["length"] == 1 << 20

    shop.execute("UPDATE t SET v = 'short' WHERE id = 3")  # the check saw another value: it is left alone
    repairing.plan(report.job, "check_violation=delete")
    assert counts(repairing.apply()) == {"done": 1}
    assert shop.rows("SELECT id FROM t ORDER BY id") == [(1,), (3,)]
    assert counts(repairing.undo()) == {"done": 1}
    assert shop.rows("SELECT id, length(v) FROM t ORDER BY id") == [(1, 2), (2, 1 << 20), (3, 5)]
