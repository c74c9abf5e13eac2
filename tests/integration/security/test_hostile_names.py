"""Databases full of hostile names are moved, verified, checked and repaired: all of it stays names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.integration.security.catalogs import Catalog, catalog, places
from tests.integration.security.hostile import WANTED, names
from tests.integration.security.layouts import (
    NAMES_OF_A_TABLE,
    Layout,
    MariaDB,
    Named,
    Postgres,
    SQLite,
    deletes,
    double,
    inserts,
    tables_of,
    updates,
)
from tests.servers.server import Database, Server
from tests.servers.sqlite import SqliteDatabase
from tests.variants import later
from tieout import api
from tieout.model.differences import DifferenceCounts
from tieout.model.failures import CheckReport, FailureKind
from tieout.model.moves import Delivery
from tieout.model.requests import MoveRequest
from tieout.model.results import Verdict, VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What is found is told by the seed; to shrink it would take an hour.
ONCE = settings(
    max_examples=1, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck), deadline=None
)
FEW, ALL = 3, 17
"""Tables: of twelve names each, and three for databases and schemas."""


@dataclass(frozen=True)
class Side:
    database: Any
    layout: Layout

    @property
    def url(self) -> str:
        name, url = self.database.name, self.database.url
        return self.layout.url(url if "sqlite" in url else url.removesuffix(name) + quote(name, safe=""))

    def run(self, *parts: Iterator[str]) -> None:
        with self.database.connect() as connection:
            cursor = connection.cursor()
            for statement in [each for part in parts for each in part]:
                cursor.execute(statement)

    @property
    def catalog(self) -> Catalog:
        return catalog(self.database)


@contextmanager
def named_database(server: Server, name: str, mark: str) -> Iterator[Database]:
    quoted = name.replace(mark, mark * 2)
    server.create_database(quoted)
    try:
        yield Database(server, name)
    finally:
        server.drop_database(quoted)


class Sides:
    """Makes databases for a test; they are gone when the block ends."""

    def __init__(self, fixture: Callable[[str], Any], stack: ExitStack, own: list[str]) -> None:
        self._fixture = fixture
        self._stack = stack
        self._own = own

    def side(self, engine: str, number: int) -> Side:
        if engine == "sqlite":
            directory: Path = self._fixture("tmp_path_factory").mktemp("hostile")
            return Side(SqliteDatabase(directory / "side.db"), SQLite())
        schema, others, database = self._own
        if engine == "postgres":
            name = f"{number} {database}"
            return Side(self._made("postgres", name, '"'), Postgres(schema, others))
        return Side(self._made(("mariadb", "mariadb_b")[number], f"{number} {database}", "`"), MariaDB(schema))

    def _made(self, server: str, name: str, mark: str) -> Database:
        return self._stack.enter_context(named_database(self._fixture(server), name, mark))


@dataclass(frozen=True)
class Hostile:
    source: Side
    target: Side
    tables: list[Named]
    spark: SparkSession
    meta: str

    @property
    def request(self) -> MoveRequest:
        return MoveRequest("hostile", self.source.url, self.target.url, delivery=Delivery.EXACTLY_ONCE)

    def move(self) -> None:
        status = api.run_move(self.request, spark=self.spark, meta=self.meta, until_caught_up=True)
        assert [table.stopped for table in status.tables] == [None] * len(self.tables), status

    def verify(self) -> VerificationResult:
        return api.verify(self.source.url, self.target.url, spark=self.spark, meta=self.meta, recheck_times=0)

    def repair(self, job: str) -> None:
        urls = self.source.url, self.target.url
        plan = api.plan_repair(job, *urls, meta=self.meta).plan
        api.write_repair_sql(plan, *urls, StringIO(), meta=self.meta)
        ended = api.apply_repair(plan, *urls, meta=self.meta)
        assert (ended.failed, ended.skipped) == (0, 0), ended

    def check(self, side: Side) -> None:
        """Keys were given by hand: sequences that are behind them are repaired, and all else is well."""
        found = self._checked(side)
        assert {each.kind for each in found.failures} <= {FailureKind.SEQUENCE_BEHIND}, found.failures
        if found.failures:
            plan = api.plan_check_repair(found.job, side.url, meta=self.meta).plan
            ended = api.apply_check_repair(plan, side.url, meta=self.meta)
            assert (ended.failed, ended.skipped) == (0, 0), ended
            assert not self._checked(side, "VALIDITY").failures

    def _checked(self, side: Side, what: str = "") -> CheckReport:
        statement = f"CHECK DATABASE {double(side.database.name)} {what}"
        return api.check(side.url, statement, spark=self.spark, meta=self.meta)

    def assert_equal(self) -> None:
        found = {table.table: (table.verdict, table.reason) for table in self.verify().tables}
        assert len(found) == len(self.tables)
        assert set(found.values()) == {(Verdict.EQUAL, None)}, found

    def assert_nothing_else(self, before: Catalog) -> None:
        """The source is as it was; the target has what the source has, and that alone."""
        assert self.source.catalog == before
        assert not [each for each in (*before, *self.target.catalog) if each[2] == WANTED]
        if type(self.source.layout) is type(self.target.layout):
            assert _own(self.target.catalog) == _own(before)
        else:
            assert places(self.target.catalog) == places(before)


def _own(found: Catalog) -> Catalog:
    """Without what is all the server's; a UNIQUE of SQLite becomes an index of that name."""
    here = {each for each in found if each[0] not in ("database", "user", "role")}
    return {each for each in here if not each[2].startswith(f"unique {each[1]} ")}


def play(hostile: Hostile, *, both: bool) -> None:
    """All that is done to two databases, in the order in which people do it. `both`: each of them is checked."""
    source, target, tables = hostile.source, hostile.target, hostile.tables
    checked = [source, target] if both else [target]
    source.run(iter(source.layout.schemas()), source.layout.made(tables), inserts(source.layout, tables, range(1, 4)))
    target.run(iter(target.layout.schemas()))
    before = source.catalog
    try:
        hostile.move()
        source.run(
            inserts(source.layout, tables, range(4, 7)),
            updates(source.layout, tables, 2, tables[0].table),
            deletes(source.layout, tables, 3),
        )
        hostile.move()
    finally:
        api.drop_move(hostile.request, hostile.meta)
    hostile.assert_nothing_else(before)

    target.run(deletes(target.layout, tables, 6), updates(target.layout, tables, 1, "spoilt"))
    spoilt = hostile.verify()
    assert {table.differences for table in spoilt.tables} == {DifferenceCounts(missing=1, changed=1)}, spoilt.tables
    hostile.repair(spoilt.job)
    hostile.assert_equal()
    for side in checked:
        hostile.check(side)
    hostile.assert_nothing_else(before)


PAIRS = [
    ("mariadb", "postgres"),
    later("postgres", "postgres"),
    later("sqlite", "sqlite"),
    later("postgres", "mariadb"),
    later("mariadb", "mariadb"),
]


def played(request: pytest.FixtureRequest, engines: tuple[str, str], seed: int, count: int) -> None:
    first, second, *others = names(Random(seed), 3 + count * NAMES_OF_A_TABLE)
    # The two that once left their quotes are names of tables, whatever the seed is.
    own, rest = others[:3], [first, *others[3:]]
    rest.insert(NAMES_OF_A_TABLE, second)
    with ExitStack() as stack:
        sides = Sides(request.getfixturevalue, stack, own)
        source, target = (sides.side(engine, number) for number, engine in enumerate(engines))
        meta = request.getfixturevalue("tmp_path_factory").mktemp("meta")
        spark = request.getfixturevalue("spark")
        play(Hostile(source, target, tables_of(rest), spark, f"sqlite:///{meta}/meta.db"), both=count > FEW)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(seed=st.integers(0, 2**32))
@ONCE
def test_names_stay_names(request: pytest.FixtureRequest, source: str, target: str, seed: int) -> None:
    played(request, (source, target), seed, FEW)


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(seed=st.integers(0, 2**32))
@settings(ONCE, max_examples=3)
def test_two_hundred_names_stay_names(request: pytest.FixtureRequest, source: str, target: str, seed: int) -> None:
    played(request, (source, target), seed, ALL)
