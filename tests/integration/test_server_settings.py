"""What servers are set to must not matter: time zones, modes, collations, packets, locales."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.server import Database
from tieout import api
from tieout.model.moves import Delivery
from tieout.model.requests import MoveRequest, TableRequest
from tieout.model.results import Strategy, Verdict, VerificationResult

HOURS = [f"INSERT INTO t VALUES ({hour}, '2024-01-01 {hour:02d}:00:00')" for hour in range(24)]


def verify(
    source: Any, target: Any, spark: Any, tmp_path: Any, *tables: TableRequest, **more: Any
) -> VerificationResult:
    meta = f"sqlite:///{tmp_path}/meta.db"
    return api.verify(source.url, target.url, tables, spark=spark, meta=meta, **{"recheck_times": 0, **more})


def run(database: Any, *statements: str) -> None:
    """In one session."""
    with database.connect() as connection:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.parametrize("strategy", [Strategy.PULL, Strategy.PUSHDOWN])
def test_a_condition_on_an_instant_is_in_utc_on_every_server(
    mysql_db: Any, mysql_db_b: Any, spark: Any, tmp_path: Any, strategy: Strategy
) -> None:
    for database in (mysql_db, mysql_db_b):
        run(database, "SET time_zone = '+00:00'", "CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP NULL)", *HOURS)

    request = TableRequest("t", where="at >= '2024-01-01 12:00:00'")
    result = verify(mysql_db, mysql_db_b, spark, tmp_path, request, strategy=strategy)

    assert result.verdict is Verdict.EQUAL, result.differences
    assert result.tables[0].rows.source == 12


def test_a_condition_on_an_instant_is_the_same_on_two_engines(
    mysql_db: Any, pg_db: Any, spark: Any, tmp_path: Any
) -> None:
    run(mysql_db, "SET time_zone = '+00:00'", "CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP NULL)", *HOURS)
    run(pg_db, "SET TimeZone = 'UTC'", "CREATE TABLE t (id int PRIMARY KEY, at timestamptz)", *HOURS)

    request = TableRequest("t", where="at >= '2024-01-01 12:00:00'")
    result = verify(mysql_db, pg_db, spark, tmp_path, request)

    assert result.verdict is Verdict.EQUAL, result.differences
    assert result.tables[0].rows.target == 12


def test_a_server_that_pads_char(mysql_db: Any, mysql_db_b: Any, spark: Any, tmp_path: Any) -> None:
    for database in (mysql_db, mysql_db_b):
        run(database, "CREATE TABLE t (id INT PRIMARY KEY, c CHAR(10))", "INSERT INTO t VALUES (1, 'ab'), (2, '')")
    ((before,),) = mysql_db.rows("SELECT @@GLOBAL.sql_mode")
    mysql_db.execute("SET GLOBAL sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'")
    try:
        result = verify(mysql_db, mysql_db_b, spark, tmp_path, strategy=Strategy.PULL)
    finally:
        mysql_db.execute(f"SET GLOBAL sql_mode = '{before}'")

    assert result.verdict is Verdict.EQUAL, result.differences


def test_values_longer_than_a_packet_are_never_equal_unread(
    mysql_db: Any, mysql_db_b: Any, spark: Any, tmp_path: Any
) -> None:
    """A hash of more than max_allowed_packet is NULL in MariaDB, and a sum passes over NULL."""
    for database, letter in ((mysql_db, "a"), (mysql_db_b, "b")):
        database.execute("CREATE TABLE bytes (id INT PRIMARY KEY, b LONGBLOB)")
        database.execute(f"INSERT INTO bytes VALUES (1, REPEAT('{letter}', 9000000))")
        database.execute("CREATE TABLE texts (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT)")
        database.execute(f"INSERT INTO texts VALUES (1, REPEAT('x', 9000000), REPEAT('{letter}', 9000000))")

    result = verify(mysql_db, mysql_db_b, spark, tmp_path, strategy=Strategy.PUSHDOWN)

    by_name = {table.table.split(".")[1]: table for table in result.tables}
    assert by_name["bytes"].verdict is Verdict.DIFFERENT
    assert by_name["bytes"].differences.changed == 1
    assert by_name["texts"].verdict is not Verdict.EQUAL  # its rows may be too long to be read at all


@pytest.fixture
def sorted_by_language(postgres: Any) -> Iterator[tuple[Database, Database]]:
    """Two databases that both say "C" of themselves, of which one sorts by ICU."""
    icu = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
    names = {"t_sorted_icu": icu, "t_sorted_c": ""}
    try:
        for name, provider in names.items():
            postgres.execute(None, f"CREATE DATABASE {name} TEMPLATE template0 {provider} LC_COLLATE 'C' LC_CTYPE 'C'")
        yield Database(postgres, "t_sorted_icu"), Database(postgres, "t_sorted_c")
    finally:
        for name in names:
            postgres.drop_database(name)


def test_databases_that_sort_differently_under_one_name(
    sorted_by_language: tuple[Database, Database], spark: Any, tmp_path: Any
) -> None:
    for database in sorted_by_language:
        database.execute("CREATE TABLE t (k text PRIMARY KEY, n int)")
        database.executemany("INSERT INTO t VALUES (%s, %s)", [(word, n) for n, word in enumerate("aBcDZzéE_10")])

    result = verify(*sorted_by_language, spark, tmp_path, strategy=Strategy.PULL, chunk_rows=2)

    assert result.verdict is Verdict.EQUAL, result.differences
    assert result.tables[0].rows.target == 11


def test_collations_of_one_name_and_two_locales(pg_db: Any, pg_db_b: Any, spark: Any, tmp_path: Any) -> None:
    for database, locale in ((pg_db, "en-US"), (pg_db_b, "sv-SE")):
        database.execute(f"CREATE COLLATION ours (provider = icu, locale = '{locale}')")
        database.execute("CREATE TABLE t (k text COLLATE ours PRIMARY KEY, n int)")
        database.executemany("INSERT INTO t VALUES (%s, %s)", [(word, n) for n, word in enumerate("aåäöoüyzvw")])

    result = verify(pg_db, pg_db_b, spark, tmp_path, strategy=Strategy.PULL, chunk_rows=2)

    assert result.verdict is Verdict.EQUAL, result.differences
    assert result.tables[0].rows.target == 10


@pytest.mark.parametrize("strategy", [Strategy.NATIVE, Strategy.PUSHDOWN, Strategy.PULL])
def test_a_collation_that_ignores_case_hides_no_change(
    pg_db: Any, pg_db_b: Any, spark: Any, tmp_path: Any, strategy: Strategy
) -> None:
    """To the engine itself both values are equal, and so are its own hashes of them."""
    for database, value in ((pg_db, "Ångström"), (pg_db_b, "ångström")):
        database.execute(
            "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        )
        database.execute("CREATE TABLE t (id int PRIMARY KEY, v text COLLATE ci)")
        database.execute("INSERT INTO t VALUES (1, %s)", value)

    result = verify(pg_db, pg_db_b, spark, tmp_path, strategy=strategy)

    assert (result.verdict, result.tables[0].strategy) == (Verdict.DIFFERENT, strategy)
    assert result.tables[0].differences.changed == 1


@pytest.mark.parametrize("declared", ["timestamp", "timestamptz", "date"])
def test_keys_beyond_the_years_of_python(pg_db: Any, pg_db_b: Any, spark: Any, tmp_path: Any, declared: str) -> None:
    moments = ["infinity", "-infinity", "0044-03-15 BC", "2024-01-01", "294276-01-01", "12000-01-01", "0001-01-01"]
    for database in (pg_db, pg_db_b):
        inserts = [f"INSERT INTO t VALUES ('{moment}', {n})" for n, moment in enumerate(moments)]
        run(database, "SET TimeZone = 'UTC'", f"CREATE TABLE t (k {declared} PRIMARY KEY, n int)", *inserts)
    pg_db_b.execute("UPDATE t SET n = -1 WHERE n IN (0, 2, 5)")

    result = verify(pg_db, pg_db_b, spark, tmp_path, strategy=Strategy.PULL, chunk_rows=2)

    assert result.verdict is Verdict.DIFFERENT, result.tables[0].reason
    assert result.tables[0].differences.changed == 3
    assert result.tables[0].rows.source == len(moments)


def test_tables_with_system_versioning_are_tables(mysql_db: Any, mysql_db_b: Any, spark: Any, tmp_path: Any) -> None:
    for database, value in ((mysql_db, 1), (mysql_db_b, 2)):
        database.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING")
        database.execute(f"INSERT INTO t VALUES (1, {value})")

    result = verify(mysql_db, mysql_db_b, spark, tmp_path)

    assert result.verdict is Verdict.DIFFERENT
    assert result.tables[0].differences.changed == 1


@pytest.mark.parametrize(
    ("name", "value", "default"),
    [
        ("sql_select_limit", "900", "18446744073709551615"),
        ("system_versioning_asof", "'2020-01-01 00:00:00'", "DEFAULT"),
        ("max_join_size", "900", "18446744073709551615"),
    ],
)
def test_a_server_that_shows_fewer_rows(
    mysql_db: Any, mysql_db_b: Any, spark: Any, tmp_path: Any, name: str, value: str, default: str
) -> None:
    for database in (mysql_db, mysql_db_b):
        database.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9)) WITH SYSTEM VERSIONING")
        database.execute("INSERT INTO t SELECT seq, 'v' FROM seq_1_to_1000")
    mysql_db_b.execute("UPDATE t SET v = 'spoilt' WHERE id = 950")
    try:
        for database in (mysql_db, mysql_db_b):
            database.execute(f"SET GLOBAL {name} = {value}")
        result = verify(mysql_db, mysql_db_b, spark, tmp_path)
    finally:
        for database in (mysql_db, mysql_db_b):
            database.execute(f"SET GLOBAL {name} = {default}")

    assert result.tables[0].rows.source == 1000
    assert [found.key for found in result.differences] == [{"id": "950"}]


@pytest.mark.parametrize(
    ("name", "value"), [("array_nulls", "off"), ("xmloption", "document"), ("quote_all_identifiers", "on")]
)
def test_values_are_written_as_they_are(postgres: Any, spark: Any, tmp_path: Any, name: str, value: str) -> None:
    """A NULL in an array was written as the text NULL, and told by nobody."""
    with postgres.fresh_database() as source, postgres.fresh_database() as target:
        source.execute("CREATE TABLE t (id int PRIMARY KEY, a text[], x xml)")
        source.execute("""INSERT INTO t VALUES (1, '{NULL,"NULL"}', 'a<b/>c')""")
        target.execute(f'ALTER DATABASE "{target.name}" SET {name} = {value}')
        meta = f"sqlite:///{tmp_path}/meta.db"
        request = MoveRequest("settings", source.url, target.url, delivery=Delivery.EXACTLY_ONCE)
        try:
            api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
        finally:
            api.drop_move(request, meta)

        assert target.rows("SELECT array_position(a, NULL), x::text FROM t") == [(1, "a<b/>c")]
        assert verify(source, target, spark, tmp_path).verdict is Verdict.EQUAL
