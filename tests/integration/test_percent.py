"""A database whose name holds %: it stands in URLs, in SQL that takes parameters, and in files' names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.servers.server import Database
from tests.servers.sqlite import SqliteDatabase
from tests.variants import later
from tieout import api
from tieout.model.failures import CheckVerdict, Status
from tieout.model.moves import Delivery
from tieout.model.requests import MoveRequest, TableRequest, VerifyRequest
from tieout.model.results import Strategy, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("100%s of %d", "%(half)s%25%")
"""Of source and target: formats of Python, an escape of URLs, and a lone %."""

PAIRS = {
    "mariadb-postgres": ("mariadb", "postgres"),
    "postgres-mariadb": ("postgres", "mariadb_b"),
    "mariadb-mariadb": ("mariadb", "mariadb_b"),
    "sqlite": None,
}


class Quoted(Database):
    @property
    def url(self) -> str:
        return self.server.url(quote(self.name, safe=""))


class QuotedFile(SqliteDatabase):
    @property
    def url(self) -> str:
        return f"sqlite:///{quote(str(self.path))}"


@pytest.fixture(params=[pair if pair == "mariadb-postgres" else later(pair) for pair in PAIRS])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    servers = PAIRS[request.param]
    if servers is None:
        files = tuple(QuotedFile(tmp_path / f"{name}.db") for name in NAMES)
        for file in files:
            file.execute("VACUUM")  # or there is none
        yield files
        return
    with ExitStack() as stack:
        made = []
        for fixture, name in zip(servers, NAMES, strict=True):
            server = request.getfixturevalue(fixture)
            server.create_database(name)
            stack.callback(server.drop_database, name)
            made.append(Quoted(server, name))
        yield tuple(made)


def test_a_percent_in_the_name(pair: tuple[Any, Any], spark: SparkSession, tmp_path: Path) -> None:
    source, target = pair
    meta = f"sqlite:///{quote(str(tmp_path))}/meta%25s.db"
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    source.execute("CREATE INDEX by_n ON t (n)")
    source.execute("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    tables = (TableRequest("t"),)
    move = MoveRequest("percent", source.url, target.url, tables, Delivery.EXACTLY_ONCE)
    found = api.preflight(VerifyRequest(source.url, target.url, tables), meta, move=move)
    assert found.exit_code == 0, found.problems

    def run() -> None:
        api.run_move(move, spark=spark, meta=meta, until_caught_up=True)

    try:
        run()
        source.execute("UPDATE t SET n = 21 WHERE id = 2")
        source.execute("INSERT INTO t VALUES (4, 40)")
        run()
        assert sorted(target.rows("SELECT id, n FROM t")) == [(1, 10), (2, 21), (3, 30), (4, 40)]
        target.execute("UPDATE t SET n = 99 WHERE id = 3")

        verified = api.verify(source.url, target.url, ["t"], spark=spark, meta=meta, recheck_times=0)
        assert verified.verdict is Verdict.DIFFERENT
        plan = api.plan_repair(verified.job, source.url, target.url, meta=meta).plan
        assert api.write_repair_sql(plan, source.url, target.url, StringIO(), meta=meta) == 1
        api.apply_repair(plan, source.url, target.url, meta=meta)
        for strategy in (Strategy.AUTO, Strategy.PULL):
            verified = api.verify(source.url, target.url, ["t"], spark=spark, meta=meta, strategy=strategy)
            assert verified.verdict is Verdict.EQUAL

        for database in pair:
            checked = api.check(database.url, "CHECK TABLE t", spark=spark, meta=meta)
            assert checked.verdict is not CheckVerdict.FAILURES
            # What PostgreSQL does not show without its extensions has nothing to do with names.
            left_out = [check.reason or "" for check in checked.checks if check.status is Status.NOT_CHECKED]
            assert all("pageinspect" in reason or "amcheck" in reason for reason in left_out), left_out
    finally:
        api.drop_move(move, meta)


@pytest.mark.parametrize("server", ["mariadb", "postgres"])
def test_a_percent_in_the_name_of_the_meta_store(server: str, request: pytest.FixtureRequest) -> None:
    database = Quoted(request.getfixturevalue(server), NAMES[0])
    database.server.create_database(database.name)
    try:
        assert api.list_jobs(meta=database.url) == []
        assert api.move_statuses(database.url) == []
    finally:
        database.server.drop_database(database.name)
