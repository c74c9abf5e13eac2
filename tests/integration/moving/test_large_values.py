"""Values larger than what a server sends in one packet, or lets a function make of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import Moving
from tests.variants import later

if TYPE_CHECKING:
    from tests.servers.server import Database

BYTES = 17 << 20
"""More than a packet of MySQL's protocol holds; its hexadecimal digits are more than this server lets HEX() make."""

TABLES = {
    "mysql": "CREATE TABLE heavy (id INT PRIMARY KEY, b LONGBLOB, t LONGTEXT)",
    "postgresql": "CREATE TABLE heavy (id INT PRIMARY KEY, b bytea, t text)",
}
VALUES = {
    "mysql": ("UNHEX(REPEAT('005c0a09', %s))", "REPEAT(CONCAT('é', CHAR(92), CHAR(9)), %s)"),
    "postgresql": ("decode(repeat('005c0a09', %s), 'hex')", "repeat('é' || chr(92) || chr(9), %s)"),
}
SUMS = {
    "mysql": "SELECT id, LENGTH(b), MD5(b), LENGTH(t), MD5(t) FROM heavy ORDER BY id",
    "postgresql": "SELECT id, octet_length(b), md5(b), octet_length(t), md5(t) FROM heavy ORDER BY id",
}


@contextmanager
def room(database: Database) -> Iterator[None]:
    """MySQL takes no larger values than this, but keeps them when it is lowered again."""
    if database.server.scheme == "mysql":
        database.server.execute(None, f"SET GLOBAL max_allowed_packet = {64 << 20}")
    try:
        yield
    finally:
        if database.server.scheme == "mysql":
            database.server.execute(None, f"SET GLOBAL max_allowed_packet = {16 << 20}")


@pytest.mark.parametrize("moving", ["mariadb-postgres", later("postgres-mariadb")], indirect=True)
def test_large_values_are_copied_and_followed(moving: Moving) -> None:
    source = moving.source
    source.execute(TABLES[source.server.scheme])
    blob, text = VALUES[source.server.scheme]
    with room(source):
        # In two rows: one larger than these servers' redo log would never be written.
        source.execute(f"INSERT INTO heavy VALUES (1, {blob}, NULL), (2, NULL, {text})", BYTES // 4, BYTES // 4)
    asked = moving.asking("heavy")

    asked.run()
    assert _sums(moving.target) == _sums(source)

    with room(source):
        source.execute(f"INSERT INTO heavy VALUES (3, {blob}, NULL)", BYTES // 4 + 1)
        source.execute(f"UPDATE heavy SET t = {text}, id = 4 WHERE id = 2", BYTES // 4 + 1)
        source.execute("UPDATE heavy SET t = 'beside a large one' WHERE id = 1")
    asked.run()
    assert _sums(moving.target) == _sums(source)
    assert [row[1] for row in _sums(moving.target)] == [BYTES, BYTES + 4, None]


def _sums(database: Database) -> list[tuple[object, ...]]:
    return database.rows(SUMS[database.server.scheme])
