"""A repair makes the target equal, whatever its columns hold; undone, the target is what it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.repair_tables import MARIADB, MARIADB_TO_POSTGRES, POSTGRES, SQLITE, Wide, faults
from tests.integration.repairing import Pair, found
from tieout.meta import ChangeState
from tieout.model.results import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OVERRIDE = "OVERRIDING SYSTEM VALUE"
TO_MARIADB = "SET time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES';"
TO_POSTGRES = "SET TimeZone = 'UTC';"

Case = tuple[Pair, Wide, str]


@pytest.fixture(params=["mariadb", "postgres", "mariadb to postgres", "sqlite"])
def case(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Case:
    """Two equal wide tables, and the statements that spoil the target's."""

    def of(source: str, target: str) -> Pair:
        return Pair.of(request.getfixturevalue(source), request.getfixturevalue(target), tmp_path, spark)

    if request.param == "sqlite":
        create: Callable[[str], Any] = request.getfixturevalue("sqlite_db")
        pair = Pair.of(create("source"), create("target"), tmp_path, spark)
        for side, database in enumerate((pair.source, pair.target)):
            database.execute(SQLITE.create(side))
            database.executemany(SQLITE.insert(side, "?"), SQLITE.rows)
        return pair, SQLITE, faults(SQLITE)
    if request.param == "mariadb":
        pair, wide = of("mysql_db", "mysql_db_b"), MARIADB
        fill_mariadb(pair.source, wide, 0)
        fill_mariadb(pair.target, wide, 1)
        return pair, wide, TO_MARIADB + faults(wide)
    if request.param == "postgres":
        pair, wide = of("pg_db", "pg_db_b"), POSTGRES
        fill_postgres(pair.source, wide, 0)
    else:
        pair, wide = of("mysql_db", "pg_db_b"), MARIADB_TO_POSTGRES
        fill_mariadb(pair.source, wide, 0)
    fill_postgres(pair.target, wide, 1)
    return pair, wide, TO_POSTGRES + faults(wide, OVERRIDE)


def fill_mariadb(database: Any, wide: Wide, side: int) -> None:
    database.execute(wide.create(side))
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute(TO_MARIADB.rstrip(";"))
        cursor.executemany(wide.insert(side, "%s"), wide.rows)


def fill_postgres(database: Any, wide: Wide, side: int) -> None:
    database.execute(wide.create(side))
    rows = wide.rows if wide is POSTGRES else [_for_postgres(wide, row) for row in wide.rows]
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute(TO_POSTGRES)
        cursor.executemany(wide.insert(side, "%s", OVERRIDE), rows)


def _for_postgres(wide: Wide, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of MariaDB's, in which some types spell their values differently."""
    spell: dict[str, Callable[[Any], Any]] = {
        "boolean": bool,
        "bit(9)": lambda value: format(value, "09b"),
        "int[]": lambda value: value.replace("[", "{").replace("]", "}"),
        "uuid": lambda value: value.hex() if isinstance(value, bytes) else value,
    }
    columns = zip(wide.columns, row, strict=True)
    return tuple(None if v is None else spell.get(column[2], lambda value: value)(v) for column, v in columns)


def test_equal_tables_have_nothing_to_repair(case: Case) -> None:
    pair, _, _ = case
    result = pair.verify("wide")
    assert (result.verdict, found(result)) == (Verdict.EQUAL, set()), result.to_json()
    assert pair.plan().changes == 0


def test_apply_makes_equal_and_undo_brings_the_differences_back(case: Case) -> None:
    pair, wide, spoil = case
    pair.target.execute(spoil)
    before, spoiled = pair.verify("wide"), dump(pair, wide)
    assert {(d.kind, d.key["id"]) for d in before.differences} == {
        ("missing", "0"), ("missing", "2"), ("extra", "100"), ("extra", "101"), ("extra", "-102"),
        ("changed", "3"), ("changed", "4"), ("changed", "5"),
    }  # fmt: skip

    plan = pair.plan()
    assert (plan.deletes, plan.updates, plan.inserts, plan.skipped, plan.complete) == (3, 3, 2, 0, True)
    assert dump(pair, wide) == spoiled, "planning changed something"

    applied = pair.apply()
    assert (applied.done, applied.skipped, applied.failed, applied.messages) == (8, 0, 0, ())
    assert applied.equal
    assert pair.verify("wide").verdict is Verdict.EQUAL

    undone = pair.undo()
    assert (undone.done, undone.skipped, undone.failed) == (8, 0, 0)
    assert dump(pair, wide) == spoiled
    assert found(pair.verify("wide")) == found(before)


def test_the_file_of_statements_makes_equal(case: Case) -> None:
    pair, _, spoil = case
    pair.target.execute(spoil)
    pair.verify("wide")
    pair.plan()
    statements = pair.statements()
    assert "p@ss" not in statements
    pair.target.execute(statements)
    result = pair.verify("wide")
    assert result.verdict is Verdict.EQUAL, result.to_json()
    # Applied after all, the plan finds its work done, and by somebody else.
    applied = pair.apply()
    assert (applied.done, applied.skipped, applied.equal) == (0, 8, True)


def test_a_row_that_changes_after_the_plan_is_left_alone(case: Case) -> None:
    pair, wide, spoil = case
    pair.target.execute(spoil)
    pair.verify("wide")
    pair.plan()
    column = wide.written(1)[-1]
    pair.target.execute(f"UPDATE wide SET {column} = NULL WHERE id IN (3, 100)")
    override = OVERRIDE if OVERRIDE in spoil else ""
    pair.target.execute(f"INSERT INTO wide (id) {override} VALUES (2)")
    changed = dump(pair, wide, "WHERE id IN (2, 3, 100)")

    applied = pair.apply()
    assert (applied.done, applied.skipped, applied.failed) == (5, 3, 0)
    assert dump(pair, wide, "WHERE id IN (2, 3, 100)") == changed
    assert {d.key["id"] for d in applied.differences} == {"2", "3", "100"}
    assert applied.different == 3
    skipped = [change for change in pair.changes() if change.state is ChangeState.SKIPPED]
    assert {change.message for change in skipped} == {"the target's row has changed since the plan was made"}


def dump(pair: Pair, wide: Wide, where: str = "") -> list[tuple[Any, ...]]:
    """The target's rows, all of each, as its driver or its own text gives them."""
    names = [wide.name(column[0], 1) for column in wide.columns]
    if wide.quote[1] == '"' and wide is not SQLITE:
        names = [f"{name}::text" for name in names]
    elif wide is SQLITE:
        names += [f"typeof({name})" for name in names]
    else:
        names = [f"HEX({n})" if n in ("`ge`", "`bt`") else f"CAST({n} AS DOUBLE)" if n == "`fl`" else n for n in names]
    return pair.target.rows(f"SELECT {', '.join(names)} FROM wide {where} ORDER BY id")
