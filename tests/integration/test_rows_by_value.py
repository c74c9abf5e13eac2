"""Rows are the same if their values are, however an engine spells them: compared, rechecked and repaired alike."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tieout
from tests.integration.keys.looking import compared_twice, planned
from tests.integration.repairing import Pair
from tieout.model.differences import Difference, DifferenceKind
from tieout.model.keys import EVERYTHING
from tieout.model.requests import TableRequest
from tieout.verification.bucket_rows import CompareBuckets, ScanBuckets
from tieout.verification.compare import compare_rows
from tieout.verification.localise import Localised, Rechecking, shape_of
from tieout.verification.plan import TablePlan
from tieout.verification.rows import read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.sqlite import SqliteDatabase

Values = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Spelt:
    """A type on each side, and values that are equal: each as the source spells it and as the target does."""

    source: str
    target: str
    values: Values

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


DOCUMENTS: Values = (
    ('{"a": 1, "b": 1500}', '{"b": 1.5e3,  "a": 1.0}'),
    ('{"x": {"b": [], "a": [0.10]}}', '{"x":{"a":[1e-1],"b":[]}}'),
    ('["A\\u0042", "/", -0]', '["AB", "\\/", 0]'),
    ('["\\ud83d\\ude00"]', '["😀"]'),
    ("[123456789012345678901234567890]", "[1.2345678901234567890123456789e29]"),
)
SCALARS: Values = (("1500", "1.5e3"), ("0.10", "0.1"), ("true", " true "))
ELEMENTS: Values = (
    (r'{"{\"a\": 1, \"b\": 1500}",null}', r'{"{\"b\":1.5e3,\"a\":1}",null}'),
    (r'{{1500},{"\"x\""}}', r'{{1.5e3},{"\"\\u0078\""}}'),
    ("{}", "{}"),
)
UUIDS: Values = (("550E8400-E29B-41D4-A716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),)

CASES: dict[str, tuple[Spelt, ...]] = {
    "postgres": (
        Spelt("json", "json", DOCUMENTS + SCALARS),
        Spelt("jsonb", "jsonb", DOCUMENTS + SCALARS),
        Spelt("text", "jsonb", DOCUMENTS + SCALARS),
        Spelt("json[]", "json[]", ELEMENTS),
        Spelt("jsonb[]", "json[]", ELEMENTS),
        Spelt("numeric", "numeric", (("1.0", "1.00"), ("-0.0", "0"), ("1e3", "1000"))),
        Spelt("numeric[]", "numeric[]", (("{1.0,2.50}", "{1,2.5}"),)),
        Spelt("float8", "float8", (("-0", "0"), ("NaN", "nan"))),
        Spelt("real", "float8", (("-0", "0"), ("0.5", "0.50"))),
        Spelt("timestamptz", "timestamptz", (("2024-01-01 00:00+02", "2023-12-31 22:00+00"),)),
        Spelt("timestamptz[]", "timestamptz[]", (("{2024-01-01 00:00+02}", "{2023-12-31 22:00+00}"),)),
        Spelt("text", "timestamp", (("2024-01-01T00:00:00.500Z", "2024-01-01 00:00:00.5"),)),
        Spelt("interval", "interval", (("1 year", "12 mons"), ("90 minutes", "1:30:00"))),
        Spelt("char(5)", "varchar(9)", (("ab", "ab"),)),
        Spelt("bytea", "bytea", (("\\x41", "A"),)),
        Spelt("text", "uuid", UUIDS),
    ),
    "mariadb": (
        Spelt("json", "json", DOCUMENTS + SCALARS),
        Spelt("json", "longtext", DOCUMENTS + SCALARS),
        Spelt("decimal(10,2)", "decimal(20,6)", (("1.5", "1.50000"),)),
        Spelt("double", "double", (("-0e0", "0e0"),)),
        Spelt("datetime", "datetime(6)", (("2024-01-01", "2024-01-01 00:00:00.000000"),)),
        Spelt("char(5)", "varchar(5)", (("ab  ", "ab"),)),
        Spelt("set('a','b')", "set('b','a')", (("a,b", "b,a"),)),
        Spelt("char(36)", "uuid", UUIDS),
    ),
    "sqlite": (
        Spelt("json", "json", DOCUMENTS + SCALARS),
        Spelt("json", "text", DOCUMENTS + SCALARS),
        Spelt("decimal(10,2)", "decimal", (("1.5", "1.50"), ("1", "1.0"))),
        Spelt("real", "real", (("-0.0", "0.0"), ("1", "1.0"))),
        Spelt("datetime", "datetime", (("2024-01-01", "2024-01-01 00:00:00.0"), ("2024-01-01T00:00Z", "2024-01-01"))),
        Spelt("uuid", "text", UUIDS),
    ),
    "mariadb to postgres": (
        Spelt("json", "json", DOCUMENTS + SCALARS),
        Spelt("json", "jsonb", DOCUMENTS + SCALARS),
        Spelt("json", "int[]", (("[1.0,2]", "{1,2}"),)),
        Spelt("double", "float8", (("-0e0", "-0"),)),
        Spelt("time", "interval", (("90:00:00", "90 hours"),)),
    ),
    "postgres to sqlite": (
        Spelt("json", "json", DOCUMENTS),
        Spelt("timestamptz", "datetime", (("2024-01-01 02:00+02", "2024-01-01T00:00:00Z"),)),
    ),
}
DATABASES = {
    "postgres": ("pg_db", "pg_db_b"),
    "mariadb": ("mysql_db", "mysql_db_b"),
    "sqlite": ("source", "target"),
    "mariadb to postgres": ("mysql_db", "pg_db_b"),
    "postgres to sqlite": ("pg_db", "target"),
}


@pytest.fixture(params=list(DATABASES))
def spelt(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Pair, tuple[Spelt, ...]]:
    create: Callable[[str], Any] = request.getfixturevalue("sqlite_db")
    source, target = (request.getfixturevalue(n) if "_db" in n else create(n) for n in DATABASES[request.param])
    return Pair.of(source, target, tmp_path), CASES[request.param]


@pytest.mark.parametrize("key", ["", " PRIMARY KEY"], ids=["without a key", "with a key"])
def test_equal_values_are_no_difference_in_a_table_that_differs(spelt: Any, key: str) -> None:
    """Compared as ranges are, as buckets are, and looked at again: all three must say the same.

    One table, a column for each case; one row more on either side, so that the digests differ.
    """
    pair, cases = spelt
    for side, database in enumerate((pair.source, pair.target)):
        types = [(case.source, case.target)[side] for case in cases]
        columns = ", ".join(f"v{place} {declared}" for place, declared in enumerate(types))
        database.execute(f"CREATE TABLE t (id INT{key}, {columns})")
        spellings = [[values[side] for values in case.values] for case in cases]
        rows = [(place, *values) for place, values in enumerate(zip_longest(*spellings))]
        marks = ", ".join(["?" if database.url.startswith("sqlite") else "%s"] * (1 + len(cases)))
        database.executemany(f"INSERT INTO t VALUES ({marks})", [*rows, (100 + side, *[None] * len(cases))])
    with planned(pair.source.url, pair.target.url, TableRequest("t")) as plan:
        assert len(plan.columns) == 1 + len(cases)
        for found_by in (in_ranges, in_buckets, compared_twice):
            told = {(d.kind.value, d.key["id"], *d.columns) for d in found_by(plan).differences}
            assert told == {("missing", "100"), ("extra", "101")}, found_by.__name__


@dataclass(frozen=True)
class Found:
    differences: tuple[Difference, ...]


def in_ranges(plan: TablePlan) -> Found:
    source, target = (read_rows(side.reader, side.scan, EVERYTHING) for side in (plan.source, plan.target))
    return Found(tuple(compare_rows(shape_of(plan), source, target).differences()))


def in_buckets(plan: TablePlan) -> Localised:
    """What Spark does: rows of both sides to their buckets, and each bucket to one task."""
    buckets = plan.buckets or 64
    wanted = frozenset(range(buckets))
    sent = [
        (each.bucket, pickle.dumps(each.value))
        for is_source, side in ((True, plan.source), (False, plan.target))
        for each in ScanBuckets(side, is_source, EVERYTHING, 0, buckets, wanted).run()
    ]
    payloads = sorted(sent, key=lambda each: each[0])
    columns = {
        "bucket": pa.array([bucket for bucket, _ in payloads], pa.int32()),
        "payload": pa.array([payload for _, payload in payloads], pa.binary()),
    }
    compare = CompareBuckets(plan, shape_of(plan), None, Rechecking(0.0, 0, (None, None)))
    (batch,) = compare.run(iter([pa.RecordBatch.from_pydict(columns)]))
    result = pickle.loads(batch.column(0)[0].as_py())
    assert isinstance(result, Localised), result
    return result


@pytest.fixture
def files(sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path) -> Callable[..., Pair]:
    return lambda spark=None: Pair.of(sqlite_db("source"), sqlite_db("target"), tmp_path, spark)


def test_documents_of_many_levels_are_compared_by_value_too(files: Callable[..., Pair], spark: SparkSession) -> None:
    """How deep Python could go depended on how deep it was: a document was text in one stage and JSON in another."""
    pair = files(spark)
    pair.both("CREATE TABLE t (levels INT, doc JSON)")
    levels = range(200, 500, 20)
    for database, ends, other in (
        (pair.source, ('"x":1500', '"y":1'), "[]"),
        (pair.target, ('"y":1', '"x":1.5e3'), "[1]"),
    ):
        rows = [(n, '{"a":' * (n - 1) + "{" + ",".join(ends) + "}" * n) for n in levels]
        database.executemany("INSERT INTO t VALUES (?, ?)", [*rows, (0, other)])
    result = pair.verify("t")
    assert sorted((d.kind.value, d.key["levels"]) for d in result.differences) == [("extra", "0"), ("missing", "0")]


def test_frames_of_other_types_are_compared_by_value(spark: SparkSession) -> None:
    """Spark hashes them by their text; what that tells apart is compared by value."""
    a = spark.sql("SELECT 1 id, named_struct('a', 1, 'b', 1500) j, -0.0D x UNION ALL SELECT 2, NULL, 1D")
    b = spark.sql("""SELECT 1 id, '{"b":1.5e3,"a":1}' j, 0.0F x UNION ALL SELECT 3, NULL, 1F""")
    result = tieout.compare(a, b)
    assert {(d.kind.value, d.key["id"]) for d in result.differences} == {("missing", "2"), ("extra", "3")}


def test_a_key_with_a_tolerance_is_looked_up_by_its_cell(files: Callable[..., Pair]) -> None:
    """Found by its text, the target's row would be missing at the second look."""
    pair = files()
    pair.both("CREATE TABLE t (k REAL, v TEXT)")
    pair.source.execute("INSERT INTO t VALUES (1.04, 'a'), (2.04, 'same')")
    pair.target.execute("INSERT INTO t VALUES (1.06, 'b'), (2.06, 'same')")
    request = TableRequest("t", key=("k",), tolerance={"k": "0.1"})
    with planned(pair.source.url, pair.target.url, request) as plan:
        (difference,) = compared_twice(plan).differences
    assert (difference.kind, list(difference.columns)) == (DifferenceKind.CHANGED, ["v"])
    pair.compare(request)
    plan_made = pair.plan()
    assert plan_made.changes == 0
    assert "tolerance" in plan_made.unrepaired[0].reason


@pytest.fixture
def respelt(files: Callable[..., Pair]) -> Pair:
    """One row that only the source has and one that only the target has; by then, the other side has each of them."""
    pair = files()
    pair.both("CREATE TABLE t (at DATETIME PRIMARY KEY, v TEXT)")
    pair.source.execute("INSERT INTO t VALUES ('2024-01-01 00:00:00', 'v')")
    pair.target.execute("INSERT INTO t VALUES ('2024-01-02 00:00:00', 'v')")
    assert {kind for _, kind, *_ in pair.compare("t")} == {"missing", "extra"}
    pair.source.execute("INSERT INTO t VALUES ('2024-01-02T00:00Z', 'v')")
    pair.target.execute("INSERT INTO t VALUES ('2024-01-01T00:00Z', 'v')")
    return pair


def test_repair_inserts_and_deletes_no_row_that_is_there_in_another_spelling(respelt: Pair) -> None:
    before = respelt.target.rows("SELECT * FROM t ORDER BY 1")
    plan = respelt.plan()
    assert (plan.inserts, plan.deletes, plan.skipped) == (0, 0, 2)
    assert {change.message for change in respelt.changes()} == {
        "could not be looked up: a row has it in another spelling"
    }
    respelt.apply()
    assert respelt.target.rows("SELECT * FROM t ORDER BY 1") == before


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_repair_leaves_documents_alone_that_are_spelt_differently(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    source, target = (request.getfixturevalue(name) for name in DATABASES[engine])
    pair = Pair.of(source, target, tmp_path)
    for name, key in (("keyed", " PRIMARY KEY"), ("loose", "")):
        pair.both(f"CREATE TABLE {name} (id INT{key}, doc JSON, v INT)")
        pair.source.execute(f"""INSERT INTO {name} VALUES (1, '{{"a": 1, "b": 1500}}', 7), (2, '[]', 1)""")
        pair.target.execute(f"""INSERT INTO {name} VALUES (1, '{{"b": 1.5e3, "a": 1}}', 8), (2, '[ ]', 1)""")
    pair.compare("keyed", "loose")
    plan = pair.plan()
    assert (plan.inserts, plan.updates, plan.deletes) == (0, 1, 0)
    assert [change.new_row for change in pair.changes()] == [{"v": "7"}]
    assert "no key" in plan.unrepaired[0].reason
    assert pair.apply().equal
    assert found_texts(pair) == {'{"b": 1.5e3, "a": 1}', "[ ]"}


def found_texts(pair: Pair) -> set[str]:
    return {str(text).rstrip() for (text,) in pair.target.rows("SELECT CAST(doc AS CHAR(40)) FROM keyed")}
