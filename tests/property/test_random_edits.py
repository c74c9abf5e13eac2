"""A random SQLite table with random edits: the differences are those edits, and nothing else.

SQLite keeps values of any class in any column, so a table may hold what its declaration does not promise.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.servers.sqlite import SqliteDatabase
from tieout import api
from tieout.canonical.decode import decode
from tieout.canonical.fingerprint import fingerprints
from tieout.config.urls import parse_url
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.registry import open_endpoint
from tieout.connectors.sqlite.endpoint import logical_type
from tieout.connectors.sqlite.snapshot import array_of
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.differences import Difference
from tieout.model.keys import EVERYTHING, KeyRange
from tieout.model.requests import TableRequest, VerifyRequest
from tieout.model.results import Strategy
from tieout.model.tables import Column
from tieout.verification.compare import compare_rows
from tieout.verification.localise import shape_of
from tieout.verification.plan import TablePlan
from tieout.verification.plan_tables import plan_tables
from tieout.verification.rows import read_rows
from tieout.verification.work import DigestRange

DECLARED = (
    "INT",
    "REAL",
    "TEXT",
    "BLOB",
    "DECIMAL(9,2)",
    "NUMERIC",
    "BOOLEAN",
    "DATE",
    "DATETIME",
    "TIME",
    "UUID",
    "JSON",
    "",
)

words = st.sampled_from(
    ["", " ", "a", "A", "a ", "é", "NULL", "0", "1", "1.0", "2024-01-01", "2024-01-01 10:00:00", "null", "\0"]
)
values = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | words
    | st.binary(max_size=3)
)
"""SQLite makes NULL of NaN by itself."""

rows = st.tuples(words | st.none(), values, values)
tables = st.dictionaries(st.integers(-50, 50), rows, max_size=25)


@dataclass(frozen=True)
class Edits:
    """A table before and after: some rows changed in one column, some gone, some new."""

    before: dict[int, tuple[Any, ...]]
    after: dict[int, tuple[Any, ...]]


@st.composite
def edited(draw: st.DrawFn) -> Edits:
    before = draw(tables)
    after = dict(before)
    for key in draw(st.lists(st.sampled_from(sorted(before)), unique=True, max_size=5)) if before else []:
        if draw(st.booleans()):
            del after[key]
        else:
            place = draw(st.integers(0, 2))
            after[key] = (*after[key][:place], draw(values), *after[key][place + 1 :])
    for key, row in draw(st.dictionaries(st.integers(51, 60), rows, max_size=3)).items():
        after[key] = row
    return Edits(before, after)


def fill(path: Path, table: dict[int, tuple[Any, ...]], *, keyed: bool) -> SqliteDatabase:
    database = SqliteDatabase(path)
    key = "id INTEGER PRIMARY KEY" if keyed else "id BIGINT"
    with database.connect() as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(f"CREATE TABLE t ({key}, word TEXT, x BLOB, y BLOB)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(key, *row) for key, row in table.items()])
        if not keyed:  # every other row twice
            connection.execute("INSERT INTO t SELECT * FROM t WHERE id % 2 = 0")
        connection.execute("COMMIT")
    return database


def plan_of(source: SqliteDatabase, target: SqliteDatabase) -> TablePlan:
    with closing(open_endpoint(parse_url(source.url))) as left, closing(open_endpoint(parse_url(target.url))) as right:
        (table,) = plan_tables(left, right, VerifyRequest(source.url, target.url, (TableRequest("t"),)))
    assert table.plan is not None
    return table.plan


def stored(database: SqliteDatabase) -> dict[int, tuple[Any, ...]]:
    """Each row as SQLite keeps it, the class of each value included."""
    found = database.rows("SELECT id, word, x, y, typeof(word), typeof(x), typeof(y) FROM t")
    return {
        row[0]: tuple((v + 0.0 if isinstance(v, float) else v, c) for v, c in zip(row[1:4], row[4:], strict=True))
        for row in found
    }


def expected(source: SqliteDatabase, target: SqliteDatabase) -> set[tuple[str, str, frozenset[str]]]:
    before, after = stored(source), stored(target)
    found = {("missing", str(key), frozenset()) for key in before.keys() - after.keys()}
    found |= {("extra", str(key), frozenset()) for key in after.keys() - before.keys()}
    for key in before.keys() & after.keys():
        names = {n for n, a, b in zip(("word", "x", "y"), before[key], after[key], strict=True) if a != b}
        if names:
            found.add(("changed", str(key), frozenset(names)))
    return found


def told(differences: Any) -> set[tuple[str, str, frozenset[str]]]:
    return {(str(d.kind), str(d.key["id"]), frozenset(d.columns)) for d in differences}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Edits], tuple[SqliteDatabase, SqliteDatabase]]:
    path = tmp_path_factory.mktemp("edits")

    def make(edits: Edits, *, keyed: bool = True) -> tuple[SqliteDatabase, SqliteDatabase]:
        return fill(path / "before.db", edits.before, keyed=keyed), fill(path / "after.db", edits.after, keyed=keyed)

    return make


@settings(max_examples=50)
@given(edits=edited())
def test_the_differences_of_two_tables_are_the_edits(files: Any, edits: Edits) -> None:
    source, target = files(edits)
    plan = plan_of(source, target)
    left = read_rows(plan.source.reader, plan.source.scan, EVERYTHING)
    right = read_rows(plan.target.reader, plan.target.scan, EVERYTHING)

    found = compare_rows(shape_of(plan), left, right)

    assert told(found.differences()) == expected(source, target)
    assert found.counts.total == len(found.pairs)


@settings(max_examples=50)
@given(edits=edited(), cut=st.integers(-50, 60))
def test_digests_differ_exactly_where_rows_do(files: Any, edits: Edits, cut: int) -> None:
    source, target = files(edits)
    plan = plan_of(source, target)
    differing = {int(key) for _, key, _ in expected(source, target)}

    for keys, is_in in (
        (EVERYTHING, lambda key: True),
        (KeyRange(None, (str(cut),)), lambda key: key < cut),
        (KeyRange((str(cut),), None), lambda key: key >= cut),
    ):
        (left,), (right,) = DigestRange(plan.source, keys).run(), DigestRange(plan.target, keys).run()
        assert (left.digest != right.digest) == any(map(is_in, differing))


@settings(max_examples=50)
@given(edits=edited())
def test_without_a_key_rows_are_counted(files: Any, edits: Edits) -> None:
    """A changed row is one missing and one extra; the number of copies is what counts."""
    source, target = files(edits, keyed=False)
    plan = plan_of(source, target)
    left = read_rows(plan.source.reader, plan.source.scan, EVERYTHING)
    right = read_rows(plan.target.reader, plan.target.scan, EVERYTHING)

    found = list(compare_rows(shape_of(plan), left, right).differences())

    wanted = expected(source, target)
    for kind, others in (("missing", ("missing", "changed")), ("extra", ("extra", "changed"))):
        copies = {str(d.key["id"]): d.copies for d in found if d.kind == kind}
        assert copies == {key: 2 - int(key) % 2 for k, key, _ in wanted if k in others}


@pytest.mark.parametrize("declared", DECLARED)
@given(batch=st.lists(values, min_size=1, max_size=5))
def test_a_value_does_not_depend_on_the_others_in_its_batch(declared: str, batch: list[Any]) -> None:
    """Whatever class the others are of. (This is about values as SQLite gives them, after its own conversions.)"""
    kind = common_kind(logical_type(declared), logical_type(declared))
    assert isinstance(kind, Kind)
    column = ScanColumn(Column("c", logical_type(declared)), kind)
    together = decode(kind, array_of(column, batch))
    prints = fingerprints([together])

    for row, value in enumerate(batch):
        alone = decode(kind, array_of(column, [value]))
        assert alone.text(0) == together.text(row)
        assert (fingerprints([alone])[0] == prints[row]).all()


@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "keyless"])
@settings(max_examples=3, phases=[Phase.generate])
@given(edits=edited())
def test_the_whole_way_through_spark(files: Any, spark: Any, tmp_path_factory: Any, keyed: bool, edits: Edits) -> None:
    source, target = files(edits, keyed=keyed)
    meta = f"sqlite:///{tmp_path_factory.mktemp('meta')}/meta.db"

    result = api.verify(
        source.url, target.url, ["t"], spark=spark, meta=meta, strategy=Strategy.PULL, chunk_rows=7, recheck_times=0
    )

    wanted = expected(source, target)
    found: tuple[Difference, ...] = result.differences
    if keyed:
        assert told(found) == wanted
    else:
        assert {key for _, key, _ in told(found)} == {key for _, key, _ in wanted}
    assert result.exit_code == (1 if wanted else 0)
