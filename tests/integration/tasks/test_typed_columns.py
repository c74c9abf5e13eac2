"""Columns that are typed beside a task: less than was asked for is never told as equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.conftest import sqlite_way
from tests.integration.tasks.tables import found, request_of, with_task
from tests.servers.sqlite import SqliteDatabase
from tests.variants import later
from tieout import api
from tieout.errors import UsageError
from tieout.model.requests import Meaning, Narrowing, TableRequest
from tieout.model.results import TableResult, Verdict, VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def files(sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from sqlite_way(sqlite_db, spark, tmp_path)


def narrowed(moving: Moving, meaning: Meaning = Meaning.MOVED, **typed: object) -> VerificationResult:
    request = replace(request_of(moving, meaning, recheck_times=0), narrowing=Narrowing(**typed))  # type: ignore[arg-type]
    return api.run_verification(request, spark=moving.spark, meta=moving.meta)


def table_of(moving: Moving, meaning: Meaning = Meaning.MOVED, **typed: object) -> TableResult:
    (table,) = narrowed(moving, meaning, **typed).tables
    return table


def told(table: TableResult) -> list[tuple[str, str]]:
    return [(each.column, each.reason) for each in table.unverified_columns]


LEFT_OUT = "the task leaves it out, so that nothing of it is compared"


@pytest.fixture
def renamed(files: Moving) -> Moving:
    """A source's column that the target has under another name, with another value in each row."""
    files.source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, client REAL, secret TEXT)")
    files.source.execute("INSERT INTO t VALUES (1, 1.0, 'a'), (2, 2.0, 'b')")
    files.target.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, customer REAL)")
    files.target.execute("INSERT INTO t VALUES (1, 1.5), (2, 2.5)")
    entry = TableRequest("t", exclude_columns=("client", "secret"), expressions={"customer": ("client", "")})
    return with_task(files, entry)


@pytest.mark.parametrize("name", ["client", "customer", "CLIENT"])
def test_a_renamed_column_may_be_typed_by_either_name(renamed: Moving, name: str) -> None:
    table = table_of(renamed, columns=("id", name))
    assert (table.verdict, table.differences.changed) == (Verdict.DIFFERENT, 2)
    assert table_of(renamed, exclude_columns=(name,)).verdict is Verdict.EQUAL
    assert table_of(renamed, tolerance={name: "1"}).verdict is Verdict.EQUAL
    keyed = narrowed(renamed, key=(name,))
    assert {kind for kind, _ in found(keyed)["t"]} == {"missing", "extra"}


def test_a_column_that_the_task_leaves_out_is_not_compared_in_silence(renamed: Moving) -> None:
    table = table_of(renamed, columns=("id", "secret"))
    assert (table.verdict, told(table)) == (Verdict.UNVERIFIED, [("secret", LEFT_OUT)])
    assert table_of(renamed, columns=("secret",)).verdict is Verdict.UNVERIFIED
    assert table_of(renamed, columns=("id", "secret"), exclude_columns=("secret",)).verdict is Verdict.EQUAL
    with pytest.raises(UsageError, match="no table of the task has a column sekret"):
        narrowed(renamed, columns=("id", "sekret"))


def test_two_columns_that_change_their_names_are_told_apart(files: Moving) -> None:
    files.source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b INT)")
    files.source.execute("INSERT INTO t VALUES (1, 1, 2)")
    files.target.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b INT)")
    files.target.execute("INSERT INTO t VALUES (1, 2, 7)")
    moving = with_task(files, TableRequest("t", expressions={"a": ("b", ""), "b": ("a", "")}))
    assert table_of(moving, exclude_columns=("a",)).verdict is Verdict.DIFFERENT
    assert table_of(moving, exclude_columns=("b",)).verdict is Verdict.EQUAL
    assert table_of(moving, columns=("a",)).verdict is Verdict.DIFFERENT  # the source's a is the target's b


@pytest.mark.parametrize("meaning", [each if each is Meaning.ENGINE else later(each) for each in Meaning])
def test_a_plain_column_may_be_typed_in_any_case(files: Moving, meaning: Meaning) -> None:
    files.source.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, "Note" REAL)')
    files.source.execute("INSERT INTO t VALUES (1, 1.0), (2, 2.0)")
    files.target.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, note REAL)")
    files.target.execute("INSERT INTO t VALUES (1, 1.5), (2, 2.5)")
    for name in ("Note", "note", "NOTE"):
        for entry, typed in (
            (TableRequest("t"), {"columns": ("id", name)}),
            (TableRequest("t", where="id > 0"), {"columns": ("id", name)}),
        ):
            moving = with_task(files, entry)
            if meaning is Meaning.ENGINE:
                moving, typed = with_task(files, replace(entry, **typed)), {}  # type: ignore[arg-type]
            assert table_of(moving, meaning, **typed).differences.changed == 2, name
        left_out, loose = TableRequest("t", exclude_columns=(name,)), TableRequest("t", tolerance={name: "1"})
        if meaning is not Meaning.MOVED:
            for entry in (left_out, loose):
                assert table_of(with_task(files, entry), meaning).verdict is Verdict.EQUAL
        if meaning is not Meaning.ENGINE:
            moving = with_task(files, TableRequest("t"))
            assert table_of(moving, meaning, exclude_columns=(name,)).verdict is Verdict.EQUAL
            assert table_of(moving, meaning, tolerance={name: "1"}).verdict is Verdict.EQUAL


@pytest.mark.parametrize("meaning", Meaning)
def test_the_key_is_compared_whatever_columns_are_typed(files: Moving, meaning: Meaning) -> None:
    """Without it, rows that change places would be equal."""
    for side, rows in ((files.source, "(1, 'a'), (2, 'b')"), (files.target, "(1, 'b'), (2, 'a')")):
        side.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, note TEXT); CREATE TABLE u (id INTEGER PRIMARY KEY)")
        side.execute(f"INSERT INTO t VALUES {rows}")
    moving = with_task(files, TableRequest("t"))
    if meaning is Meaning.ENGINE:
        moving, typed = with_task(files, TableRequest("t", columns=("note",))), {}
    else:
        typed = {"columns": ("note",)}
    table = table_of(moving, meaning, **typed)
    assert (table.verdict, table.differences.changed) == (Verdict.DIFFERENT, 2)
    # A table that has none of the columns has nothing to compare: its key alone is not what was asked for.
    moving = with_task(files, TableRequest("*", columns=("note",)) if meaning is Meaning.ENGINE else TableRequest("*"))
    verdicts = {table.source_table: table.verdict for table in narrowed(moving, meaning, **typed).tables}
    assert verdicts == {"main.t": Verdict.DIFFERENT, "main.u": Verdict.UNVERIFIED}


def test_rows_of_merged_tables_that_change_places(files: Moving) -> None:
    for number in (1, 2):
        files.source.execute(f"CREATE TABLE t_{number} (id INTEGER PRIMARY KEY, note TEXT)")
        files.source.execute(f"INSERT INTO t_{number} VALUES (7, 'of {number}')")
    files.target.execute("CREATE TABLE t (shard TEXT NOT NULL, id INT NOT NULL, note TEXT, PRIMARY KEY (shard, id))")
    files.target.execute("INSERT INTO t VALUES ('t_1', 7, 'of 2'), ('t_2', 7, 'of 1')")
    moving = with_task(files, TableRequest("t_*", "t", expressions={"shard": ("_table", "")}))
    for columns in (("id", "note"), ("note",)):
        table = table_of(moving, columns=columns)
        assert (table.verdict, table.differences.changed) == (Verdict.DIFFERENT, 2)


def test_a_task_that_is_not_moved_is_narrowed_too(files: Moving) -> None:
    for side, value in ((files.source, 1), (files.target, 2)):
        for name in ("t", "tmp_1", "audit"):
            side.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, a REAL, b REAL, c REAL)")
            side.execute(f"INSERT INTO {name} VALUES (1, {value}, {value}, {value})")
    entry = TableRequest("*", exclude=("audit",), exclude_columns=("a",), tolerance={"b": "5"})
    moving = with_task(files, entry)
    assert len(narrowed(moving, Meaning.SPARK).tables) == 2
    assert table_of(moving, Meaning.SPARK, exclude=("tmp_*",)).verdict is Verdict.DIFFERENT
    for typed in ({"exclude_columns": ("c",)}, {"tolerance": {"c": "5"}}):
        table = table_of(moving, Meaning.SPARK, exclude=("tmp_*",), **typed)
        assert (table.source_table, table.verdict) == ("main.t", Verdict.EQUAL)
    table = table_of(moving, Meaning.SPARK, exclude=("tmp_*",), columns=("id", "a"))
    assert (table.verdict, told(table)) == (Verdict.UNVERIFIED, [("a", LEFT_OUT)])
    chosen = with_task(files, TableRequest("t", columns=("b",), where="id > 0"))
    table = table_of(chosen, Meaning.SPARK, columns=("b", "c"))
    assert (table.verdict, told(table)) == (Verdict.DIFFERENT, [("c", LEFT_OUT)])


@pytest.mark.parametrize("meaning", [Meaning.SPARK, Meaning.ENGINE])
def test_a_column_that_no_table_of_a_pattern_has_is_refused(files: Moving, meaning: Meaning) -> None:
    for side in (files.source, files.target):
        side.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, note TEXT)")
    with pytest.raises(UsageError, match="no table has a column nota"):
        narrowed(with_task(files, TableRequest("*", columns=("id", "nota"))), meaning)


def test_a_column_that_only_the_target_has_is_a_difference_beside_a_computed_one(files: Moving) -> None:
    """A mapping computes columns, and chooses none."""
    files.source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, price INT, qty INT)")
    files.target.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, price INT, qty INT, total INT, note TEXT)")
    total = {"total": ("price * qty", "")}
    table = table_of(with_task(files, TableRequest("t", expressions=total)))
    assert (table.verdict, [(each.column, each.breaks) for each in table.schema]) == (
        Verdict.DIFFERENT,
        [("note", True)],
    )
    table = table_of(with_task(files, TableRequest("t", exclude_columns=("qty",), expressions=total)))
    assert (table.verdict, {(each.column, each.breaks) for each in table.schema}) == (
        Verdict.EQUAL,
        {("note", False), ("qty", False)},
    )


ENTRIES = {
    "plain": (TableRequest("t"), TableRequest("u")),
    "beside a filter": (TableRequest("t"), TableRequest("u", where="id > 0")),
    "a filter beside": (TableRequest("t", where="id > 0"), TableRequest("u")),
    "pattern": (TableRequest("*"),),
}
OFTEN = {("plain", Meaning.SPARK), ("beside a filter", Meaning.MOVED), ("pattern", Meaning.MOVED)}


@pytest.mark.parametrize(
    ("entries", "meaning"),
    [
        pytest.param(
            entries, meaning, id=f"{name}-{meaning}", marks=[] if (name, meaning) in OFTEN else pytest.mark.thorough
        )
        for name, entries in ENTRIES.items()
        for meaning in (Meaning.MOVED, Meaning.SPARK)
    ],
)
def test_a_typed_column_that_only_some_tables_have(
    files: Moving, meaning: Meaning, entries: tuple[TableRequest, ...]
) -> None:
    """It is no mistake, whatever the task says of the others: they have nothing to compare, or say what they lack."""
    for side in (files.source, files.target):
        side.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, total REAL)")
        side.execute("CREATE TABLE u (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO u VALUES (1, 'x')")
    files.source.execute("INSERT INTO t VALUES (1, 'x', 1.0)")
    files.target.execute("INSERT INTO t VALUES (1, 'x', 1.5)")
    moving = with_task(files, *entries)

    def both(**typed: object) -> tuple[TableResult, TableResult]:
        found = {table.source_table: table for table in narrowed(moving, meaning, **typed).tables}
        return found["main.t"], found["main.u"]

    t, u = both(columns=("total",))
    assert (t.verdict, t.differences.changed) == (Verdict.DIFFERENT, 1)
    assert (u.verdict, u.reason) == (Verdict.UNVERIFIED, "the two tables have no comparable column in common")
    t, u = both(columns=("id", "total"))
    assert (t.verdict, u.verdict) == (Verdict.DIFFERENT, Verdict.EQUAL)
    assert [(each.column, each.message, each.breaks) for each in (*t.schema, *u.schema)] == [
        ("total", "is on neither side", False)
    ]
    assert [table.verdict for table in both(exclude_columns=("total",))] == [Verdict.EQUAL] * 2
    assert [table.verdict for table in both(tolerance={"total": "1"})] == [Verdict.EQUAL] * 2
    t, u = both(key=("total",))
    assert (t.differences.missing, t.differences.extra) == (1, 1)
    assert (u.verdict, u.reason) == (Verdict.UNVERIFIED, "u has no column total for the key that was typed")
    if meaning is Meaning.SPARK:
        t, u = both(expressions={"total": ("round(total, 0)", "round(total - 0.5, 0)")})
        assert (t.verdict, u.verdict) == (Verdict.EQUAL, Verdict.EQUAL)
    for typed in ({"columns": ("id", "totl")}, {"tolerance": {"totl": "1"}}, {"expressions": {"totl": ("1", "1")}}):
        with pytest.raises(UsageError, match="no table of the task has a column totl"):
            both(**typed)


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
@pytest.mark.parametrize("where", [None, "id > 0"])
def test_a_tolerance_of_the_task_for_a_column_that_its_table_lacks(
    files: Moving, meaning: Meaning, where: str | None
) -> None:
    for side in (files.source, files.target):
        side.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, price REAL)")
    entry = TableRequest("t", where=where, tolerance={"prise": "0.1"})
    with pytest.raises(UsageError, match="t has no column prise"):
        narrowed(with_task(files, entry), meaning)
    moving = with_task(files, replace(entry, tolerance={"PRICE": "0.1"}), TableRequest("*", tolerance={"prise": "0.1"}))
    assert table_of(moving, meaning).verdict is Verdict.EQUAL


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
def test_a_column_that_has_got_another_type_ends_its_own_table(files: Moving, meaning: Meaning) -> None:
    """An expression that is wrong for any types is a mistake in the task, and ends all of it."""
    for side, at in ((files.source, "INTEGER"), (files.target, "DATE")):
        side.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, at {at})")
        side.execute("CREATE TABLE u (id INTEGER PRIMARY KEY, at DATE)")
    dated = "at > to_date('2024-01-01') AND date_add(at, 1) IS NOT NULL"
    found = {
        each.source_table: each for each in narrowed(with_task(files, TableRequest("*", where=dated)), meaning).tables
    }
    assert found["main.u"].verdict is Verdict.EQUAL
    assert "data type mismatch" in str(found["main.t"].reason)
    with pytest.raises(UsageError, match="nonsense"):
        narrowed(with_task(files, TableRequest("t", where="nonsense(at)"), TableRequest("u")), meaning)
