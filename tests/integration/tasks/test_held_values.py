"""What a column of the target holds of a computed value is what a verification expects. Or nobody knows, and the
verification says so.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import assert_equal, computed, found, request_of, verified, with_task
from tests.variants import later
from tieout import api
from tieout.errors import TieoutError
from tieout.model.preflight import Severity
from tieout.model.requests import Meaning, TableRequest
from tieout.model.results import Verdict

SQLITE = {
    "total": "price * 1.1",
    "count": "price / 2",
    "day": "concat(at, '')",
    "flag": "CASE WHEN id < 5 THEN 'true' ELSE '1.0' END",
    "shown": "CAST(price AS DOUBLE) * 1e9",
    "raw": "concat(name, '')",
    "any": "concat(name, '')",
    "ratio": "concat(id, '.50')",
    "huge": "CAST(id AS DECIMAL(38, 10)) + 12345678901234567890",
    "clock": "concat(' ', id)",
}


def test_a_file_of_sqlite_holds_what_the_affinity_of_a_column_makes_of_a_value(sqlite_to_sqlite: Moving) -> None:
    source, target = sqlite_to_sqlite.source, sqlite_to_sqlite.target
    source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, price DECIMAL(10,2), at DATETIME, name TEXT)")
    rows = [(n, n + 0.99, f"2024-02-29 23:59:{n:02d}.5", "0x41" if n % 2 else "7") for n in range(1, 11)]
    source.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    target.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, total DECIMAL(10,2), count INTEGER, day DATE, flag BOOL, shown TEXT,"
        ' raw BLOB, "any", ratio REAL, huge DECIMAL(38,10), clock INTEGER)'
    )
    moving = computed(sqlite_to_sqlite, "price", "at", "name", **SQLITE)
    moving.run()
    assert target.rows("SELECT total, count, day, flag, shown, raw, ratio FROM t WHERE id = 9") == [
        (10.989, 4.995, "2024-02-29 23:59:09.5", 1, "9990000000.0", "0x41", 9.5)
    ]
    assert_equal(moving)
    wrong = [
        ("raw", "x'30783431'"),
        ("day", "'2024-02-29'"),
        ("count", "2"),
        ("total", "5.49"),
        ("any", "x'30783431'"),
        ("flag", "0"),
        ("huge", "7"),
        ("ratio", "8.25"),
        ("shown", "'9.99E9'"),
        ("clock", "'ten'"),
    ]
    for number, (column, value) in enumerate(wrong, start=1):
        target.execute(f'UPDATE t SET "{column}" = {value} WHERE id = {number}')
    changed = {each.key["id"]: set(each.columns) for each in verified(moving).differences}
    assert changed == {str(number): {column} for number, (column, _) in enumerate(wrong, start=1)}


def test_an_expression_sees_what_a_file_of_sqlite_holds(sqlite_to_sqlite: Moving) -> None:
    source, target = sqlite_to_sqlite.source, sqlite_to_sqlite.target
    for database in (source, target):
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, at TIME, u UUID, d DATETIME, seen TEXT)")
    rows = [
        (1, "10:00", "6F9619FF-8B86-D011-B42D-00C04FC964FF", "2024-01-05T07:05:00+02:00", None),
        (2, "10:00:00", "6f9619ff-8b86-d011-b42d-00c04fc964ff", "2024-01-05 05:05:00", None),
        (3, "11:00", "6F9619FF8B86D011B42D00C04FC964FF", None, None),
        (4, None, None, None, None),
    ]
    source.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    for where, passing in (
        ("at = '10:00'", [1]),
        ("u LIKE '6F%'", [1, 3]),
        ("at < '10:00:00' OR d IS NOT NULL", [1, 2]),
    ):
        table = TableRequest("t", where=where, expressions={"seen": ("concat_ws('|', at, u, d)", "")})
        moving = with_task(sqlite_to_sqlite, table)
        moving.run()
        assert [number for (number,) in target.rows("SELECT id FROM t ORDER BY id")] == passing
        assert_equal(moving)
        moving.drop()
        target.execute("DELETE FROM t")


def test_any_in_a_strict_table_of_sqlite_makes_nothing_of_a_value(sqlite_to_sqlite: Moving) -> None:
    """Elsewhere ANY has the affinity of numbers."""
    source, target = sqlite_to_sqlite.source, sqlite_to_sqlite.target
    for database in (source, target):
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, kept ANY, seen ANY) STRICT")
    source.executemany("INSERT INTO t VALUES (?, ?, ?, NULL)", [(1, "12", "3"), (2, "1.50", 3), (3, "x", 3.0)])
    moving = with_task(sqlite_to_sqlite, TableRequest("t", expressions={"seen": ("concat(name, '')", "")}))
    moving.run()
    assert target.rows("SELECT typeof(kept), typeof(seen) FROM t") == [
        ("text", "text"),
        ("integer", "text"),
        ("real", "text"),
    ]
    assert_equal(moving)
    target.execute("UPDATE t SET kept = 3 WHERE id = 1")
    target.execute("UPDATE t SET seen = 1.5 WHERE id = 2")
    target.execute("UPDATE t SET kept = 3 WHERE id = 3")
    assert found(verified(moving)) == {"t": {("changed", (f"{number}",)) for number in (1, 2, 3)}}


STRINGS = {
    "day": "concat(y, '-', m, '-', d)",
    "n": "concat(' ', d)",
    "at": "concat('2024-01-05 7:', 10 + d)",
    "seen": "concat('2024-01-05T07:05:00+02:0', d - d)",
    "amount": "concat(d, '')",
    "ratio": "concat(d, '')",
    "clock": "concat(d, ':05')",
}


def test_texts_that_each_server_reads_in_its_own_way_are_unverified(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, y INT, m INT, d INT, word VARCHAR(9))")
    source.executemany("INSERT INTO t VALUES (%s, 2024, 1, %s, %s)", [(1, 5, "tru"), (2, 6, " OF\n"), (3, 7, None)])
    target.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, day DATE, n INT, at TIMESTAMP(0), seen TIMESTAMP, amount NUMERIC(9,2),"
        " ratio REAL, clock TIME, sure BOOLEAN, nothing DATE)"
    )
    moving = computed(mariadb_to_postgres, "y", "m", "d", "word", **STRINGS, sure="concat(word, '')", nothing="NULL")
    moving.run()
    assert [str(at) for (at,) in target.rows("SELECT seen FROM t WHERE id = 1")] == ["2024-01-05 07:05:00"]
    result = verified(moving)
    (table,) = result.tables
    assert (found(result), table.verdict) == ({}, Verdict.UNVERIFIED)
    assert {each.column for each in table.unverified_columns} == set(STRINGS)
    assert all("type string" in each.reason and "CAST" in each.reason for each in table.unverified_columns)
    preflight = api.preflight(request_of(moving), moving.meta, spark=moving.spark, move=moving.request)
    told = [each.message for each in preflight.problems if each.severity is Severity.UNVERIFIED]
    assert {name for name in STRINGS if any(f"column {name}: " in message for message in told)} == set(STRINGS)
    # What is known is compared all the same.
    target.execute("UPDATE t SET sure = NOT sure WHERE id = 2")
    target.execute("UPDATE t SET nothing = now() WHERE id = 3")
    assert found(verified(moving)) == {"t": {("changed", ("2",)), ("changed", ("3",))}}


def test_values_of_another_sort_than_their_column_are_unverified(mariadb_to_mariadb: Moving) -> None:
    """A number as a date, a moment as a time: each server has its own way with them, if any. Years are known."""
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    source.executemany("INSERT INTO t VALUES (%s, %s)", [(1, 0), (2, 1901), (3, 2155), (4, None), (5, 1999)])
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, day DATE, n YEAR)")
    moving = computed(mariadb_to_mariadb, day="20240105 + n - n", n="n + 0")
    moving.run()
    assert [str(day) for (day,) in target.rows("SELECT day FROM t WHERE id = 1")] == ["2024-01-05"]
    (table,) = verified(moving).tables
    assert [each.column for each in table.unverified_columns] == ["day"]
    assert (table.verdict, table.differences.total) == (Verdict.UNVERIFIED, 0)
    target.execute("UPDATE t SET n = 2001 WHERE id = 1")
    assert found(verified(moving)) == {"t": {("changed", ("1",))}}


def test_floats_with_a_scale_are_compared_as_mariadb_rounds_them(mariadb_to_mariadb: Moving) -> None:
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    random = Random(4)
    values = [1.005, 2.675, -2.675, 0.125, 0.375, -0.005, 1e-9, 99999.994, -1.5, 0.0]
    values += [random.uniform(-1, 1) * 10 ** random.randrange(-3, 5) for _ in range(400)]
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, price DOUBLE)")
    source.executemany("INSERT INTO t VALUES (%s, %s)", list(enumerate(values)))
    target.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, total DOUBLE(10,2), short FLOAT(8,2), wide DOUBLE(40,20), f FLOAT)"
    )
    moving = computed(
        mariadb_to_mariadb, "price", total="price / 3", short="price / 3", wide="price * 1", f="price * 1"
    )
    moving.run()
    assert_equal(moving)
    target.execute("UPDATE t SET total = total + 0.01 WHERE id = 1")
    target.execute("UPDATE t SET short = short + 0.01 WHERE id = 2")
    changed = {each.key["id"]: set(each.columns) for each in verified(moving).differences}
    assert changed == {"1": {"total"}, "2": {"short"}}


def test_labels_are_found_as_mariadb_finds_them(mariadb_to_mariadb: Moving) -> None:
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(19), b VARCHAR(19), n INT)")
    rows = [(1, "Small", "large ", 1), (2, "large,small", "2", 2), (3, "small,Small", "SMALL", 1), (4, "", "small", 2)]
    source.executemany("INSERT INTO t VALUES (%s, %s, %s, %s)", [*rows, (5, "3", "large", 1)])
    labels = "('small','large')"
    target.execute(f"CREATE TABLE t (id INT PRIMARY KEY, s SET{labels}, e ENUM{labels}, n ENUM{labels})")
    moving = computed(mariadb_to_mariadb, "a", "b", s="concat(a, '')", e="concat(b, '')", n="n + 0")
    moving.run()
    assert target.rows("SELECT s, e FROM t WHERE id IN (2, 5)") == [("small,large", "large"), ("small,large", "large")]
    (table,) = verified(moving).tables
    assert [each.column for each in table.unverified_columns] == ["n"]
    assert table.differences.total == 0
    target.execute("UPDATE t SET s = 'small' WHERE id = 2")
    target.execute("UPDATE t SET e = 'small' WHERE id = 1")
    assert found(verified(moving)) == {"t": {("changed", ("1",)), ("changed", ("2",))}}
    # Whether it is a label is for the collation to say.
    source.execute("UPDATE t SET b = 'Smáll' WHERE id = 4")
    (table,) = verified(moving).tables
    assert (table.verdict, table.differences.total) == (Verdict.UNVERIFIED, 0)
    assert "collation" in str(table.reason)


HALF_WAY = {
    "half": "(CAST(a AS DOUBLE) + CAST(b AS DOUBLE)) / 2",
    "exact": "CAST((CAST(a AS DECIMAL(30,25)) + CAST(b AS DECIMAL(30,25))) / 2 AS DECIMAL(38,30))",
    "whole": "id + 1152921573326323712",  # half-way between two floats; a double of it and 1 is, too
    "tiny": "CAST(a AS DOUBLE) * 1e-41",
    "said": "concat('v', -CAST(a AS DOUBLE) * 0.0, a * 0)",
}


@pytest.mark.parametrize("moving", ["postgres-postgres", later("postgres-mariadb")], indirect=True)
def test_numbers_half_way_between_two_floats(moving: Moving) -> None:
    """PostgreSQL rounds the digits of a text, MariaDB a double of them."""
    source, target = moving.source, moving.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, a REAL, b REAL, c DOUBLE PRECISION)")
    floats = [np.float32(value) for value in (1, 0.1, 0.3, 3.3, -7.7, 1234.5)]
    pairs = [(float(value), float(np.nextafter(value, np.float32(1e9)))) for value in floats]
    rows = [(n, a, b, "-0e0") for n, (a, b) in enumerate(pairs)]
    source.executemany("INSERT INTO t VALUES (%s, %s, %s, %s)", rows)
    target.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, half FLOAT4, exact FLOAT4, whole FLOAT4, tiny FLOAT4, said VARCHAR(99),"
        " zero VARCHAR(9))"
    )
    moving = computed(moving, "a", "b", "c", **HALF_WAY, zero="concat('v', c)")
    moving.run()
    assert target.rows("SELECT DISTINCT zero FROM t") == [("v-0.0",)]
    assert_equal(moving)
    target.execute("UPDATE t SET half = 1.0000001 WHERE id = 0")
    assert found(verified(moving)) == {"t": {("changed", ("0",))}}


@pytest.mark.parametrize("moving", ["mariadb-postgres", later("mariadb-mariadb")], indirect=True)
def test_what_no_float_holds_is_refused(moving: Moving) -> None:
    source, target = moving.source, moving.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, a DOUBLE)")
    source.execute("INSERT INTO t VALUES (1, 1e300)")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, r FLOAT4)")
    moving = computed(moving, "a", r="a * 1")
    with pytest.raises(TieoutError, match=r"(?i)out of range"):
        moving.run()
    target.execute("INSERT INTO t VALUES (1, 3.4e38)")
    assert found(verified(moving)) == {"t": {("changed", ("1",))}}


def test_a_float_beside_a_double_is_the_same_number_where_nothing_is_moved(
    mariadb_to_postgres: Moving,
) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v FLOAT)")
    source.execute("INSERT INTO t VALUES (1, 0.1), (2, 0.1)")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, v DOUBLE PRECISION)")
    target.execute("INSERT INTO t VALUES (1, 0.10000000149011612), (2, 0.1)")
    moving = with_task(
        mariadb_to_postgres, TableRequest("t", where="id > 0", expressions={"v": ("coalesce(v, v)", "")})
    )
    result = api.run_verification(request_of(moving, Meaning.SPARK), spark=moving.spark, meta=moving.meta)
    assert found(result) == {"t": {("changed", ("2",))}}


def test_intervals_are_refused_by_a_move_and_unverified_without_one(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, started DATETIME, took TIME)")
    source.execute("INSERT INTO t VALUES (1, '2024-01-05 10:00:00', '01:00:00')")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, took TIME, words TEXT)")
    target.execute("INSERT INTO t VALUES (1, '01:00:00')")
    took = "(started + INTERVAL 1 HOUR) - started"
    both = with_task(mariadb_to_postgres, TableRequest("t", where="id > 0", expressions={"took": (took, "")}))
    (table,) = api.run_verification(request_of(both, Meaning.SPARK), spark=both.spark, meta=both.meta).tables
    assert (table.verdict, table.differences.total) == (Verdict.UNVERIFIED, 0)
    assert "interval" in str(table.reason)
    target.execute("DELETE FROM t")
    moving = computed(mariadb_to_postgres, "started", took=took, words=took)
    with pytest.raises(TieoutError, match="is of type interval day to second, whose text is no time"):
        moving.run()
    preflight = api.preflight(request_of(moving), moving.meta, spark=moving.spark, move=moving.request)
    told = [each.message for each in preflight.problems if each.severity is Severity.PREVENTS]
    assert any("interval day to second" in message for message in told)
    target.execute("INSERT INTO t VALUES (1, '02:00:00', 'INTERVAL ''0 01:00:00'' DAY TO SECOND')")
    (table,) = verified(moving).tables
    assert (table.verdict, table.differences.total) == (Verdict.UNVERIFIED, 0)
    assert [each.column for each in table.unverified_columns] == ["took"]
    # A text takes it.
    target.execute("DELETE FROM t")
    moving = computed(mariadb_to_postgres, "started", words=took)
    moving.run()
    assert_equal(moving)
