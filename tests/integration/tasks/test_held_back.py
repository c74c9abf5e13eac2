"""Tables for which Spark refuses the task's expressions by now, or that are late: they hold no others back."""

from __future__ import annotations

from tests.integration.moving.ahead import prevents
from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import by_target, request_of, verified, with_task
from tieout import api
from tieout.model.requests import TableRequest
from tieout.model.results import Verdict

TABLE = "CREATE TABLE {} (id INT PRIMARY KEY, price {})"


def run(moving: Moving) -> dict[str, str | None]:
    """Why each table was stopped. A preflight finds nothing that prevents it, before and after."""
    for at in ("before", "after"):
        found = api.preflight(request_of(moving), moving.meta, move=moving.request, spark=moving.spark)
        assert prevents(found) == {}, at
        if at == "before":
            status = moving.run()
    return {table["source"].split(".")[1]: table["stopped"] for table in status["tables"]}


def prices(moving: Moving, table: str) -> list[int]:
    return sorted(int(price) for (price,) in moving.target.rows(f"SELECT price FROM {table}"))


def test_a_column_changes_to_a_type_that_spark_lacks(mariadb_to_postgres: Moving) -> None:
    moving = with_task(mariadb_to_postgres, TableRequest("*", where="price > 5"))
    for name in ("first", "second"):
        moving.source.execute(TABLE.format(name, "INT"))
        moving.source.execute(f"INSERT INTO {name} VALUES (1, 9), (2, 1)")
    assert run(moving) == {"first": None, "second": None}
    moving.source.execute("ALTER TABLE second MODIFY price DECIMAL(50,2)")
    for price in (10, 11):
        moving.source.execute(f"INSERT INTO first VALUES ({price}, {price})")
        stopped = run(moving)
        assert (stopped["first"], "price was changed" in (stopped["second"] or "")) == (None, True)
    assert prices(moving, "first") == [9, 10, 11]
    verdicts = {name: table.verdict for name, table in by_target(verified(moving)).items()}
    assert verdicts == {"first": Verdict.EQUAL, "second": Verdict.UNVERIFIED}


def test_late_tables_that_spark_refuses(mariadb_to_postgres: Moving) -> None:
    """They came while no mover ran. One that fits joins."""
    moving = with_task(mariadb_to_postgres, TableRequest("*", where="price > 5"))
    moving.source.execute(TABLE.format("first", "INT"))
    moving.source.execute("INSERT INTO first VALUES (1, 9)")
    assert run(moving) == {"first": None}
    for name, kind, price in (("huge", "DECIMAL(50,2)", 8), ("placed", "POINT", None), ("small", "INT", 7)):
        moving.source.execute(TABLE.format(name, kind))
        if price:
            moving.source.execute(f"INSERT INTO {name} VALUES (1, {price})")
    for price in (10, 11):
        moving.source.execute(f"INSERT INTO first VALUES ({price}, {price})")
        stopped = run(moving)
        assert (stopped["first"], stopped["small"]) == (None, None)
        assert "Spark has no type for" in str(stopped["huge"])
        assert stopped["placed"] is not None
    assert (prices(moving, "first"), prices(moving, "small")) == ([9, 10, 11], [7])


def test_a_late_shard_that_is_like_another(mariadb_to_postgres: Moving) -> None:
    moving = with_task(
        mariadb_to_postgres, TableRequest("o_*", "public.o", expressions={"shard": ("substr(_table, 3, 1)", "")})
    )
    moving.source.execute(TABLE.format("o_a1", "INT"))
    assert run(moving) == {"o_a1": None}
    moving.source.execute(TABLE.format("o_a0", "INT"))
    for number in (1, 2):
        moving.source.execute(f"INSERT INTO o_a1 VALUES ({number}, {number})")
        stopped = run(moving)
        assert (stopped["o_a1"], "could not be distinguished" in (stopped["o_a0"] or "")) == (None, True)
    assert prices(moving, "o") == [1, 2]
