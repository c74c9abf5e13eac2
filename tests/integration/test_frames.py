"""Two DataFrames compared: what is equal is called equal, and every fault is found and named."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as fn

import tieout
from tests.integration.frames.stores import found_in, write_parquet
from tests.integration.frames.table import FAULTS, Crowd, Fault
from tieout import TieoutError, VerificationResult
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.tables import TableName
from tieout.spark.frames.endpoint import describe_frame
from tieout.spark.frames.spark_hash import SparkHash, bucket_sums, hashable
from tieout.spark.frames.values import selected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def frame(spark: SparkSession) -> Any:
    """Makes a frame of a SELECT."""
    return spark.sql


def rows(spark: SparkSession, values: list[tuple[Any, ...]], schema: str) -> DataFrame:
    return spark.createDataFrame(values, schema)


def counts(result: VerificationResult) -> tuple[int, int, int]:
    found = result.tables[0].differences
    return found.missing, found.extra, found.changed


CROWD = Crowd(FAULTS)


@pytest.fixture(scope="module")
def frames(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[DataFrame, DataFrame]:
    """The wide table with all faults, as Parquet."""
    directory = tmp_path_factory.mktemp("frames")
    source, target = CROWD.sides()
    write_parquet(directory / "a", source)
    write_parquet(directory / "b", target, files=3)
    a, b = (spark.read.parquet(str(directory / side)) for side in "ab")
    return a, b


@pytest.fixture(scope="module")
def compared(frames: tuple[DataFrame, DataFrame]) -> VerificationResult:
    return tieout.compare(*frames, key=["id"])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_is_found_and_named(compared: VerificationResult, fault: Fault) -> None:
    found = CROWD.of(fault, found_in(compared))
    if "doc" in fault.columns:
        # JSON in a string column of both sides is text, and compared as it is written.
        assert [columns for _, _, columns in found] == [
            frozenset({("doc", '{"n": 9007199254740993}', '{"n": 9007199254740992}')})
        ]
    else:
        assert found == CROWD.found(fault)


def test_the_whole_is_told(compared: VerificationResult) -> None:
    (table,) = compared.tables
    source, target = CROWD.sides()
    assert (table.verdict, table.strategy) == ("different", "native")
    assert (table.rows.source, table.rows.target) == (len(source), len(target))
    assert table.differences.total == len(compared.differences) == sum(len(fault.found) for fault in FAULTS)


def test_each_fault_alone_changes_the_digest_of_its_table(frames: tuple[DataFrame, DataFrame]) -> None:
    """Each fault's rows as a table of one bucket: none may hide behind another that is in the same bucket."""
    digests = []
    for ours, theirs in (frames, frames[::-1]):
        table = describe_frame(TableName("frame", "a"), ours)
        columns = tuple(ScanColumn(c, common_kind(c.type, c.type)) for c in table.columns)  # type: ignore[arg-type]
        rows = selected(ours, Scan(table, columns)).withColumn("fault", fn.expr("(c0 + 10) div 100"))
        types = [field.dataType for field in theirs.schema.fields]
        sums = bucket_sums(SparkHash(Scan(table, columns), types, 42).hashed(rows), "fault", buckets=1)
        digests.append({row.fault: tuple(row)[2:] for row in sums.collect()})
    differing = {fault.name for number, fault in enumerate(FAULTS) if digests[0][number] != digests[1][number]}
    assert differing == {fault.name for fault in FAULTS if fault.found}


def test_equal_rows_replaced_by_other_equal_rows(spark: SparkSession) -> None:
    """A digest that cancels would not see it; without a key, copies are counted."""
    a = rows(spark, [("x", 1), ("x", 1), ("z", None)], "a string, b int")
    b = rows(spark, [("y", 2), ("y", 2), ("z", None)], "a string, b int")
    result = tieout.compare(a, b)
    assert {(d.kind.value, d.key["a"], d.copies) for d in result.differences} == {
        ("missing", "x", 2),
        ("extra", "y", 2),
    }
    assert counts(result) == (2, 2, 0)


def test_a_third_copy_is_missed(spark: SparkSession) -> None:
    a = rows(spark, [("x",), ("x",), ("x",)], "a string")
    b = rows(spark, [("x",), ("x",)], "a string")
    assert counts(tieout.compare(a, b)) == (1, 0, 0)
    assert tieout.compare(a, a).verdict == "equal"


def test_rows_of_a_key_that_is_not_unique_are_a_multiset(spark: SparkSession) -> None:
    a = rows(spark, [(1, "same"), (1, "mine"), (2, "x")], "id int, v string")
    b = rows(spark, [(1, "same"), (1, "yours"), (2, "x")], "id int, v string")
    result = tieout.compare(a, b, key="id")
    assert counts(result) == (1, 1, 0)
    assert "not unique" in result.tables[0].notes[0]


@pytest.mark.thorough
def test_300_random_exchanges_of_values_between_rows(spark: SparkSession) -> None:
    """Each row is exchanged with at most one other, so each exchange is two changed rows."""
    chance = random.Random(7)
    source = [[n, chance.randint(-5, 5), chance.random(), f"t{n}", f"u{n % 7}"] for n in range(1200)]
    target = [list(row) for row in source]
    partners = chance.sample(range(1200), 600)
    expected = set()
    for left, right in zip(partners[::2], partners[1::2], strict=True):
        column = chance.choice([c for c in range(1, 5) if source[left][c] != source[right][c]])
        target[left][column], target[right][column] = source[right][column], source[left][column]
        expected |= {left, right}
    schema = "id bigint, a int, x double, t string, u string"
    a, b = (rows(spark, [tuple(row) for row in side], schema) for side in (source, target))
    result = tieout.compare(a, b, key=["id"])
    assert {int(d.key["id"] or "") for d in result.differences} == expected
    assert counts(result) == (0, 0, 600)
    assert counts(tieout.compare(a, b)) == (600, 600, 0)


def test_columns_on_one_side_make_it_different(spark: SparkSession) -> None:
    a = rows(spark, [(1, 2)], "id int, only_a int")
    b = rows(spark, [(1, 2)], "id int, only_b int")
    result = tieout.compare(a, b, key="id")
    assert result.verdict == "different"
    assert {f.column for f in result.tables[0].schema if f.breaks} == {"only_a", "only_b"}
    assert tieout.compare(a, b, key="id", columns=["id"]).verdict == "equal"


def test_what_can_not_be_compared_is_unverified(frame: Any) -> None:
    a = frame("SELECT 1 id, 5 n, parse_json('1') v")
    b = frame("SELECT 1 id, 'five' n, parse_json('1') v")
    result = tieout.compare(a, b, key="id")
    assert result.verdict == "unverified"
    assert [column.column for column in result.tables[0].unverified_columns] == ["n", "v"]


CONFUSED = (
    ("array(array('a', 'b'), array())", "array(array('a'), array('b'))"),
    ("array(1, NULL)", "array(1)"),
    ("array('1')", "array('1', '')"),
    ("array(array(1), array(2))", "array(array(1, 2))"),
    ("named_struct('a', 1, 'b', NULL)", "named_struct('a', NULL, 'b', 1)"),
    ("map('a', 'b')", "map('a', CAST(NULL AS STRING))"),
    ("map(named_struct('a', 1), 2)", "map(named_struct('a', 2), 2)"),
    ("array(TIMESTAMP'2024-01-01 00:00:00.000001')", "array(TIMESTAMP'2024-01-01')"),
    ("array(DATE'0001-01-01')", "array(DATE'0000-01-01')"),
    ("'[1]'", "array(2)"),
    ("'A' COLLATE UTF8_LCASE", "'a' COLLATE UTF8_LCASE"),
    ("CAST(X'ff' AS STRING)", "CAST(X'fe' AS STRING)"),
    ("double('NaN')", "CAST(NULL AS DOUBLE)"),
    ("interval '1' day", "interval '25' hour"),
    ("interval '1' month", "interval '2' month"),
    ("TIMESTAMP'2024-01-01 00:00:00Z'", "TIMESTAMP_NTZ'2024-01-01 01:00:00'"),
    ("CAST(1 AS DECIMAL(38,0))", "CAST(1.5 AS DECIMAL(38,18))"),
    ("ARRAY(CAST(X'ff' AS STRING))", "ARRAY(CAST(X'fe' AS STRING))"),
    ("ARRAY(CAST(X'ff' AS STRING))", "ARRAY('\\u0000invalid ff')"),
    ("ARRAY('\\u0000\\u0000invalid ff')", "ARRAY('\\u0000invalid ff')"),
)
"""Values that a plain hash of a row takes for the same, or that a conversion to a common type would."""

SAME = (
    ("map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"),
    ("array(map('a', array(1), 'b', array(2)))", "array(map('b', array(2), 'a', array(1)))"),
    ("""'{"b": [1.0, 2], "a": null}'""", "named_struct('a', CAST(NULL AS INT), 'b', array(1, 2))"),
    ("double('-0.0')", "0.0D"),
    ("float('NaN')", "double('NaN')"),
    ("CAST(1.50 AS DECIMAL(38,30))", "CAST(1.5 AS DECIMAL(30,1))"),
    ("5", "CAST(5 AS DECIMAL(38,0))"),
    ("DATE'2024-01-01'", "TIMESTAMP_NTZ'2024-01-01'"),
    ("X'61ff'", "X'61ff'"),
    ("CAST(NULL AS STRING)", "CAST(NULL AS STRING)"),
)
"""Two spellings of one value."""


def side(frame: Any, pairs: tuple[tuple[str, str], ...], number: int) -> DataFrame:
    return frame("SELECT 1 id, " + ", ".join(f"{pair[number]} v{place}" for place, pair in enumerate(pairs)))


def test_values_that_are_confused_elsewhere(frame: Any) -> None:
    a, b = side(frame, CONFUSED, 0), side(frame, CONFUSED, 1)
    (difference,) = tieout.compare(a, b, key="id").differences
    assert list(difference.columns) == [f"v{place}" for place in range(len(CONFUSED))]
    assert tieout.compare(a, a, key="id").verdict == "equal"


def test_values_that_are_confused_elsewhere_hash_apart(frame: Any) -> None:
    """Each pair for itself: in a whole row any one of them would make up for the others."""
    a, b = side(frame, CONFUSED, 0), side(frame, CONFUSED, 1)
    both = describe_frame(TableName("x", "a"), a), describe_frame(TableName("x", "b"), b)
    hashes = []
    for ours, theirs in ((a, b), (b, a)):
        values = []
        for place in range(1, len(CONFUSED) + 1):
            kind = common_kind(*(table.columns[place].type for table in both))
            assert isinstance(kind, Kind)
            name, types = ours.columns[place], (ours.schema[place].dataType, theirs.schema[place].dataType)
            values.append(fn.xxhash64(fn.col(name).isNull(), *hashable(fn.col(name), kind, *types)))
        hashes.append(tuple(ours.select(*values).collect()[0]))
    assert [place for place, (x, y) in enumerate(zip(*hashes, strict=True)) if x == y] == []


def test_two_spellings_of_one_value(frame: Any) -> None:
    a, b = side(frame, SAME, 0), side(frame, SAME, 1)
    assert tieout.compare(a, b, key="id").differences == ()
    assert tieout.compare(b, a, key="id").verdict == "equal"


def test_a_tolerance(spark: SparkSession) -> None:
    a = rows(spark, [(1, 1.0), (2, 2.0), (3, 0.0), (4, 100.0), (5, None)], "id int, x double")
    b = rows(spark, [(1, 1.0009), (2, -0.5), (3, -0.0005), (4, 100.01), (5, None)], "id int, x double")
    absolute = tieout.compare(a, b, key="id", tolerance={"x": 0.001})
    assert {d.key["id"] for d in absolute.differences} == {"2", "4"}
    relative = tieout.compare(a, b, key="id", tolerance={"x": "0.001 relative"})
    assert {d.key["id"] for d in relative.differences} == {"2", "3"}


@pytest.mark.parametrize("declared", ["bigint", "decimal(20)", "decimal(30,2)"])
def test_a_tolerance_where_doubles_are_too_coarse(spark: SparkSession, declared: str) -> None:
    """2^60 + 1 is within 1 of 2^60, 2^60 + 2 is not; as doubles all three are the same."""
    a, b = (
        spark.sql(
            f"SELECT id, CAST(x AS {declared}) x FROM VALUES (1, {2**60 + first}), (2, {2**60 + second}) t(id, x)"
        )
        for first, second in ((0, 0), (1, 2))
    )
    found = tieout.compare(a, b, key="id", tolerance={"x": 1})
    assert [d.key["id"] for d in found.differences] == ["2"]


def test_the_limit_cuts_the_list_and_not_the_counts(spark: SparkSession) -> None:
    a = spark.range(500).selectExpr("id", "id AS v")
    b = spark.range(500).selectExpr("id", "id + 1 AS v")
    result = tieout.compare(a, b, key="id", limit=10)
    assert (len(result.differences), result.truncated, counts(result)) == (10, True, (0, 0, 500))


def test_columns_of_any_name(spark: SparkSession) -> None:
    names = ["select", "a b", "a.b", "Ünï`cødé", '"quoted"', "x;DROP TABLE t--", ""]
    a = spark.createDataFrame([(1, *"xxxxxxx")], ["id", *names])
    b = spark.createDataFrame([(1, *"yyyyyyy")], ["id", *names])
    (difference,) = tieout.compare(a, b, key="id").differences
    assert list(difference.columns) == names


def test_a_key_that_no_column_has(spark: SparkSession) -> None:
    with pytest.raises(TieoutError, match="no comparable column nope"):
        tieout.compare(spark.range(1), spark.range(1), key="nope")


def test_importing_tieout_loads_no_spark() -> None:
    code = "import sys, tieout; tieout.VerificationResult; tieout.verify; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
