"""Expressions that would mean something else than they say: preflight and run refuse them before anything is made."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import by_target, request_of, verified, with_task
from tests.variants import later
from tieout import api
from tieout.errors import TieoutError, UsageError
from tieout.model.preflight import Severity
from tieout.model.requests import Meaning, TableRequest
from tieout.model.results import Verdict

WAYS = pytest.mark.parametrize("moving", ["postgres-mariadb", later("mariadb-postgres")], indirect=True)

WAYS_OF_POSTGRES = pytest.mark.parametrize("moving", ["postgres-postgres", later("postgres-mariadb")], indirect=True)
OF_NUMBERS = pytest.mark.parametrize("moving", ["mariadb-postgres", later("postgres-postgres")], indirect=True)


def refused(moving: Moving, *tables: TableRequest) -> str:
    """What run says, which preflight says, too. Nothing was created."""
    moving = with_task(moving, *tables)
    found = api.preflight(request_of(moving), moving.meta, move=moving.request, spark=moving.spark)
    problems = [problem.message for problem in found.problems if problem.severity is Severity.PREVENTS]
    with pytest.raises(TieoutError) as error:
        moving.run()
    assert any(error.value.message in problem or problem in error.value.message for problem in problems), problems
    made = moving.target.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = "
        + (f"'{moving.target.name}'" if moving.target.server.scheme == "mysql" else "'public'")
    )
    assert not [name for (name,) in made if not name.startswith("tieout_")], "a table was created"
    return error.value.message


def numbers(moving: Moving) -> None:
    """Numbers that Spark's decimals can't hold."""
    big = "DECIMAL(40,2)" if moving.source.server.scheme == "mysql" else "numeric"
    moving.source.execute(f"CREATE TABLE o (id INT PRIMARY KEY, a {big}, b {big})")
    moving.source.execute("INSERT INTO o VALUES (1, 9, 10), (2, 10, 9), (3, 1.5, 1.25), (4, -1, -2)")


@OF_NUMBERS
def test_numbers_are_not_compared_as_texts(moving: Moving) -> None:
    numbers(moving)
    words = refused(moving, TableRequest("o", where="a > b"))
    assert "Spark has no type for" in words
    assert "would compare its values as texts" in words
    refused(moving, TableRequest("o", expressions={"most": ("greatest(a, b)", "")}))
    cast = "CAST(a AS DECIMAL(38, 2)) > CAST(b AS DECIMAL(38, 2)) AND a IS NOT NULL"
    moving = with_task(moving, TableRequest("o", where=cast))
    moving.run()
    assert sorted(moving.target.rows("SELECT id FROM o")) == [(2,), (3,), (4,)]
    assert by_target(verified(moving))["o"].verdict is Verdict.EQUAL


@OF_NUMBERS
def test_a_verification_alone_refuses_them_too(moving: Moving) -> None:
    numbers(moving)
    numbers(replace(moving, source=moving.target))
    moving = with_task(moving, TableRequest("o", where="a > b"))
    with pytest.raises(UsageError, match="would compare its values as texts"):
        api.run_verification(request_of(moving, Meaning.SPARK), spark=moving.spark, meta=moving.meta)


@WAYS_OF_POSTGRES
def test_numbers_whose_digits_stand_elsewhere(moving: Moving) -> None:
    """PostgreSQL has numbers that are rounded to hundreds, and numbers that are all below 0.01."""
    moving.source.execute("CREATE TABLE o (id INT PRIMARY KEY, a NUMERIC(5,-2), b NUMERIC(3,5))")
    moving.source.execute("INSERT INTO o VALUES (1, 12345, 0.00999), (2, 99, 0.001), (3, NULL, NULL)")
    for text, column in (("a > 100", r"o\.a"), ("b * 2 > 0", r"o\.b")):
        words = refused(moving, TableRequest("o", where=text))
        assert re.search(rf"Spark has no type for \S*{column} \(numeric\(", words), words
    expressions = {"c": ("CAST(a AS BIGINT) + 1", ""), "d": ("CAST(b AS DECIMAL(10,5)) * 2", ""), "e": ("a", "")}
    entry = TableRequest("o", where="CAST(a AS BIGINT) > 100", exclude_columns=("a", "b"), expressions=expressions)
    moving.target.execute("CREATE TABLE o (id INT PRIMARY KEY, c BIGINT, d DECIMAL(12,5), e TEXT)")
    moving = with_task(moving, entry)
    moving.run()
    assert [(c, float(d), e) for c, d, e in moving.target.rows("SELECT c, d, e FROM o")] == [(12301, 0.01998, "12300")]
    assert by_target(verified(moving))["o"].verdict is Verdict.EQUAL


@WAYS
@pytest.mark.parametrize(
    "condition",
    ["row_number() OVER (ORDER BY id) <= 3", "id IN (SELECT 1)", "EXISTS (SELECT 1)", "lag(id) OVER (ORDER BY id) = 1"],
)
def test_conditions_about_other_rows(moving: Moving, condition: str) -> None:
    moving.source.execute("CREATE TABLE o (id INT PRIMARY KEY)")
    assert "its value depends on more than its row" in refused(moving, TableRequest("o", where=condition))


@WAYS
def test_types_that_no_new_column_has(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE o (id INT PRIMARY KEY)")
    words = refused(moving, TableRequest("o", expressions={"c": ("array(id, id)", "")}))
    assert "Tieout creates no column for Spark's type array<bigint>" in words
    assert "has no column other" in refused(moving, TableRequest("o", where="other.id = 1"))


@WAYS
def test_computed_columns_that_merged_tables_have_in_two_types(moving: Moving) -> None:
    for name, price in (("o_1", "DECIMAL(10,2)"), ("o_2", "DECIMAL(10,2)"), ("o_3", "DECIMAL(12,2)")):
        moving.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, price {price})")
    texts = {"shard": ("_table", ""), "twice": ("price * 2", "")}
    words = refused(moving, TableRequest("o_*", "o", exclude_columns=("price",), expressions=texts))
    assert re.search(r"o_1 and \S*o_3 would both go to .*twice is decimal\(\d+,2\) in one and decimal\(\d+,2\)", words)


@WAYS
def test_shards_that_could_not_be_told_apart(moving: Moving) -> None:
    for name in ("o_a", "o_y"):
        moving.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT)")
    tables = [TableRequest(name, "o", expressions={"shard": ("substr(_table, 1, 2)", "")}) for name in ("o_a", "o_y")]
    words = refused(moving, *tables)
    assert "could not be distinguished" in words
    assert "both have shard = o_" in words
    tables = [replace(table, expressions={"shard": ("concat(_table, id)", "")}) for table in tables]
    assert "no column of its key is computed from _table or _schema alone" in refused(moving, *tables)


@WAYS
@pytest.mark.parametrize("late", ["o_a2", "o_a0"])
def test_a_late_shard_that_could_not_be_told_apart_is_stopped(moving: Moving, late: str) -> None:
    """The later one, whatever their names are."""
    moving.source.execute("CREATE TABLE o_a1 (id INT PRIMARY KEY)")
    moving.source.execute("CREATE TABLE o_b1 (id INT PRIMARY KEY)")
    moving.source.execute("INSERT INTO o_a1 VALUES (1)")
    moving = with_task(moving, TableRequest("o_*", "o", expressions={"shard": ("substr(_table, 3, 1)", "")}))
    moving.run()
    moving.source.execute(f"CREATE TABLE {late} (id INT PRIMARY KEY)")
    moving.source.execute(f"INSERT INTO {late} VALUES (1)")
    status = moving.run()
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in status["tables"]}
    assert "both have shard = a" in stopped[late]
    assert (stopped["o_a1"], stopped["o_b1"]) == (None, None)
    assert moving.target.rows("SELECT shard, id FROM o") == [("a", 1)]


@WAYS
def test_a_shard_s_name_in_a_column_of_numbers(moving: Moving) -> None:
    for name in ("o_1", "o_2"):
        moving.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY)")
    moving.target.execute("CREATE TABLE o (shard INT, id INT, PRIMARY KEY (shard, id))")
    moving = with_task(moving, TableRequest("o_*", "o", expressions={"shard": ("_table", "")}))
    found = api.preflight(request_of(moving), moving.meta, move=moving.request, spark=moving.spark)
    (problem,) = (problem for problem in found.problems if problem.severity is Severity.PREVENTS)
    assert "o_1: the task computes 'o_1' for shard, whose type is int" in problem.message
    assert "CAST(substr(_table" in str(problem.fix)
    with pytest.raises(UsageError, match="the task computes 'o_1' for shard"):
        moving.run()
    long = "CAST(substr(_table, 3) AS BIGINT) + 9007199254740991"  # two numbers that a double does not distinguish
    moving = with_task(moving, TableRequest("o_*", "o", expressions={"shard": (long, "")}))
    found = api.preflight(request_of(moving), moving.meta, move=moving.request, spark=moving.spark)
    assert not [problem for problem in found.problems if "could not be distinguished" in problem.message]
