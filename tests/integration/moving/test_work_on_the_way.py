"""Row filters, column expressions, chosen columns and merged tables: on the copy and on changes alike."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.integration.moving.pairs import ONE_WAY, Moving, remarks_of
from tests.integration.moving.troubles import arrived, followed, until
from tests.variants import later
from tieout.errors import SparkFailure, TieoutError, UsageError
from tieout.model.moves import STOPPED_IN_PART, Consistency, Delivery
from tieout.model.requests import TableRequest

SALES = "CREATE TABLE sales (id INT PRIMARY KEY, region VARCHAR(20), price DECIMAL(10,2), qty INT, note TEXT)"
TOTALS = (
    "CREATE TABLE totals (id INT PRIMARY KEY, region VARCHAR(20), total DECIMAL(12,2) NOT NULL, note TEXT, "
    "origin VARCHAR(40))"
)
TABLE = TableRequest(
    "sales",
    "totals",
    where="region = 'eu' AND qty > 0",
    exclude_columns=("price", "qty"),
    expressions={"total": ("price * qty", ""), "origin": ("concat(_table, ':', upper(region))", "")},
)
EXPECTED = (
    "SELECT id, region, price * qty AS total, note, 'sales:EU' AS origin FROM sales WHERE region = 'eu' AND qty > 0"
)


def asking(moving: Moving, *tables: TableRequest, **options: object) -> Moving:
    moving = moving.asking(**options)
    return replace(moving, request=replace(moving.request, tables=tables))


def both(moving: Moving, expected: str, found: str) -> tuple[list[object], list[object]]:
    return sorted(moving.source.rows(expected), key=repr), sorted(moving.target.rows(found), key=repr)


@ONE_WAY
def test_a_filter_and_expressions(moving: Moving) -> None:
    source, target = moving.source, moving.target
    source.execute(SALES)
    target.execute(TOTALS)
    for number in range(1, 41):
        region = "'eu'" if number % 2 else "'us'" if number % 4 else "NULL"
        source.execute(
            f"INSERT INTO sales VALUES ({number}, {region}, {number}.25, {number % 5}, 'a\\tb \\\\ {number}')"
            if source.server.scheme == "mysql"
            else f"INSERT INTO sales VALUES ({number}, {region}, {number}.25, {number % 5}, E'a\\tb \\\\ {number}')"
        )
    moving = asking(moving, TABLE, chunk_rows=10)
    copied = moving.run()
    expected, found = both(moving, EXPECTED, "SELECT id, region, total, note, origin FROM totals")
    assert found == expected
    assert 0 < len(found) < 20
    assert copied["tables"][0]["rows_copied"] == len(found)

    source.execute("UPDATE sales SET region = 'us' WHERE id = 1")  # out of the filter
    source.execute("UPDATE sales SET region = 'eu' WHERE id = 2")  # into it
    source.execute("UPDATE sales SET qty = 9, note = NULL WHERE id = 3")  # computed anew
    source.execute("UPDATE sales SET id = 107 WHERE id = 7")  # another key
    source.execute("UPDATE sales SET id = 108, region = 'us' WHERE id = 9")  # another key, and out
    source.execute("DELETE FROM sales WHERE id IN (11, 12)")
    source.execute("INSERT INTO sales VALUES (200, 'eu', 1.5, 2, 'new'), (201, 'us', 1.5, 2, 'new')")
    followed = moving.run()
    expected, changed = both(moving, EXPECTED, "SELECT id, region, total, note, origin FROM totals")
    assert changed == expected
    assert changed != found
    assert followed["changes"] == 9
    assert remarks_of(followed) == []


def test_rows_without_a_key(moving: Moving) -> None:
    """Rows that differ become the same on their way; as many of them stay as the source has."""
    source, target = moving.source, moving.target
    source.execute("CREATE TABLE visits (who VARCHAR(20), seconds INT)")
    if source.server.scheme == "postgresql":
        source.execute("ALTER TABLE visits REPLICA IDENTITY FULL")
    target.execute("CREATE TABLE visits (who VARCHAR(20), seconds INT)")
    source.execute("INSERT INTO visits VALUES ('a', 61), ('a', 62), ('a', 130), ('b', 61), ('b', -1)")
    table = TableRequest("visits", where="seconds > 0", expressions={"seconds": ("cast(seconds / 60 AS INT)", "")})
    moving = asking(moving, table)
    moving.run()
    assert sorted(target.rows("SELECT * FROM visits")) == [("a", 1), ("a", 1), ("a", 2), ("b", 1)]
    source.execute("DELETE FROM visits WHERE who = 'a' AND seconds < 63")
    source.execute("INSERT INTO visits VALUES ('a', 63), ('b', 70), ('b', 71)")
    source.execute("UPDATE visits SET seconds = 1 WHERE seconds = -1")
    moving.run()
    assert sorted(target.rows("SELECT * FROM visits")) == [
        *[("a", 1), ("a", 2)],
        *[("b", 0), ("b", 1), ("b", 1), ("b", 1)],
    ]


def test_tables_are_merged_into_one(moving: Moving) -> None:
    source, target = moving.source, moving.target
    for name in ("orders_1", "orders_2"):
        source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, note VARCHAR(20))")
        source.execute(f"INSERT INTO {name} VALUES (1, '{name}'), (2, '{name}')")
    target.execute("CREATE TABLE orders (shard INT, id INT, note VARCHAR(20), PRIMARY KEY (shard, id))")
    moving = asking(moving, TableRequest("orders_*", "orders", expressions={"shard": ("substr(_table, 8)", "")}))
    moving.run()
    source.execute("UPDATE orders_1 SET note = 'changed' WHERE id = 1")
    source.execute("DELETE FROM orders_2 WHERE id = 1")
    source.execute("UPDATE orders_2 SET id = 3 WHERE id = 2")
    assert remarks_of(moving.run()) == []
    assert sorted(target.rows("SELECT shard, id, note FROM orders")) == [
        (1, 1, "changed"),
        (1, 2, "orders_1"),
        (2, 3, "orders_2"),
    ]


def test_only_some_columns(moving: Moving) -> None:
    source, target = moving.source, moving.target
    source.execute(SALES)
    source.execute("INSERT INTO sales VALUES (1, 'eu', 1, 1, 'x')")
    target.execute("CREATE TABLE sales (id INT PRIMARY KEY, note TEXT)")
    moving = asking(moving, TableRequest("sales", columns=("id", "note")))
    moving.run()
    source.execute("UPDATE sales SET note = 'y'")
    source.execute("ALTER TABLE sales ADD COLUMN more INT")  # is not asked for
    source.execute("INSERT INTO sales VALUES (2, 'us', 2, 2, 'z', 3)")
    assert moving.run()["tables"][0]["stopped"] is None
    assert sorted(target.rows("SELECT * FROM sales")) == [(1, "y"), (2, "z")]


def test_what_comes_of_an_expression_does_not_fit(mariadb_to_postgres: Moving) -> None:
    """That table stops, and the others go on."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for database in (source, target):
        for name in ("one", "two"):
            database.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, note VARCHAR(10))")
    longer = TableRequest("one", expressions={"note": ("concat(note, note)", "")})
    moving = asking(mariadb_to_postgres, longer, TableRequest("two"))
    moving.run()
    source.execute("INSERT INTO one VALUES (1, 'short')")
    source.execute("INSERT INTO one VALUES (2, 'too long')")
    source.execute("INSERT INTO two VALUES (1, 'goes on')")
    one, two = moving.run()["tables"]
    assert "value too long" in one["stopped"]
    assert two["stopped"] is None
    assert target.rows("SELECT * FROM one") == []
    assert target.rows("SELECT * FROM two") == [(1, "goes on")]


TENTHS = TableRequest("b", "b", expressions={"c": ("10 / v", "")})


def tenths(moving: Moving, **options: object) -> Moving:
    """Table b, which gets a column from an expression that fails for a 0, beside g and h, whose do not."""
    for database in (moving.source, moving.target):
        for name in ("b", "g", "h"):
            more = ", c DOUBLE PRECISION" if database is moving.target and name != "g" else ""
            database.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT{more})")
    for name in ("b", "g", "h"):
        moving.source.execute(f"INSERT INTO {name} VALUES (1, 5)")
    whole = TableRequest("h", expressions={"c": ("v + 1", "")})
    return asking(moving, TENTHS, TableRequest("g"), whole, **options)


def with_a_zero(moving: Moving) -> None:
    for name in ("b", "g", "h"):
        moving.source.execute(f"INSERT INTO {name} VALUES (2, 0)")


def reasons_of(status: dict[str, Any]) -> dict[str, str | None]:
    return {each["source"].rpartition(".")[2]: each["stopped"] for each in status["tables"]}


def assert_only_b_is_stopped(moving: Moving, status: dict[str, Any]) -> None:
    reasons = reasons_of(status)
    reason = reasons.pop("b")
    assert set(reasons.values()) == {None}
    assert reason is not None
    assert re.match(r"\S*b: its filter or a computed column failed: \[DIVIDE_BY_ZERO\]", reason)
    assert "ansi" not in reason
    assert status["state"] == STOPPED_IN_PART
    assert moving.rows("g")[0] == moving.rows("g")[1]
    assert moving.target.rows("SELECT id, v, c FROM h ORDER BY id") == [
        (key, v, v + 1) for key, v in moving.rows("h")[0]
    ]


@pytest.mark.parametrize(
    ("moving", "redacted"),
    [
        ("mariadb-postgres", True),
        ("postgres-mariadb", False),
        later("mariadb-postgres", False),
        later("postgres-mariadb", True),
    ],
    indirect=["moving"],
)
def test_an_expression_fails_for_a_row_that_is_copied(moving: Moving, redacted: bool) -> None:
    """That table stops by name, and the others go on, also after a restart; chunks that were copied with it count."""
    moving = tenths(moving, chunk_rows=1)
    moving = replace(moving, request=replace(moving.request, redact_values=redacted))
    with_a_zero(moving)
    copied = moving.run()
    assert_only_b_is_stopped(moving, copied)
    assert ("try_divide" in str(reasons_of(copied)["b"])) is not redacted
    assert [each["rows_copied"] for each in copied["tables"] if "b" not in each["source"].rpartition(".")[2]] == [2, 2]
    moving.source.execute("INSERT INTO g VALUES (3, 3)")
    assert_only_b_is_stopped(moving, moving.run())


def test_an_expression_is_not_computed_for_rows_that_the_filter_leaves_out(moving: Moving) -> None:
    """It would fail for them, on the copy and in the log."""
    moving = tenths(moving)
    with_a_zero(moving)
    moving = asking(moving, replace(TENTHS, where="v <> 0"))
    assert reasons_of(moving.run()) == {"b": None}
    moving.source.execute("INSERT INTO b VALUES (3, 0), (4, 4)")
    moving.source.execute("UPDATE b SET v = 0 WHERE id = 1")
    moving.source.execute("UPDATE b SET v = 2 WHERE id = 2")
    moving.source.execute("DELETE FROM b WHERE id = 3")
    status = moving.run()
    assert (reasons_of(status), remarks_of(status)) == ({"b": None}, [])
    assert moving.target.rows("SELECT id, v, c FROM b ORDER BY id") == [(2, 2, 5.0), (4, 4, 2.5)]


def test_an_expression_fails_in_the_only_table(mariadb_to_postgres: Moving) -> None:
    moving = tenths(mariadb_to_postgres)
    with_a_zero(moving)
    moving = asking(moving, TENTHS)
    with pytest.raises(SparkFailure, match=r"b: its filter or a computed column failed: \[DIVIDE_BY_ZERO\]"):
        moving.run()


@pytest.mark.parametrize("consistency", [Consistency.TRANSACTION, later(Consistency.TABLE), later(Consistency.ROW)])
@pytest.mark.parametrize("delivery", [Delivery.EXACTLY_ONCE, later(Delivery.AT_LEAST_ONCE)])
@ONE_WAY
def test_an_expression_fails_for_a_row_in_the_log(moving: Moving, delivery: Delivery, consistency: Consistency) -> None:
    moving = tenths(moving)
    moving = replace(moving, request=replace(moving.request, delivery=delivery, consistency=consistency))
    moving.run()
    with_a_zero(moving)
    assert_only_b_is_stopped(moving, moving.run())
    moving.source.execute("INSERT INTO g VALUES (3, 3)")
    moving.source.execute("INSERT INTO b VALUES (3, 3)")
    assert_only_b_is_stopped(moving, moving.run())
    assert moving.target.rows("SELECT id FROM b") == [(1,)]


@ONE_WAY
def test_an_expression_fails_while_the_log_is_followed(moving: Moving) -> None:
    moving = tenths(moving, poll_seconds=0.02)
    moving.run()
    with followed(moving):
        with_a_zero(moving)
        until(lambda: arrived(moving, "g") and len(moving.target.rows("SELECT * FROM h")) == 2)
        moving.source.execute("INSERT INTO g VALUES (3, 3)")
        until(lambda: arrived(moving, "g"))
    assert_only_b_is_stopped(moving, moving.run())


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (replace(TABLE, expressions={"total": ("price * pieces", "")}), "the source has no column pieces"),
        (replace(TABLE, expressions={"total": ("price * ", "")}), "is not a Spark SQL expression"),
        (replace(TABLE, expressions={"sum": ("price", "")}), "it has no column sum"),
        (replace(TABLE, exclude_columns=("price", "qty", "id")), "the key column id must be moved unchanged"),
        (replace(TABLE, columns=("id", "nothing")), "has no column nothing"),
        (replace(TABLE, expressions={"total": ("nonsense(price)", "")}), "nonsense"),
    ],
)
def test_refused_by_name(mariadb_to_postgres: Moving, table: TableRequest, said: str) -> None:
    mariadb_to_postgres.source.execute(SALES)
    mariadb_to_postgres.target.execute(TOTALS)
    with pytest.raises(TieoutError, match=said.replace("*", r"\*")):
        asking(mariadb_to_postgres, table).run()


def test_tables_that_would_be_mixed_up(mariadb_to_postgres: Moving) -> None:
    for name in ("orders_1", "orders_2"):
        mariadb_to_postgres.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY)")
    mariadb_to_postgres.target.execute("CREATE TABLE orders (id INT PRIMARY KEY)")
    with pytest.raises(UsageError, match="would both go to"):
        asking(mariadb_to_postgres, TableRequest("orders_*", "orders")).run()


KEYS = {
    "mariadb-postgres": {
        "BIGINT UNSIGNED": ("18446744073709551615", "2", "3", "4"),
        "INT UNSIGNED": ("4294967295", "2", "3", "4"),
        "SMALLINT": ("1", "2", "3", "4"),
        "TINYINT": ("1", "2", "3", "4"),
        "TIME": ("'10:00:01'", "'10:00:02'", "'10:00:03'", "'10:00:04'"),
        "BINARY(2)": ("'ab'", "'ac'", "'ad'", "'ae'"),
        "ENUM('a','b','c','d')": ("'a'", "'b'", "'c'", "'d'"),
    },
    "postgres-mariadb": {
        "TIMESTAMPTZ(3)": tuple(f"'2026-01-01 10:00:0{n}+00'" for n in range(1, 5)),
        "UUID": tuple(f"'123e4567-e89b-12d3-a456-42661417400{n}'" for n in range(1, 5)),
        "NUMERIC(9,2)": ("1.5", "2.5", "3.5", "4.5"),
    },
}
"""Types of keys that are written to the target in another form than Spark reads."""


@pytest.mark.parametrize("moving", KEYS, indirect=True)
def test_deletes_and_new_keys_of_every_type(moving: Moving, request: pytest.FixtureRequest) -> None:
    """Of a deleted row, and of one whose key changed, the log needs to tell its old key alone."""
    types = KEYS[request.node.callspec.params["moving"]]
    for number, (kind, keys) in enumerate(types.items()):
        moving.source.execute(f"CREATE TABLE k{number} (k {kind} NOT NULL PRIMARY KEY, v INT)")
        moving.source.execute(f"INSERT INTO k{number} VALUES ({keys[0]}, 1), ({keys[1]}, 2), ({keys[2]}, 3)")
    tables = [TableRequest(f"k{n}", where="v > 0", expressions={"c": ("v * 2", "")}) for n in range(len(types))]
    moving = asking(moving, *tables)
    moving.run()
    for number, keys in enumerate(types.values()):
        moving.source.execute(f"DELETE FROM k{number} WHERE v = 1")
        moving.source.execute(f"UPDATE k{number} SET v = -5 WHERE v = 2")
        moving.source.execute(f"UPDATE k{number} SET k = {keys[3]} WHERE v = 3")
    status = moving.run()
    assert remarks_of(status) == []
    for number, kind in enumerate(types):
        assert moving.target.rows(f"SELECT v, c FROM k{number}") == [(3, 6)], kind
