"""The databases that commands are run on: the same small shop in each engine, a spoilt one, and the servers for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.server import Database, Server
    from tests.servers.sqlite import SqliteDatabase

    AnyDatabase: TypeAlias = Database | SqliteDatabase

TABLES = ("customers", "orders", "visits")

_TYPES = {
    "sqlite": {"whole": "INTEGER", "moment": "DATETIME", "bytes": "BLOB"},
    "mysql": {"whole": "BIGINT", "moment": "DATETIME(6)", "bytes": "VARBINARY(20)"},
    "postgresql": {"whole": "BIGINT", "moment": "TIMESTAMP", "bytes": "BYTEA"},
}
_SCHEMA = """
CREATE TABLE customers (id {whole} NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, born DATE);
CREATE TABLE orders (
  id {whole} NOT NULL PRIMARY KEY,
  customer {whole} NOT NULL,
  sku VARCHAR(20) NOT NULL,
  price DECIMAL(10, 2),
  qty INTEGER,
  placed {moment},
  token {bytes},
  CONSTRAINT orders_customer FOREIGN KEY (customer) REFERENCES customers (id),
  CONSTRAINT orders_qty CHECK (qty > 0)
);
CREATE INDEX orders_sku ON orders (sku);
CREATE TABLE visits (page VARCHAR(40), duration INTEGER);
"""
_ROWS: dict[str, list[tuple[Any, ...]]] = {
    "customers": [
        (n, f"name {n} 山", None if n % 10 == 0 else f"19{n + 40}-02-{n % 28 + 1:02d}") for n in range(1, 41)
    ],
    "orders": [
        (n, n % 40 + 1, f"sku-{n % 17}", f"{n}.50", n % 9 + 1, f"2024-03-{n % 28 + 1:02d} 10:20:30", b"\0" + bytes([n]))
        for n in range(1, 121)
    ],
    "visits": [(f"/page/{n % 4}", n) for n in range(10)],
}
SPOILING = (
    "DELETE FROM orders WHERE id = 7",
    "UPDATE orders SET qty = 5, sku = 'sku-x' WHERE id = 8",
    "INSERT INTO orders (id, customer, sku, qty) VALUES (999, 3, 'sku-new', 1)",
    "UPDATE customers SET name = 'it''s' WHERE id = 3",
    "INSERT INTO visits VALUES ('/page/9', 9)",
)
"""A row missing, two changed, one extra, and one that has no key."""
CHANGES = (
    "INSERT INTO customers VALUES (41, 'late', NULL)",
    "INSERT INTO orders (id, customer, sku, qty) VALUES (121, 41, 'sku-late', 2)",
    "UPDATE orders SET price = 1.25 WHERE id IN (1, 2, 3)",
    "DELETE FROM orders WHERE id = 120",
    "INSERT INTO visits VALUES ('/late', 1)",
)
"""What a source is changed by between two runs of a mover."""


def fill(database: AnyDatabase) -> None:
    """Makes the shop, without a difference to another one."""
    scheme = database.url.partition(":")[0]
    for statement in _SCHEMA.format(**_TYPES[scheme]).split(";"):
        if statement.strip():
            database.execute(statement)
    place = "?" if scheme == "sqlite" else "%s"
    for table, rows in _ROWS.items():
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join([place] * len(rows[0]))})", rows)
    if scheme == "postgresql":  # or its log does not tell of a row without a key
        database.execute("ALTER TABLE visits REPLICA IDENTITY FULL")
    # Of estimates that a server makes when it likes, nothing may depend.
    if scheme != "sqlite":
        database.execute("ANALYZE TABLE customers, orders, visits" if scheme == "mysql" else "ANALYZE")


def change(database: AnyDatabase, statements: tuple[str, ...]) -> None:
    for statement in statements:
        database.execute(statement)


def sqlite_file(directory: Path, name: str) -> SqliteDatabase:
    from tests.servers.sqlite import SqliteDatabase

    database = SqliteDatabase(directory / f"{name}.db")
    database.path.touch()
    return database


class Servers:
    """A MariaDB and a PostgreSQL; databases have the names that they are asked for."""

    def __init__(self, mariadb: Server, postgres: Server) -> None:
        self.mariadb = mariadb
        self.postgres = postgres

    def known(self) -> dict[str, str]:
        """What is different each time they are started, or elsewhere."""
        ((maria,),) = self.mariadb.rows(None, "SELECT version()")
        ((number, words),) = self.postgres.rows(None, "SELECT current_setting('server_version'), version()")
        return {
            f":{self.mariadb.port}": ":<mariadb port>",
            f":{self.postgres.port}": ":<postgres port>",
            f"port {self.mariadb.port}": "port <mariadb port>",
            f"port {self.postgres.port}": "port <postgres port>",
            str(maria): "<mariadb version>",
            str(maria).partition("-")[0]: "<mariadb version>",
            str(words): "<postgres version>",
            str(number): "<postgres version>",
            str(number).partition(" ")[0]: "<postgres version>",
        }

    @contextmanager
    def database(self, server: Server, name: str) -> Iterator[Database]:
        from tests.servers.server import Database

        server.create_database(name)
        try:
            yield Database(server, name)
        finally:
            drop_slots(server, name)
            server.drop_database(name)


def drop_slots(server: Server, name: str) -> None:
    """A database of PostgreSQL that has one can't be dropped."""
    if server.scheme == "postgresql":
        server.rows(
            None, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", name
        )


@contextmanager
def servers() -> Iterator[Servers]:
    from tests.servers.mariadb import start_mariadb
    from tests.servers.postgres import start_postgres

    with ExitStack() as stack:
        mariadb = start_mariadb(time_zone="+02:00", server_id=1)
        stack.callback(mariadb.stop)
        postgres = start_postgres()
        stack.callback(postgres.stop)
        yield Servers(mariadb, postgres)


def configuration(old: str, new: str, more: str = "") -> str:
    """A tieout.yaml with a task `shop` that moves one database to another one."""
    return (
        "spark: {master: 'local[2]'}\n"
        f"endpoints: {{old: {{url: '{old}'}}, new: {{url: '{new}'}}}}\n"
        f"tasks:\n  shop: {{source: old, target: new, move: {{chunk_rows: 50}}}}\n{more}"
    )
