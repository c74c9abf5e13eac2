"""CHECK … CHANGED: rows that the log tells of are looked at, what they broke is found, and nothing is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import postgres
from tests.corruption.mariadb.files import blind as blind_mariadb
from tests.corruption.mariadb.session import unguarded as unguarded_mariadb
from tests.corruption.postgres.session import blind as blind_postgres
from tests.corruption.postgres.session import surgery
from tests.corruption.postgres.session import unguarded as unguarded_postgres
from tests.corruption.sqlite.session import blind, unguarded
from tests.integration.checking.checks import Checking
from tests.integration.moving.troubles import forget_binlog
from tieout import api
from tieout.checks.changed import which_rows
from tieout.checks.changed.indexes import ChangedChecks
from tieout.errors import LogLostError, UsageError
from tieout.model.failures import CheckReport, CheckVerdict, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database
    from tests.servers.sqlite import SqliteDatabase

ROWS = 6_000
CHANGED_PLAIN = "CHECK TABLE orders CHANGED"
INDEXES = "CHECK TABLE orders INDEX by_sku, sqlite_autoindex_orders_1 CHANGED"
CHANGED = "CHECK TABLE orders INDEX by_sku, few, by_id CHANGED"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        everything = metafunc.config.getoption("all_faults")
        metafunc.parametrize("engine", ["sqlite", "mysql_db", "db"] if everything else ["db"])


def kinds(report: CheckReport) -> set[tuple[str, str | None, str | None]]:
    """Kind, index and key (or, without a row, the address) of each failure."""
    return {
        (each.kind.value, each.index, each.primary_key["id"] if each.primary_key else each.place)
        for each in report.failures
    }


def rows_read(report: CheckReport) -> int:
    return max(check.rows or 0 for check in report.checks)


@pytest.fixture
def shop(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    database = sqlite_db("shop")
    database.execute("""
        CREATE TABLE orders (id INTEGER PRIMARY KEY, sku TEXT, qty REAL);
        CREATE INDEX by_sku ON orders (sku);
        CREATE INDEX few ON orders (qty DESC, sku COLLATE NOCASE) WHERE qty < 5 AND sku IS NOT NULL;
        CREATE UNIQUE INDEX by_id ON orders (qty, id)""")
    orders = [(n, None if n % 7 == 0 else f"Sku-{n % 97}", n % 11 + 0.5) for n in range(ROWS)]
    database.executemany("INSERT INTO orders VALUES (?, ?, ?)", orders)
    return database


def test_sqlite(shop: SqliteDatabase, spark: SparkSession, tmp_path: Path) -> None:
    checking = Checking(shop.url, spark, tmp_path)
    first = checking.run(CHANGED)
    assert (first.verdict, rows_read(first)) == (CheckVerdict.CLEAN, ROWS)
    assert first.changed[0].whole == "the table was not checked before"
    shop.execute("""
        UPDATE orders SET sku = 'new', qty = 1 WHERE id BETWEEN 1 AND 20;
        UPDATE orders SET sku = NULL WHERE id = 3;
        UPDATE orders SET id = 90001 WHERE id = 4;
        DELETE FROM orders WHERE id BETWEEN 101 AND 120;
        INSERT INTO orders VALUES (101, 'again', 2), (90002, NULL, NULL)""")
    clean = checking.run(CHANGED)
    assert (clean.verdict, clean.failures) == (CheckVerdict.CLEAN, ())
    assert (clean.changed[0].changes, clean.changed[0].rows) == (44, 42)
    assert clean.changed[0].since == first.changed[0].upto
    assert 40 < rows_read(clean) < 150
    with unguarded(shop) as connection, blind(connection, "by_sku"):
        connection.execute("INSERT INTO orders VALUES (95001, 'lost', 1)")
        connection.execute("UPDATE orders SET sku = 'else' WHERE id = 200")
        connection.execute("DELETE FROM orders WHERE id = 300")
        connection.execute("UPDATE orders SET qty = 77 WHERE id = 400")
    broken = checking.run(CHANGED)
    expected = {
        ("missing_index_entry", "by_sku", "95001"),
        ("stale_index_entry", "by_sku", "200"),
        ("dangling_index_entry", "by_sku", "300"),
    }
    assert kinds(broken) == expected
    assert rows_read(broken) < 40
    # Nothing was changed since: what is known to be wrong is looked at all the same.
    assert kinds(checking.run(CHANGED)) == expected
    shop.execute("REINDEX orders")
    assert checking.run(CHANGED).verdict is CheckVerdict.CLEAN
    # Whoever asks for something else has checked nothing yet.
    other = checking.run("CHECK TABLE orders INDEX by_sku CHANGED")
    assert (other.verdict, other.changed[0].since) == (CheckVerdict.CLEAN, None)
    values = checking.run("CHECK TABLE orders VALIDITY CHANGED")
    assert [(check.family.value, check.status) for check in values.checks][1:] == [("validity", Status.NOT_CHECKED)]
    assert values.changed == ()


# ------------------------------------------------------------------------------------------------------ MariaDB


@pytest.mark.thorough
def test_mariadb(own: Database, spark: SparkSession, tmp_path: Path) -> None:
    own.execute("""
        CREATE TABLE orders (id INT, region CHAR(2), sku VARCHAR(20), qty DECIMAL(8,2), at TIMESTAMP(3) NULL, f FLOAT,
          PRIMARY KEY (region, id), KEY by_sku (sku), KEY few (qty DESC, at), KEY by_f (f, sku)) ENGINE = InnoDB""")
    own.execute(f"""
        INSERT INTO orders SELECT seq, 'eu', IF(seq % 7 = 0, NULL, CONCAT('Sku-', seq % 97)), seq % 11 + 0.5,
          FROM_UNIXTIME(1000000 + seq), seq / 7 FROM seq_1_to_{ROWS}""")
    checking = Checking(own.url, spark, tmp_path)
    statement = "CHECK TABLE orders INDEX by_sku, few, by_f CHANGED"
    assert checking.run(statement).verdict is CheckVerdict.CLEAN
    own.execute("UPDATE orders SET sku = CONCAT(sku, 'ä'), qty = 1 WHERE id BETWEEN 1 AND 20")
    own.execute("UPDATE orders SET sku = 'SKU-21ä' WHERE id = 21")
    own.execute("UPDATE orders SET id = 90001, at = NULL WHERE id = 4")
    own.execute("DELETE FROM orders WHERE id BETWEEN 101 AND 120")
    own.execute("INSERT INTO orders VALUES (101, 'eu', 'again', 2, NULL, NULL), (1, 'us', NULL, NULL, NULL, 1.1)")
    clean = checking.run(statement)
    assert (clean.failures, clean.changed[0].rows) == ((), 43)
    assert [(check.name, check.status) for check in clean.checks][1:] == [("by_sku", "ok"), ("few", "ok")]
    # A literal never equals a FLOAT: what was there before can't be looked up.
    assert clean.checks[0].name == "by_f"
    assert "are unknown" in str(clean.checks[0].reason)
    assert rows_read(clean) < 200
    with blind_mariadb(own, "orders", "by_sku"):
        own.execute("INSERT INTO orders VALUES (95001, 'eu', 'lost', 1, NULL, NULL)")
        own.execute("UPDATE orders SET sku = 'else' WHERE id = 200")
        own.execute("DELETE FROM orders WHERE id = 300")
        own.execute("UPDATE orders SET qty = 77 WHERE id = 400")
    expected = {
        ("missing_index_entry", "by_sku", "95001"),
        ("stale_index_entry", "by_sku", "200"),
        ("dangling_index_entry", "by_sku", "300"),
    }
    broken = checking.run(statement)
    assert kinds(broken) == expected
    assert rows_read(broken) < 40
    assert kinds(checking.run(statement)) == expected
    own.execute("ALTER TABLE orders DROP INDEX by_sku")
    own.execute("ALTER TABLE orders ADD INDEX by_sku (sku)")
    repaired = checking.run(statement)
    assert (repaired.verdict, repaired.changed[0].whole) == (CheckVerdict.CLEAN, "its definition changed")


# --------------------------------------------------------------------------------------------------- PostgreSQL


def test_postgres(db: Database, spark: SparkSession, tmp_path: Path) -> None:
    db.execute("""
        CREATE TABLE orders (id int PRIMARY KEY, sku text, qty numeric(8,2), at timestamptz, m mood);
        ALTER TABLE orders REPLICA IDENTITY FULL;
        CREATE INDEX by_sku ON orders (sku, m);
        CREATE INDEX few ON orders (qty DESC, at) WHERE qty < 500;
        CREATE UNIQUE INDEX by_id ON orders (at, id)""")
    db.execute(f"""
        INSERT INTO orders SELECT i, CASE WHEN i % 700 > 0 THEN 'Sku-' || i % 9970 END, i % 1001 + 0.5,
          now() - make_interval(secs => i), 'ok' FROM generate_series(1, {ROWS}) i""")
    db.execute("ANALYZE orders")
    checking = Checking(db.url, spark, tmp_path)
    statement = "CHECK TABLE orders INDEX by_sku, few, by_id, orders_pkey CHANGED"
    assert checking.run(statement).verdict is CheckVerdict.CLEAN
    db.execute("""
        UPDATE orders SET sku = 'n''ew' || id, qty = 1 WHERE id BETWEEN 1 AND 20;
        UPDATE orders SET sku = NULL, m = 'it''s' WHERE id = 3;
        UPDATE orders SET id = 90001, at = NULL WHERE id = 4;
        DELETE FROM orders WHERE id BETWEEN 101 AND 120;
        INSERT INTO orders VALUES (101, 'again', 2, now()), (90002, NULL, NULL, 'infinity')""")
    clean = checking.run(statement)
    assert [(check.name, check.status, check.reason) for check in clean.checks] == [
        (name, "ok", None) for name in ("by_id", "by_sku", "few", "orders_pkey")
    ]
    unseen = "only a complete check finds dangling entries, entries in the wrong order and duplicate entries"
    assert all(str(check.evidence).endswith(unseen) for check in clean.checks)
    assert (clean.failures, clean.changed[0].rows) == ((), 42)
    assert rows_read(clean) < 500
    with unguarded_postgres(db) as cursor:
        with blind_postgres(cursor, "by_sku"):
            cursor.execute("INSERT INTO orders VALUES (95001, 'lost', 1)")
            cursor.execute("UPDATE orders SET sku = 'else' WHERE id = 200")
            cursor.execute("UPDATE orders SET sku = 'else' WHERE id = 201")
        with blind_postgres(cursor, "orders_pkey"):
            cursor.execute("INSERT INTO orders VALUES (95002, 'unled', 1)")
    # Another row has its place now, and the index leads to that one, too.
    postgres.wrong_row_entry(db, "orders", "by_sku", "id = 95001", {"id": 95003, "sku": "other"})
    db.execute("DELETE FROM orders WHERE id = 201")
    expected = {
        ("missing_index_entry", "by_sku", "200"),
        ("missing_index_entry", "orders_pkey", "95002"),
    }
    broken = checking.run(statement)
    assert kinds(broken) == expected
    assert kinds(checking.run(statement)) == expected
    db.execute("REINDEX TABLE orders")
    assert checking.run(statement).verdict is CheckVerdict.CLEAN


@pytest.mark.thorough
def test_the_slot_is_dropped_and_old_values_that_nobody_tells_are_said(
    db: Database, spark: SparkSession, tmp_path: Path
) -> None:
    db.execute("CREATE TABLE orders (id int PRIMARY KEY, sku text); CREATE INDEX by_sku ON orders (sku)")
    db.execute("INSERT INTO orders SELECT i, i FROM generate_series(1, 100) i")
    checking = Checking(db.url, spark, tmp_path)
    checking.run(CHANGED_PLAIN)
    slots = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
    ((slot,),) = db.rows(slots)
    assert slot.startswith("tieout_check_")
    db.execute("INSERT INTO orders VALUES (101, 'a')")
    assert checking.run(CHANGED_PLAIN).verdict is CheckVerdict.CLEAN
    db.execute("UPDATE orders SET sku = 'b' WHERE id = 7")
    report = checking.run(CHANGED_PLAIN)
    not_made = [check for check in report.checks if check.status is not Status.OK]
    assert [(check.name, check.status) for check in not_made] == [("by_sku", Status.NOT_CHECKED)]
    assert "ALTER TABLE public.orders REPLICA IDENTITY FULL" in str(not_made[0].reason)
    db.execute("TRUNCATE orders")
    assert checking.run(CHANGED_PLAIN).changed[0].whole == "the table was emptied"
    assert api.forget_checked(db.url, meta=checking.meta) == ["public.orders"]
    assert db.rows(slots) == []
    assert db.rows("SELECT count(*) FROM pg_publication") == [(0,)]


@pytest.mark.thorough
def test_a_log_that_is_gone_is_refused(mysql_db: Database, spark: SparkSession, tmp_path: Path) -> None:
    mysql_db.execute("CREATE TABLE orders (id INT PRIMARY KEY, sku INT, KEY by_sku (sku))")
    mysql_db.execute("INSERT INTO orders VALUES (1, 1)")
    checking = Checking(mysql_db.url, spark, tmp_path)
    statement = "CHECK TABLE orders INDEX by_sku CHANGED"
    checking.run(statement)
    mysql_db.execute("INSERT INTO orders VALUES (2, 2)")  # without a change that is lost, the log goes on
    forget_binlog(mysql_db)
    with pytest.raises(LogLostError, match="--forget"):
        checking.run(statement)
    api.forget_checked(mysql_db.url, meta=checking.meta)
    assert checking.run(statement).verdict is CheckVerdict.CLEAN


# ---------------------------------------------------------------------------------------- rounds, and their ends


@pytest.fixture
def small(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    """A key that is a text: an index leads to its rows."""
    database = sqlite_db("shop")
    database.execute("CREATE TABLE orders (id TEXT PRIMARY KEY, sku); CREATE INDEX by_sku ON orders (sku)")
    database.executemany("INSERT INTO orders VALUES (?, ?)", [(f"k{n}", n) for n in range(100)])
    return database


def test_a_round_that_does_not_end_is_made_again(
    small: SqliteDatabase, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checking = Checking(small.url, spark, tmp_path)
    start = checking.run(INDEXES).changed[0].upto
    with unguarded(small) as connection, blind(connection, "by_sku"):
        connection.execute("INSERT INTO orders VALUES ('new', x'00ff')")
        connection.execute("DELETE FROM orders WHERE id = 'k5'")
    with unguarded(small) as connection, blind(connection, "sqlite_autoindex_orders_1"):
        connection.execute("INSERT INTO orders VALUES ('unled', 7)")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ChangedChecks, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            checking.run(INDEXES)
    broken = checking.run(INDEXES)
    assert broken.changed[0].since == start
    assert kinds(broken) == {
        ("missing_index_entry", "by_sku", "new"),
        ("dangling_index_entry", "by_sku", "6"),
        ("missing_index_entry", "sqlite_autoindex_orders_1", "unled"),
    }


@pytest.mark.thorough
def test_rounds_go_on_where_the_last_one_ended(
    small: SqliteDatabase, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checking = Checking(small.url, spark, tmp_path)
    told: list[CheckReport] = []

    def tell(report: CheckReport) -> None:
        told.append(report)
        if len(told) == 3:
            raise KeyboardInterrupt
        small.execute(f"UPDATE orders SET sku = 'sku {len(told)}' WHERE id IN ('k1', 'k2')")
        if len(told) == 2:
            with unguarded(small) as connection, blind(connection, "by_sku"):
                connection.execute("UPDATE orders SET sku = 'lost' WHERE id = 'k7'")
            monkeypatch.setattr(which_rows, "MOST_ROWS", 1)

    with pytest.raises(KeyboardInterrupt):
        api.follow_checks(small.url, INDEXES, tell, every=0, spark=spark, meta=checking.meta)
    assert [(report.changed[0].since, report.changed[0].upto) for report in told][:2] == [(None, "0"), ("0", "2")]
    assert [report.verdict for report in told] == [CheckVerdict.CLEAN, CheckVerdict.CLEAN, CheckVerdict.FAILURES]
    # All rows are looked at once more: what was found of them in an earlier round of the job is no answer.
    assert told[2].changed[0].whole == "more than 1 of its rows changed"
    assert kinds(told[2]) == {("stale_index_entry", "by_sku", "k7")}
    with pytest.raises(UsageError, match="followed changes and can't be resumed"):
        api.resumable_check(told[0].job, checking.meta)
    everything = checking.run("CHECK DATABASE shop CHANGED")
    assert [(span.table, span.since) for span in everything.changed] == [("main.orders", None)]
    assert len(small.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'")) == 5
    assert api.forget_checked(small.url, meta=checking.meta) == ["main.orders"]
    assert small.rows("SELECT name FROM sqlite_master WHERE name LIKE '%tieout%'") == []


# -------------------------------------------------------------------------------------------------- constraints

TABLES = """
CREATE TABLE customers (id INT PRIMARY KEY, code INT UNIQUE);
CREATE TABLE orders (id INT PRIMARY KEY, qty INT, code INT, customer INT,
  CONSTRAINT positive CHECK (qty > 0), CONSTRAINT own UNIQUE (code),
  CONSTRAINT known FOREIGN KEY (customer) REFERENCES customers (id))"""
BREAKING = """
INSERT INTO orders VALUES (9001, -1, 9001, 1);
UPDATE orders SET customer = 7777 WHERE id = 20;
DELETE FROM customers WHERE id = 30;
UPDATE orders SET qty = qty + 1 WHERE id = 40"""
TWIN = "INSERT INTO orders VALUES (9002, 1, 44, 1)"
BOTH = "CHECK TABLE orders, customers CONSTRAINT positive, known, own CHANGED"


def broken_rows(report: CheckReport) -> set[tuple[str, str | None, str | None]]:
    return {
        (each.kind.value, each.constraint, each.primary_key["id"] if each.primary_key else None)
        for each in report.failures
    }


def test_constraints(request: pytest.FixtureRequest, engine: str, spark: SparkSession, tmp_path: Path) -> None:
    database = request.getfixturevalue("sqlite_db")("shop") if engine == "sqlite" else request.getfixturevalue(engine)
    integer_key = "INTEGER PRIMARY KEY" if engine == "sqlite" else "INT PRIMARY KEY"
    for statement in TABLES.replace("INT PRIMARY KEY", integer_key).split(";"):
        database.execute(statement)
    marks = "({0}, {0})" if engine == "sqlite" else "(%s, %s)"
    database.executemany(f"INSERT INTO customers VALUES {marks.format('?')}", [(n, n) for n in range(500)])
    marks = "({0}, {0}, {0}, {0})" if engine == "sqlite" else "(%s, %s, %s, %s)"
    database.executemany(
        f"INSERT INTO orders VALUES {marks.format('?')}", [(n, n + 1, n, n % 500) for n in range(5000)]
    )
    checking = Checking(database.url, spark, tmp_path)
    assert checking.run(BOTH).verdict is CheckVerdict.CLEAN
    with _unguarded(database, engine) as execute:
        for statement in BREAKING.split(";"):
            execute(statement)
    expected = {("check_violation", "positive", "9001"), ("foreign_key_violation", "known", "20")}
    expected |= {("foreign_key_violation", "known", str(30 + 500 * n)) for n in range(10)}
    if _twin(database, engine):
        expected |= {("unique_violation", "own", each) for each in ("44", "9002")}
    broken = checking.run(BOTH)
    assert broken_rows(broken) == expected
    assert rows_read(broken) < 100
    database.execute("UPDATE orders SET qty = 5 WHERE id = 9001")
    assert broken_rows(checking.run(BOTH)) == expected - {("check_violation", "positive", "9001")}
    alone = checking.run(BOTH.replace(", customers", ""))
    (left_out,) = [check for check in alone.checks if check.status is Status.NOT_CHECKED]
    assert left_out.name == "known"
    assert "follow both" in str(left_out.reason)


@contextmanager
def _unguarded(database: Any, engine: str) -> Iterator[Callable[[str], object]]:
    """A session that is asked nothing."""
    if engine == "sqlite":
        with unguarded(database) as connection:
            yield connection.execute
    elif engine == "db":
        with unguarded_postgres(database) as cursor:
            with surgery(cursor, "pg_class", "oid = 'orders'::regclass", "relchecks", 0):
                yield cursor.execute
    else:
        with unguarded_mariadb(database) as cursor:
            yield cursor.execute


def _twin(database: Any, engine: str) -> bool:
    """A second row of a unique key; False for MariaDB, of which the server would have to be stopped."""
    if engine == "sqlite":
        with unguarded(database) as connection, blind(connection, "sqlite_autoindex_orders_1"):
            connection.execute(TWIN)
    elif engine == "db":
        with unguarded_postgres(database) as cursor, blind_postgres(cursor, "own"):
            cursor.execute(TWIN)
    return engine != "mysql_db"
