"""Values on their way through a task.

Those that no expression names stay exact; computed ones are compared as the target holds them.
"""

from __future__ import annotations

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import found, request_of, verified, with_task
from tieout import api
from tieout.errors import UsageError
from tieout.model.documents import request_from_document
from tieout.model.progress_events import Progress
from tieout.model.requests import TableRequest
from tieout.model.results import Verdict

COMPUTED = {
    "tax": ("price * 0.19", ""),  # 0.19 * 12.25 = 2.3275 is stored with one digit
    "third": ("price / 3", ""),
    "day": ("CAST(at AS DATE)", ""),
    "whole": ("date_trunc('SECOND', at)", ""),
    "tenths": ("CAST(at AS TIMESTAMP_NTZ)", ""),
    "padded": ("concat(name, '  ')", ""),
    "cheap": ("price < 10", ""),
    "flag": ("CASE WHEN price < 10 THEN 'true' ELSE 'false' END", ""),
    "ratio": ("CAST(price AS DOUBLE) / 7", ""),
    "doc": ("to_json(named_struct('b', price, 'a', name))", ""),
    "raw": ("CAST(name AS BINARY)", ""),
    "clock": ("clock", ""),
    "sure": ("CASE WHEN price < 10 THEN ' Yes' ELSE 'OFF' END", ""),
}


def test_a_computed_value_is_compared_as_the_target_holds_it(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute(
        "CREATE TABLE items (id INT PRIMARY KEY, price DECIMAL(10,2), name VARCHAR(20), at DATETIME(6), clock TIME(3))"
    )
    rows = [
        (n, f"{n}.25", f"näme {n}", f"2024-02-29 23:59:{n:02d}.{n:06d}" if n % 7 else None, f"12:00:00.{n:03d}")
        for n in range(50)
    ]
    rows[5] = (5, "-2.50", "", "2024-12-31 23:59:59.950000", "00:00:00.500")
    source.executemany("INSERT INTO items VALUES (%s, %s, %s, %s, %s)", rows)
    target.execute(
        "CREATE TABLE items (id INT PRIMARY KEY, tax NUMERIC(10,1), third NUMERIC, day DATE, whole TIMESTAMP(0),"
        " tenths TIMESTAMP(1), padded CHAR(30), cheap INT, flag BOOLEAN, ratio REAL, doc JSONB, raw BYTEA, clock TIME,"
        " sure BOOLEAN)"
    )
    table = TableRequest("items", exclude_columns=("price", "name", "at"), expressions=COMPUTED)
    moving = with_task(mariadb_to_postgres, table)
    moving.run()
    result = verified(moving)
    assert found(result) == {}
    assert (result.tables[0].verdict, result.tables[0].reason) == (Verdict.EQUAL, None)
    assert target.rows("SELECT tax::text, tenths::text FROM items WHERE id = 5") == [("-0.5", "2025-01-01 00:00:00")]
    faults = {
        11: ("tax", "tax + 0.1"),
        12: ("day", "day + 1"),
        13: ("tenths", "tenths + interval '0.1'"),
        15: ("flag", "NOT flag"),
        16: ("raw", "raw || '\\x00'::bytea"),
        17: ("doc", "doc || '{\"c\": 1}'"),
        18: ("clock", "clock + interval '0.001'"),
        19: ("third", "third + 0.0000001"),
        20: ("sure", "NOT sure"),
    }
    for row, (column, value) in faults.items():
        target.execute(f"UPDATE items SET {column} = {value} WHERE id = {row}")
    changed = {int(str(each.key["id"])): set(each.columns) for each in verified(moving).differences}
    assert changed == {row: {column} for row, (column, _) in faults.items()}


ODD = "CREATE TABLE odd (id INT PRIMARY KEY, kind VARCHAR(9), day DATE, exact DECIMAL(60,30), ratio FLOAT, doc JSON)"
EXACT = f"{'1234567890' * 3}.{'0' * 29}1"


def test_what_no_expression_names_stays_exact(mariadb_to_mariadb: Moving) -> None:
    """A zero date, sixty digits, a JSON number beyond every type of Spark's."""
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    row = ("a", "0000-00-00", EXACT, 0.1, '{"n": 1e400, "m": 0.1000000000000000055511151231257827}')
    for database in (source, target):
        database.execute(ODD)
        with database.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_mode = ''")
            cursor.executemany("INSERT INTO odd VALUES (%s, %s, %s, %s, %s, %s)", [(n, *row) for n in range(1, 6)])
    source.execute("INSERT INTO odd (id, kind) VALUES (6, 'b')")
    moving = with_task(mariadb_to_mariadb, TableRequest("odd", where="kind = 'a'"))
    assert [table.verdict for table in verified(moving).tables] == [Verdict.EQUAL]
    faults = {
        1: ("exact", f"exact + 0.{'0' * 29}1"),
        2: ("day", "'2024-01-01'"),
        3: ("doc", "replace(doc, '1e400', '1e401')"),
        4: ("ratio", "ratio * 1.000001"),
    }
    for number, (column, value) in faults.items():
        target.execute(f"UPDATE odd SET {column} = {value} WHERE id = {number}")
    changed = {int(str(each.key["id"])): set(each.columns) for each in verified(moving).differences}
    assert changed == {number: {column} for number, (column, _) in faults.items()}
    # An expression that names the zero date has no value, and says so.
    moving = with_task(mariadb_to_mariadb, TableRequest("odd", where="day > DATE'2020-01-01' OR kind = 'a'"))
    (table,) = verified(moving).tables
    assert table.verdict is Verdict.UNVERIFIED
    assert table.reason is not None
    assert "0000-00-00" in table.reason
    assert "\n" not in table.reason


def test_a_date_before_christ_is_not_one_after(postgres_to_mariadb: Moving) -> None:
    source, target = postgres_to_mariadb.source, postgres_to_mariadb.target
    source.execute("CREATE TABLE ides (id INT PRIMARY KEY, day DATE, at TIMESTAMP, moment TIMESTAMPTZ)")
    source.execute(
        "INSERT INTO ides SELECT n, d, d::timestamp + interval '1s', d::timestamp AT TIME ZONE 'UTC' FROM (VALUES "
        "(1, '0044-03-15 BC'::date), (2, '2024-03-15'), (3, NULL), (4, '0001-01-01 BC'), (5, '0001-01-01')) v(n, d)"
    )
    left_out = ("day", "at", "moment")
    years = {name: (f"year({column})", "") for name, column in zip(("d", "a", "m"), left_out, strict=True)}
    some = " OR ".join(f"{column} < DATE'0001-01-01'" for column in left_out)
    source.execute("CREATE TABLE later AS SELECT * FROM ides")
    source.execute("ALTER TABLE later ADD PRIMARY KEY (id)")
    tables = (
        TableRequest("ides", where=some, exclude_columns=left_out, expressions=years),
        TableRequest("later", where="day >= DATE'0001-01-01'", exclude_columns=left_out),
    )
    moving = with_task(postgres_to_mariadb, *tables)
    moving.run()
    source.execute("UPDATE ides SET day = '0050-03-15 BC' WHERE id = 4")
    source.execute("UPDATE later SET day = '0050-03-15 BC' WHERE id = 5")
    moving.run()
    assert sorted(target.rows("SELECT id, d, a, m FROM ides")) == [(1, -43, -43, -43), (4, -49, 0, 0)]
    assert target.rows("SELECT id FROM later") == [(2,)]
    result = verified(moving)
    assert (found(result), {table.verdict for table in result.tables}) == ({}, {Verdict.EQUAL})


def test_a_verification_is_resumed(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for database in (source, target):
        database.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        database.executemany("INSERT INTO t VALUES (%s, %s)", [(n, n) for n in range(100)])
    target.execute("UPDATE t SET v = 0 WHERE id = 9")
    moving = with_task(mariadb_to_postgres, TableRequest("t", where="v > 4"))
    target.execute("DELETE FROM t WHERE id < 5")

    def interrupted(progress: Progress) -> None:
        if progress.stage == "rows":
            raise KeyboardInterrupt

    request = request_of(moving)
    with pytest.raises(KeyboardInterrupt):
        api.run_verification(request, spark=moving.spark, meta=moving.meta, listener=interrupted)
    job = api.resumable_job("last", moving.meta)
    again = request_from_document(job.request, request.source, request.target)
    assert again == request
    result = api.run_verification(again, spark=moving.spark, meta=moving.meta, resume=job.id)
    assert found(result) == {"t": {("changed", ("9",))}}


def test_a_verification_is_not_resumed_once_a_column_holds_texts_in_another_way(mariadb_to_mariadb: Moving) -> None:
    """Of its type nothing changes, but `Small` is a label no more."""
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, size VARCHAR(9))")
    source.execute("INSERT INTO t VALUES (1, 'Small'), (2, 'large')")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, size ENUM('small', 'large') COLLATE utf8mb4_general_ci)")
    target.execute("INSERT INTO t VALUES (1, 'small')")
    moving = with_task(mariadb_to_mariadb, TableRequest("t", expressions={"size": ("concat(size, '')", "")}))

    def interrupted(progress: Progress) -> None:
        if progress.stage == "rows":
            raise KeyboardInterrupt

    request = request_of(moving)
    with pytest.raises(KeyboardInterrupt):
        api.run_verification(request, spark=moving.spark, meta=moving.meta, listener=interrupted)
    target.execute("ALTER TABLE t MODIFY size ENUM('small', 'large') COLLATE utf8mb4_bin")
    job = api.resumable_job("last", moving.meta)
    with pytest.raises(UsageError, match=r"the definition of \S+ changed"):
        api.run_verification(request, spark=moving.spark, meta=moving.meta, resume=job.id)


CAST_MOMENTS = {"at": ("CAST(at AS TIMESTAMP_NTZ)", ""), "seen": ("CAST(seen AS TIMESTAMP)", "")}


def test_moments_have_the_digits_of_their_column_on_every_target(mariadb_to_mariadb: Moving) -> None:
    """MariaDB would cut them off without a warning."""
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME(6), seen TIMESTAMP(6) NULL)")
    source.execute("INSERT INTO t VALUES (1, '2024-02-29 23:59:59.700000', '2024-02-29 23:59:59.123499')")
    source.execute("INSERT INTO t VALUES (2, '1969-12-31 23:59:59.4', NULL), (3, '2024-01-01 00:00:00.5', now())")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME, seen TIMESTAMP(3) NULL)")
    moving = with_task(mariadb_to_mariadb, TableRequest("t", expressions=CAST_MOMENTS))
    moving.run()
    assert [str(at) for (at,) in target.rows("SELECT at FROM t ORDER BY id")] == [
        "2024-03-01 00:00:00",
        "1969-12-31 23:59:59",
        "2024-01-01 00:00:01",
    ]
    assert [table.verdict for table in verified(moving).tables] == [Verdict.EQUAL]
    target.execute("UPDATE t SET seen = seen + INTERVAL 1000 MICROSECOND WHERE id = 1")
    assert found(verified(moving)) == {"t": {("changed", ("1",))}}


def test_bytes_and_labels_are_compared_as_mariadb_holds_them(mariadb_to_mariadb: Moving) -> None:
    """BINARY(n) has n bytes, and a label is found by its collation."""
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))")
    source.executemany("INSERT INTO t VALUES (%s, %s)", [(1, "Small"), (2, "LARGE"), (3, None)])
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, code BINARY(8), size ENUM('small', 'large'))")
    computed = {"code": ("CAST(name AS BINARY)", ""), "size": ("name || ''", "")}
    moving = with_task(mariadb_to_mariadb, TableRequest("t", exclude_columns=("name",), expressions=computed))
    moving.run()
    assert target.rows("SELECT size FROM t ORDER BY id") == [("small",), ("large",), (None,)]
    result = verified(moving)
    assert (found(result), [table.verdict for table in result.tables]) == ({}, [Verdict.EQUAL])
    target.execute("UPDATE t SET code = 'Smal', size = 'large' WHERE id = 1")
    (changed,) = verified(moving).differences
    assert (set(changed.columns), changed.key) == ({"code", "size"}, {"id": "1"})
