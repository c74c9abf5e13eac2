"""The faults of the demo are what they say: these rows differ and no others."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tieout.demo.faults import Fault, Trace, inject_faults
from tieout.demo.shop import create_shop
from tieout.demo.story import DemoResult, FoundFault, Moved, missed_and_found
from tieout.model.differences import Difference, DifferenceKind, ValuePair
from tieout.model.results import Verdict, VerificationResult

KEYS = {"customers": ["id"], "orders": ["id"], "order_items": ["order_id", "line"], "events": ["id"]}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Fault]]:
    directory = tmp_path_factory.mktemp("shop")
    assert create_shop(directory / "source.db") == 100_000
    shutil.copyfile(directory / "source.db", directory / "target.db")
    return directory, inject_faults(directory / "target.db")


def test_exactly_the_rows_that_the_faults_name_differ(shop: tuple[Path, list[Fault]]):
    directory, faults = shop
    assert {fault.name for fault in faults} == {
        "lost update",
        "missing row",
        "rogue row",
        "truncated text",
        "shifted time zone",
    }
    expected = set().union(*(fault.traces for fault in faults))
    assert set(differing(directory)) == expected
    assert sum(len(fault.traces) for fault in faults) == len(expected), "no two faults share a row"


def differing(directory: Path) -> Iterator[Trace]:
    """What SQLite itself finds, column by column."""
    with closing(sqlite3.connect(directory / "source.db")) as connection:
        connection.execute("ATTACH ? AS t", (str(directory / "target.db"),))
        for table, key in KEYS.items():
            columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
            here, there = (keyed(connection, f"{schema}.{table}", key, columns) for schema in ("main", "t"))
            for values in here.keys() | there.keys():
                named = tuple(sorted((name, str(value)) for name, value in zip(key, values, strict=True)))
                a, b = here.get(values), there.get(values)
                kind = "missing" if b is None else "extra" if a is None else "changed"
                changed = [c for c, x, y in zip(columns, a or (), b or (), strict=False) if x != y]
                if kind != "changed" or changed:
                    yield f"main.{table}", DifferenceKind(kind), named, tuple(sorted(changed if a and b else ()))
        visits = [sorted(connection.execute(f"SELECT * FROM {s}.visits"), key=repr) for s in ("main", "t")]
        assert visits[0] == visits[1]


def keyed(connection: sqlite3.Connection, table: str, key: list[str], columns: list[str]) -> dict:
    places = [columns.index(name) for name in key]
    return {tuple(row[place] for place in places): row for row in connection.execute(f"SELECT * FROM {table}")}


FAULT = Fault("lost update", "a story", frozenset({("main.t", DifferenceKind.CHANGED, (("id", "1"),), ("v",))}))
FOUND = Difference("main.t", DifferenceKind.CHANGED, {"id": "1"}, {"v": ValuePair("a", "b")})


def result(*differences: Difference) -> VerificationResult:
    return VerificationResult(Verdict.DIFFERENT, "j", "a", "b", datetime.now(UTC), 1.0, (), differences)


@pytest.mark.parametrize(
    ("found", "seen", "unexpected"),
    [
        ([FOUND], True, 0),
        ([], False, 0),
        ([replace(FOUND, key={"id": "2"})], False, 1),
        ([replace(FOUND, columns={"w": ValuePair("a", "b")})], False, 1),
        ([FOUND, replace(FOUND, kind=DifferenceKind.EXTRA, columns={})], True, 1),
    ],
)
def test_a_fault_counts_as_found_only_if_it_is(found: list[Difference], seen: bool, unexpected: int):
    assert missed_and_found([FAULT], result(*found)) == ((FoundFault(FAULT, seen),), unexpected)


GOOD = DemoResult(Moved(1, 1, 1.0), (FoundFault(FAULT, True),), 0, True, 1, True, Path("r"), 1.0)


def test_the_demo_succeeds_only_if_all_of_it_did():
    assert GOOD.succeeded
    assert not replace(GOOD, faults=(FoundFault(FAULT, False),)).succeeded
    assert not replace(GOOD, faults=()).succeeded
    assert not replace(GOOD, unexpected=1).succeeded
    assert not replace(GOOD, equal_before=False).succeeded
    assert not replace(GOOD, equal_after=False).succeeded
