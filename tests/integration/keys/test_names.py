"""Names that are reserved words, mixed case, with spaces, quotes, percent signs, braces or letters of any script."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.servers.sqlite import SqliteDatabase
from tests.variants import later
from tieout import api
from tieout.model.results import Strategy, Verdict, VerificationResult

NAMES = [
    "select",
    "Mixed Case",
    "with  spaces",
    'double"quote',
    "single'quote",
    "back`tick",
    "back\\slash",
    "naïve 名前 😀"[:8],
    "per%cent %s %(x)s",
    "br{ace}s {0}",
    "semi;colon -- x",
    "dot.ted",
    "*",
    "what?",
    "[a-z]",
    "$1",
    ":name",
    "id",
]
ENGINES = [("mariadb", "mariadb"), ("postgres", "postgres"), ("sqlite", "sqlite"), ("mariadb", "postgres")]
WAYS = [
    *(later(pair, Strategy.PULL) for pair in ENGINES[:2]),
    *((pair, Strategy.PULL) for pair in ENGINES[2:]),
    (ENGINES[0], Strategy.PUSHDOWN),
    later(ENGINES[1], Strategy.PUSHDOWN),
    (ENGINES[1], Strategy.NATIVE),
]


@pytest.fixture(scope="module")
def sides(mariadb: Any, mariadb_b: Any, postgres: Any, tmp_path_factory: Any) -> Iterator[Any]:
    """A table of each name, whose columns have that name too; the second of its rows differs on the target."""
    made: dict[tuple[str, str], tuple[Any, Any]] = {}
    with ExitStack() as stack:

        def get(pair: tuple[str, str]) -> tuple[Any, Any]:
            if pair not in made:
                made[pair] = (fresh(pair[0], mariadb), fresh(pair[1], mariadb_b))
                for engine, side, value in zip(pair, made[pair], ("before", "after"), strict=True):
                    fill(engine, side, value)
            return made[pair]

        def fresh(engine: str, mariadb_server: Any) -> Any:
            if engine == "sqlite":
                return SqliteDatabase(tmp_path_factory.mktemp("names") / "side.db")
            server = postgres if engine == "postgres" else mariadb_server
            return stack.enter_context(server.fresh_database())

        yield get


def fill(engine: str, database: Any, value: str) -> None:
    tick = "`" if engine == "mariadb" else '"'
    with database.connect() as connection:
        cursor = connection.cursor()
        for name in NAMES:
            quoted = tick + name.replace(tick, tick * 2) + tick
            key = tick + f"{name} key".replace(tick, tick * 2) + tick
            kind = "INTEGER" if engine == "sqlite" else "INT"
            cursor.execute(f"CREATE TABLE {quoted} ({key} {kind} PRIMARY KEY, {quoted} VARCHAR(20))")
            for number, text in ((1, "same"), (2, value)):
                cursor.execute(f"INSERT INTO {quoted} VALUES ({number}, '{text}')")


@pytest.mark.parametrize(("pair", "strategy"), WAYS, ids=str)
def test_every_table_is_compared_whatever_its_name(
    sides: Any, spark: Any, tmp_path: Any, pair: tuple[str, str], strategy: Strategy
) -> None:
    source, target = sides(pair)

    result = api.verify(
        source.url,
        target.url,
        spark=spark,
        meta=f"sqlite:///{tmp_path}/meta.db",
        strategy=strategy,
        chunk_rows=1,
        recheck_times=0,
    )

    assert sorted(table.table.split(".", 1)[1] for table in result.tables) == sorted(NAMES)
    for table in result.tables:
        name = table.table.split(".", 1)[1]
        (found,) = [d for d in result.differences if d.table == table.table]
        assert (table.verdict, table.strategy) == (Verdict.DIFFERENT, strategy), (name, table.reason)
        assert found.key == {f"{name} key": "2"}
        assert {column: (v.source, v.target) for column, v in found.columns.items()} == {name: ("before", "after")}


@pytest.mark.parametrize("name", [name for name in NAMES if "*" not in name and "?" not in name])
def test_a_table_is_found_by_its_name(sides: Any, spark: Any, tmp_path: Any, name: str) -> None:
    """Counted only: what is looked at is that the right table is."""
    source, target = sides(ENGINES[2])

    result: VerificationResult = api.verify(
        source.url, target.url, [name], spark=spark, meta=f"sqlite:///{tmp_path}/meta.db", counts_only=True
    )

    assert [(t.source_table, t.target_table) for t in result.tables] == [(f"main.{name}", f"main.{name}")]
