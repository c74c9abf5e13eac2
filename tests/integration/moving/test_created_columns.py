"""Tables that the task creates with other columns than the source's: chosen, renamed, computed, merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import EACH_ENGINE, ONE_OF_ALL, Moving
from tests.integration.moving.test_work_on_the_way import asking
from tieout import api
from tieout.errors import TieoutError, UnsupportedError
from tieout.model.requests import MoveRequest, TableRequest

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.servers.server import Database
    from tests.servers.sqlite import SqliteDatabase

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def types(database: Database, table: str) -> dict[str, tuple[str, str]]:
    """Each column's type, and whether it takes NULL, as the catalog has them."""
    schema = "DATABASE()" if database.server.scheme == "mysql" else "'public'"
    found = database.rows(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns "
        f"WHERE table_schema = {schema} AND table_name = '{table}'"
    )
    return {name: (kind, nullable) for name, kind, nullable in found}


def key(database: Database, table: str) -> set[str]:
    if database.server.scheme == "mysql":
        rows = database.rows(
            "SELECT column_name FROM information_schema.statistics WHERE table_schema = DATABASE() "
            f"AND table_name = '{table}' AND index_name = 'PRIMARY'"
        )
    else:
        rows = database.rows(
            "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
            f"AND a.attnum = ANY(i.indkey) WHERE i.indrelid = '{table}'::regclass AND i.indisprimary"
        )
    return {name for (name,) in rows}


@EACH_ENGINE
def test_computed_columns_get_the_types_of_their_expressions(moving: Moving) -> None:
    source, target = moving.source, moving.target
    moment = "DATETIME" if source.server.scheme == "mysql" else "TIMESTAMP"
    source.execute(
        "CREATE TABLE sales (id INT PRIMARY KEY, client VARCHAR(20) NOT NULL, price DECIMAL(10,2), qty INT, "
        f"sold {moment}(6), note TEXT, CONSTRAINT positive CHECK (qty > 0))"
    )
    source.execute("CREATE INDEX by_client ON sales (client)")
    source.execute("CREATE INDEX by_price ON sales (price)")
    source.execute("CREATE UNIQUE INDEX one_note ON sales (qty, id)")
    table = TableRequest(
        "sales",
        "totals",
        exclude_columns=("client", "price"),
        expressions={
            "customer": ("client", ""),
            "total": ("price * qty", ""),
            "big": ("price > 100", ""),
            "year": ("year(sold)", ""),
            "millis": ("cast(qty AS BIGINT) * 1000", ""),
            "ratio": ("cast(qty AS DOUBLE) / 3", ""),
            "day": ("cast(sold AS DATE)", ""),
            "raw": ("cast(client AS BINARY)", ""),
            "later": ("cast(sold AS TIMESTAMP_NTZ)", ""),
            "label": ("concat(_table, ':', client)", ""),
        },
    )
    source.execute("INSERT INTO sales VALUES (1, 'ann', 12.50, 3, '2024-02-29 12:00:00.123456', 'x')")
    moving = asking(moving, table)
    moving.run()
    source.execute("INSERT INTO sales VALUES (2, 'bob', 99999999.99, 2147483647, NULL, NULL)")
    source.execute("UPDATE sales SET client = 'anna', qty = 10 WHERE id = 1")
    status = moving.run()
    assert status["tables"][0]["stopped"] is None
    columns = "id, customer, qty, total, millis, year, day, label, note"
    assert sorted(target.rows(f"SELECT {columns} FROM totals")) == [
        (1, "anna", 10, Decimal("125.00"), 10000, 2024, date(2024, 2, 29), "sales:anna", "x"),
        (2, "bob", 2147483647, Decimal("99999999.99") * 2147483647, 2147483647000, None, None, "sales:bob", None),
    ]
    assert target.rows("SELECT later FROM totals WHERE id = 1") == [(datetime(2024, 2, 29, 12, 0, 0, 123456),)]
    assert [bytes(raw) for (raw,) in target.rows("SELECT raw FROM totals ORDER BY id")] == [b"anna", b"bob"]
    assert target.rows("SELECT ratio FROM totals WHERE id = 1")[0][0] == pytest.approx(10 / 3, abs=0, rel=0)
    found = types(target, "totals")
    kind, nullable = found["customer"]
    assert (kind in ("varchar", "character varying"), nullable) == (True, "NO")
    assert found["id"][1] == "NO"
    assert {found[name][1] for name in ("total", "big", "year", "label")} == {"YES"}
    # The key tells tables apart: `label` names the source's table, but is computed from more than the key.
    assert key(target, "totals") == {"id"}
    words = " ".join(status["remarks"])
    assert "index by_price" in words
    assert "one_note" not in words


@ONE_OF_ALL
def test_merged_tables_are_created_once(moving: Moving) -> None:
    source, target = moving.source, moving.target
    source.execute("CREATE TABLE parents (id INT PRIMARY KEY)")
    source.execute("INSERT INTO parents VALUES (1)")
    for name in ("orders_1", "orders_2"):
        source.execute(
            f"CREATE TABLE {name} (id INT PRIMARY KEY, note VARCHAR(20) NOT NULL, parent INT, "
            f"CONSTRAINT of_{name} FOREIGN KEY (parent) REFERENCES parents (id))"
        )
        source.execute(f"CREATE UNIQUE INDEX note_of_{name} ON {name} (note)")
        source.execute(f"INSERT INTO {name} VALUES (1, 'a', 1), (2, 'b', NULL)")
    merged = TableRequest("orders_*", "orders", expressions={"shard": ("_table", "")})
    moving = asking(moving, merged, TableRequest("parents"), chunk_rows=1)
    moving.run()
    assert key(target, "orders") == {"id", "shard"}
    source.execute("UPDATE orders_1 SET note = 'changed' WHERE id = 1")
    source.execute("DELETE FROM orders_2 WHERE id = 1")
    source.execute("UPDATE orders_2 SET id = 3 WHERE id = 2")
    status = moving.run(finish=True)
    assert sorted(target.rows("SELECT shard, id, note FROM orders")) == [
        ("orders_1", 1, "changed"),
        ("orders_1", 2, "b"),
        ("orders_2", 3, "b"),
    ]
    words = " ".join(status["remarks"])
    assert all(name in words for name in ("of_orders_1", "note_of_orders_1", "of_orders_2", "note_of_orders_2"))
    assert status["finish"]["foreign_keys"] == []


@EACH_ENGINE
def test_merged_tables_that_differ_are_refused(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE orders_1 (id INT PRIMARY KEY, note VARCHAR(20))")
    moving.source.execute("CREATE TABLE orders_2 (id INT PRIMARY KEY, note VARCHAR(30))")
    moving = asking(moving, TableRequest("orders_*", "orders", expressions={"shard": ("_table", "")}))
    with pytest.raises(UnsupportedError, match=r"note is .*\(20\) in one and .*\(30\) in the other"):
        moving.run()
    with pytest.raises(Exception, match="orders"):
        moving.target.rows("SELECT * FROM orders")


def test_what_can_not_be_created_is_refused(mariadb_to_postgres: Moving) -> None:
    mariadb_to_postgres.source.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT, tags TEXT)")
    for table, words in (
        (TableRequest("t", columns=("a",)), "the key column id must be moved unchanged"),
        (TableRequest("t", expressions={"b": ("c + 1", "")}), "has no column c"),
        (TableRequest("t", expressions={"b": ("split(tags, ',')", "")}), "Spark's type array<string>"),
        (TableRequest("t", expressions={"b": ("NULL", "")}), "Spark's type void"),
        (TableRequest("t", expressions={"b": ("nonsense(a)", "")}), "nonsense"),
    ):
        with pytest.raises(TieoutError, match=words.replace("<", "\\<").replace(".", "\\.")):
            asking(mariadb_to_postgres, table).run()
    assert mariadb_to_postgres.target.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


def test_a_column_that_a_child_refers_to_is_left_out(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE parents (id INT PRIMARY KEY, code INT NOT NULL UNIQUE)")
    source.execute("CREATE TABLE kids (id INT PRIMARY KEY, code INT, FOREIGN KEY (code) REFERENCES parents (code))")
    source.execute("INSERT INTO parents VALUES (1, 10)")
    source.execute("INSERT INTO kids VALUES (1, 10)")
    moving = asking(mariadb_to_postgres, TableRequest("parents", exclude_columns=("code",)), TableRequest("kids"))
    status = moving.run()
    assert target.rows("SELECT * FROM kids") == [(1, 10)]
    assert "without its foreign key" in " ".join(status["remarks"])
    again = moving.run(finish=True)
    assert [(each["state"], each["rows"]) for each in again["finish"]["foreign_keys"]] == [("failed", 0)]


def test_sqlite_columns_are_chosen(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path
) -> None:
    source, target = sqlite_db("source"), sqlite_db("target")
    source.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT NOT NULL DEFAULT 'secret', secret INTEGER, "
        "b REAL, CHECK (b > 0), CHECK (secret IS NOT 5), UNIQUE (a, secret))"
    )
    source.execute("CREATE INDEX by_b ON t (b)")
    source.execute("CREATE INDEX by_secret ON t (secret) WHERE b > 1")
    source.execute("INSERT INTO t (secret, b) VALUES (1, 0.5), (2, 1.5)")
    target.path.touch()
    request = MoveRequest("sqlite", source.url, target.url, (TableRequest("t", exclude_columns=("secret",)),))
    meta = f"sqlite:///{tmp_path}/meta.db"
    api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
    source.execute("INSERT INTO t (a, secret, b) VALUES ('c', 3, 3.5)")
    source.execute("DELETE FROM t WHERE id = 3")
    source.execute("UPDATE t SET secret = 9, b = 7.5 WHERE id = 1")
    status = api.run_move(request, spark=spark, meta=meta, finish=True)
    assert target.rows("SELECT * FROM t ORDER BY id") == [(1, "secret", 7.5), (2, "secret", 1.5)]
    assert {name for (name,) in target.rows("SELECT name FROM pragma_index_list('t')")} == {"by_b"}
    words = " ".join(status.remarks)
    assert all(name in words for name in ("by_secret", "UNIQUE (a, secret)", "CHECK (secret IS NOT 5)"))
    assert status.finish is not None
    assert [counter.next for counter in status.finish.counters] == [4]
    api.drop_move(request, meta)
    table = TableRequest("t", "u", expressions={"c": ("b * 2", "")})
    with pytest.raises(UnsupportedError, match="keeps the class of each value"):
        api.run_move(replace(request, tables=(table,)), spark=spark, meta=meta, until_caught_up=True)
