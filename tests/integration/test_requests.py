"""What is asked of a table, and tables that are not alike: one SQLite pair, one verification for all of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.servers.sqlite import SqliteDatabase
from tieout import api
from tieout.errors import UsageError
from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.requests import TableRequest
from tieout.model.results import Strategy, TableResult, Verdict, VerificationResult

SOURCE = """
CREATE TABLE filtered (id INTEGER PRIMARY KEY, region TEXT, v INT);
INSERT INTO filtered VALUES (1, 'eu', 1), (2, 'us', 2), (3, 'eu', 3);
CREATE TABLE renamed (id INTEGER PRIMARY KEY, region TEXT);
INSERT INTO renamed VALUES (1, 'eu'), (2, 'us');
CREATE TABLE listed (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT);
INSERT INTO listed VALUES (1, 'a', 'b', 'c');
CREATE TABLE computed (id INTEGER PRIMARY KEY, total REAL);
INSERT INTO computed VALUES (1, 10.0), (2, 20.0), (3, 30.5);
CREATE TABLE absolute (id INTEGER PRIMARY KEY, x REAL);
INSERT INTO absolute VALUES (1, 1.0), (2, 0.999), (3, 1.0), (4, 1.0), (5, NULL), (6, 1e300), (7, 9007199254740992);
CREATE TABLE relative (id INTEGER PRIMARY KEY, x REAL);
INSERT INTO relative VALUES (1, 1000.0), (2, 1000.0), (3, -1000.0), (4, 0.0), (5, 1e-300), (6, 1e300);
CREATE TABLE exact (id INTEGER PRIMARY KEY, n INT);
INSERT INTO exact VALUES (1, 1152921504606846976), (2, 1152921504606846976), (3, 10);
CREATE TABLE loose_tolerance (k TEXT, x REAL);
INSERT INTO loose_tolerance VALUES ('a', 1.0), ('b', 1.0), ('c', 'word'), ('d', NULL);
CREATE TABLE keyless (a INT, b TEXT);
INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (2, 'y'), (2, 'y'), (3, NULL), (4, 'z');
CREATE TABLE pairs (a INT, b TEXT);
INSERT INTO pairs VALUES (1, 'x'), (1, 'x'), (5, 'same');
CREATE TABLE doubled (k INT, v TEXT);
INSERT INTO doubled VALUES (1, 'a'), (1, 'b'), (2, 'c'), (3, 'd');
CREATE TABLE null_key (k INT UNIQUE, v TEXT);
INSERT INTO null_key VALUES (NULL, 'a'), (NULL, 'a'), (1, 'b');
CREATE TABLE empty_both (id INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE empty_there (id INTEGER PRIMARY KEY, v TEXT);
INSERT INTO empty_there VALUES (1, 'a'), (2, 'b');
CREATE TABLE empty_here (id INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE strangers (a INT);
CREATE TABLE more_columns (id INTEGER PRIMARY KEY, a TEXT, only_here TEXT);
INSERT INTO more_columns VALUES (1, 'a', 'x');
CREATE TABLE only_source (id INTEGER PRIMARY KEY);
CREATE TABLE moved (id INTEGER PRIMARY KEY, v TEXT);
INSERT INTO moved VALUES (1, 'a');
CREATE TABLE other_case (id INTEGER PRIMARY KEY, Name TEXT);
INSERT INTO other_case VALUES (1, 'a');
"""

TARGET = """
CREATE TABLE filtered (id INTEGER PRIMARY KEY, region TEXT, v INT);
INSERT INTO filtered VALUES (1, 'eu', 1), (2, 'us', 99), (3, 'eu', 3), (4, 'us', 4);
CREATE TABLE renamed (id INTEGER PRIMARY KEY, area TEXT);
INSERT INTO renamed VALUES (1, 'eu');
CREATE TABLE listed (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT);
INSERT INTO listed VALUES (1, 'a', 'other', 'other');
CREATE TABLE computed (id INTEGER PRIMARY KEY, price REAL, qty REAL, total REAL);
INSERT INTO computed VALUES (1, 2.5, 4.0, NULL), (2, 10.0, 2.0, NULL), (3, 30.0, 1.0, NULL);
CREATE TABLE absolute (id INTEGER PRIMARY KEY, x REAL);
INSERT INTO absolute VALUES (1, 1.001), (2, 1.0), (3, 1.0011), (4, NULL), (5, 0.0), (6, 1e299), (7, 9007199254740994);
CREATE TABLE relative (id INTEGER PRIMARY KEY, x REAL);
INSERT INTO relative VALUES (1, 1001.0), (2, 1002.0), (3, 1000.0), (4, 1e-300), (5, 1.0005e-300), (6, 1.0005e300);
CREATE TABLE exact (id INTEGER PRIMARY KEY, n INT);
INSERT INTO exact VALUES (1, 1152921504606846977), (2, 1152921504606846978), (3, 11);
CREATE TABLE loose_tolerance (k TEXT, x REAL);
INSERT INTO loose_tolerance VALUES ('a', 1.0005), ('b', 1.002), ('c', 1.0), ('d', 1.0);
CREATE TABLE keyless (a INT, b TEXT);
INSERT INTO keyless VALUES (1, 'x'), (2, 'y'), (2, 'y'), (2, 'y'), (3, ''), (4, 'z');
CREATE TABLE pairs (a INT, b TEXT);
INSERT INTO pairs VALUES (2, 'y'), (2, 'y'), (5, 'same');
CREATE TABLE doubled (k INT, v TEXT);
INSERT INTO doubled VALUES (1, 'a'), (1, 'c'), (2, 'c'), (3, 'other');
CREATE TABLE null_key (k INT UNIQUE, v TEXT);
INSERT INTO null_key VALUES (NULL, 'a'), (1, 'b');
CREATE TABLE empty_both (id INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE empty_there (id INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE empty_here (id INTEGER PRIMARY KEY, v TEXT);
INSERT INTO empty_here VALUES (1, 'a'), (2, 'b');
CREATE TABLE strangers (b INT);
CREATE TABLE more_columns (id INTEGER PRIMARY KEY, a TEXT, only_there TEXT);
INSERT INTO more_columns VALUES (1, 'a', 'y');
CREATE TABLE only_target (id INTEGER PRIMARY KEY);
CREATE TABLE moved_here (id INTEGER PRIMARY KEY, v TEXT);
INSERT INTO moved_here VALUES (1, 'b');
CREATE TABLE other_case (id INTEGER PRIMARY KEY, NAME TEXT);
INSERT INTO other_case VALUES (1, 'b');
"""

REQUESTS = [
    TableRequest("filtered", where="region = 'eu' OR region = 'nowhere' -- a comment"),
    TableRequest("renamed", source_where="region = 'eu'", target_where="area = 'eu'", columns=("id",)),
    TableRequest("listed", columns=("id", "a")),
    TableRequest("computed", columns=("id", "total"), expressions={"total": ("", "price * qty")}),
    TableRequest("absolute", tolerance={"x": "0.001"}),
    TableRequest("relative", tolerance={"x": "0.001 relative"}),
    TableRequest("exact", tolerance={"n": "1"}),
    TableRequest("loose_tolerance", key=("k",), tolerance={"x": "0.001"}),
    TableRequest("doubled", key=("k",)),
    TableRequest("moved", "moved_here"),
    TableRequest("*", exclude=("moved_here",)),
]


@pytest.fixture(scope="module")
def result(spark: Any, tmp_path_factory: Any) -> VerificationResult:
    path = tmp_path_factory.mktemp("requests")
    source, target = SqliteDatabase(path / "source.db"), SqliteDatabase(path / "target.db")
    source.execute(SOURCE)
    target.execute(TARGET)
    return api.verify(
        source.url,
        target.url,
        REQUESTS,
        spark=spark,
        meta=f"sqlite:///{path}/meta.db",
        strategy=Strategy.PULL,
        chunk_rows=2,
        recheck_times=0,
    )


def table(result: VerificationResult, name: str) -> TableResult:
    (found,) = [t for t in result.tables if t.table == f"main.{name}"]
    return found


def found(result: VerificationResult, name: str) -> list[Difference]:
    return sorted((d for d in result.differences if d.table == f"main.{name}"), key=lambda d: str(dict(d.key)))


def changed(result: VerificationResult, name: str) -> set[str | None]:
    return {next(iter(d.key.values())) for d in found(result, name) if d.kind == "changed"}


def test_only_rows_that_meet_the_condition(result: VerificationResult) -> None:
    assert table(result, "filtered").verdict is Verdict.EQUAL
    assert table(result, "filtered").rows.target == 2


def test_a_condition_for_each_side(result: VerificationResult) -> None:
    assert table(result, "renamed").verdict is Verdict.EQUAL
    assert table(result, "renamed").rows.source == 1


def test_only_columns_that_are_listed(result: VerificationResult) -> None:
    assert table(result, "listed").verdict is Verdict.EQUAL


def test_an_expression_on_one_side(result: VerificationResult) -> None:
    assert changed(result, "computed") == {"3"}
    (only,) = found(result, "computed")
    assert (only.columns["total"].source, only.columns["total"].target) == ("30.5", "30.0")


def test_an_absolute_tolerance(result: VerificationResult) -> None:
    """1.001 is just inside; 0.999 and 1.0 lie in two cells of the grid; NULL is near nothing."""
    assert changed(result, "absolute") == {"3", "4", "5", "6", "7"}


def test_a_relative_tolerance(result: VerificationResult) -> None:
    assert changed(result, "relative") == {"2", "3", "4"}


def test_a_tolerance_where_doubles_are_too_coarse(result: VerificationResult) -> None:
    """2^60 + 1 is within 1 of 2^60, 2^60 + 2 is not; as doubles all three are the same."""
    assert changed(result, "exact") == {"2"}
    (only,) = found(result, "exact")
    assert only.columns["n"].target == "1152921504606846978"


def test_a_tolerance_where_sides_do_not_sort_alike(result: VerificationResult) -> None:
    assert changed(result, "loose_tolerance") == {"b", "c", "d"}


def test_rows_without_a_key_are_counted(result: VerificationResult) -> None:
    assert table(result, "keyless").differences == DifferenceCounts(missing=2, extra=2)
    assert {(str(d.kind), *d.key.values(), d.copies) for d in found(result, "keyless")} == {
        ("missing", "1", "x", 1),
        ("extra", "2", "y", 1),
        ("missing", "3", None, 1),
        ("extra", "3", "", 1),
    }


def test_a_pair_of_equal_rows_for_another_pair(result: VerificationResult) -> None:
    assert {(str(d.kind), *d.key.values(), d.copies) for d in found(result, "pairs")} == {
        ("missing", "1", "x", 2),
        ("extra", "2", "y", 2),
    }
    assert table(result, "pairs").differences == DifferenceCounts(missing=2, extra=2)


def test_a_key_that_is_not_unique_is_told(result: VerificationResult) -> None:
    doubled = table(result, "doubled")

    assert doubled.differences == DifferenceCounts(missing=1, extra=1, changed=1)
    assert any("not unique" in note for note in doubled.notes)


def test_null_in_a_unique_key_makes_it_none(result: VerificationResult) -> None:
    (only,) = found(result, "null_key")

    assert (str(only.kind), dict(only.key), only.copies) == ("missing", {"k": None, "v": "a"}, 1)


def test_empty_tables(result: VerificationResult) -> None:
    assert table(result, "empty_both").verdict is Verdict.EQUAL
    assert table(result, "empty_there").differences == DifferenceCounts(missing=2)
    assert table(result, "empty_here").differences == DifferenceCounts(extra=2)


def test_tables_without_a_common_column_are_not_equal(result: VerificationResult) -> None:
    assert table(result, "strangers").verdict is Verdict.DIFFERENT


def test_a_column_on_one_side_makes_a_table_different(result: VerificationResult) -> None:
    only = table(result, "more_columns")

    assert only.verdict is Verdict.DIFFERENT
    assert {f.column for f in only.schema if f.breaks} == {"only_here", "only_there"}
    assert only.differences == DifferenceCounts()


@pytest.mark.parametrize("name", ["only_source", "only_target"])
def test_a_table_on_one_side_is_a_difference(result: VerificationResult, name: str) -> None:
    only = table(result, name)

    assert only.verdict is Verdict.DIFFERENT
    assert None in (only.source_table, only.target_table)


def test_a_table_under_another_name(result: VerificationResult) -> None:
    moved = table(result, "moved")

    assert (moved.source_table, moved.target_table) == ("main.moved", "main.moved_here")
    assert changed(result, "moved") == {"1"}


def test_column_names_meet_in_any_case(result: VerificationResult) -> None:
    assert changed(result, "other_case") == {"1"}


def test_no_table_was_forgotten(result: VerificationResult) -> None:
    asked = {request.source for request in REQUESTS} - {"*"}
    others = {"keyless", "pairs", "null_key", "strangers", "more_columns", "other_case", "only_source", "only_target"}

    assert {t.table.removeprefix("main.") for t in result.tables} == asked | others | {
        "empty_both",
        "empty_there",
        "empty_here",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        TableRequest("nowhere"),
        TableRequest("t", columns=("nothing",)),
        TableRequest("t", key=("nothing",)),
        TableRequest("t", tolerance={"nothing": "1"}),
        TableRequest("t", tolerance={"id": "much"}),
        TableRequest("t", tolerance={"id": "-1"}),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(spark: Any, tmp_path: Any, wrong: TableRequest) -> None:
    database = SqliteDatabase(tmp_path / "one.db")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")

    with pytest.raises(UsageError) as refused:
        api.verify(database.url, database.url, [wrong], spark=spark, meta=f"sqlite:///{tmp_path}/meta.db")
    assert refused.value.hint


def test_one_source_may_have_two_targets(spark: Any, tmp_path: Any) -> None:
    source, target = SqliteDatabase(tmp_path / "source.db"), SqliteDatabase(tmp_path / "target.db")
    source.execute("CREATE TABLE a (id INTEGER PRIMARY KEY); INSERT INTO a VALUES (1)")
    target.execute("CREATE TABLE b (id INTEGER PRIMARY KEY); INSERT INTO b VALUES (1)")
    target.execute("CREATE TABLE c (id INTEGER PRIMARY KEY)")
    both = [TableRequest("a", "b"), TableRequest("a", "c"), TableRequest("a", "b")]

    result = api.verify(
        source.url, target.url, both, spark=spark, meta=f"sqlite:///{tmp_path}/meta.db", recheck_times=0
    )

    assert [(t.target_table, t.verdict) for t in result.tables] == [
        ("main.b", Verdict.EQUAL),
        ("main.c", Verdict.DIFFERENT),
    ]
