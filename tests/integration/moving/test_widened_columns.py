"""Tables whose columns get types that hold more, while they are followed."""

from __future__ import annotations

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.troubles import arrived, followed, until
from tests.variants import later

MARIADB = """CREATE TABLE wide (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n SMALLINT UNSIGNED NOT NULL DEFAULT 7,
  name VARCHAR(10), memo VARCHAR(20) COMMENT 'a', price DECIMAL(5, 2), at DATETIME NOT NULL, kind ENUM('a', 'b'))"""
ROW = "(n, name, memo, price, at, kind) VALUES (1, 'one', 'memo', 1.50, '2026-01-02 03:04:05', 'a')"
WIDER = [
    "ALTER TABLE wide MODIFY n INT UNSIGNED DEFAULT 7, MODIFY COLUMN name VARCHAR(100) NULL, CHANGE memo memo TEXT",
    "UPDATE wide SET n = 4000000000 WHERE id = 1",
    "ALTER TABLE wide MODIFY id BIGINT NOT NULL AUTO_INCREMENT",
    "INSERT INTO wide (id, n, name, memo, at) VALUES (5000000000, NULL, REPEAT('é', 90), REPEAT('m', 90), '2026-1-1')",
    "ALTER TABLE wide MODIFY price DECIMAL(12, 4), MODIFY at DATETIME(6), MODIFY kind ENUM('a', 'b', 'c')",
    "INSERT INTO wide (id, n, price, at, kind) VALUES (6, 6, 12345678.1234, '2026-01-01 01:02:03.456789', 'c')",
]
"""Statements that widen each column, with rows that only the wider type holds."""


def begin(moving: Moving, table: str = MARIADB, row: str = ROW) -> Moving:
    moving.source.execute(table)
    for _ in range(3):
        moving.source.execute(f"INSERT INTO wide {row}")
    asked = moving.asking("wide")
    asked.run()
    return asked


def reasons(asked: Moving) -> list[str | None]:
    return [table["stopped"] for table in asked.run()["tables"]]


@pytest.mark.parametrize("moving", ["mariadb-postgres", later("mariadb-mariadb")], indirect=True)
def test_wider_types_are_followed_while_the_table_is(moving: Moving) -> None:
    asked = begin(moving)
    with followed(asked):
        for statement in WIDER:
            moving.source.execute(statement)
        until(lambda: arrived(moving, "wide"))
    assert reasons(asked) == [None]


@pytest.mark.parametrize("moving", ["mariadb-mariadb", later("mariadb-postgres")], indirect=True)
def test_wider_types_are_followed_by_a_mover_that_comes_later(moving: Moving) -> None:
    """Each column had other types since: the log has rows of all of them."""
    asked = begin(moving)
    for statement in WIDER:
        moving.source.execute(statement)
    assert reasons(asked) == [None]
    assert arrived(moving, "wide")


POSTGRES = (
    "CREATE TYPE kind AS ENUM ('a', 'b')",
    """CREATE TABLE wide (id SERIAL PRIMARY KEY, n SMALLINT NOT NULL DEFAULT 7, name VARCHAR(10), memo VARCHAR(20),
      price NUMERIC(5, 2), kind kind, word VARCHAR(5) COLLATE "C")""",
)
POSTGRES_ROW = "(n, name, memo, price, kind, word) VALUES (1, 'one', 'memo', 1.50, 'a', 'ab')"
POSTGRES_WIDER = [
    "ALTER TABLE wide ALTER n TYPE INT, ALTER n DROP NOT NULL, ALTER id TYPE BIGINT",
    "UPDATE wide SET n = 2000000000 WHERE id = 1",
    "INSERT INTO wide (id, n, name) VALUES (5000000000, NULL, 'some')",
    "DELETE FROM wide WHERE id = 2",
]
WITHOUT_A_TRACE = [
    "ALTER TABLE wide ALTER name TYPE VARCHAR(100), ALTER memo TYPE TEXT, ALTER price TYPE NUMERIC(12, 2)",
    'ALTER TABLE wide ALTER word TYPE VARCHAR(50) COLLATE "C", ALTER n DROP NOT NULL',
    "ALTER TYPE kind ADD VALUE 'c'",
    "INSERT INTO wide (id, n, name, memo, word) VALUES (4, NULL, repeat('é', 90), repeat('m', 500), repeat('w', 40))",
    "INSERT INTO wide (id, price, kind) VALUES (5, 1234567890.12, 'c')",
]
"""Statements that leave the file of the table as it is."""


def begin_postgres(moving: Moving) -> Moving:
    moving.source.execute(POSTGRES[0])
    return begin(moving, POSTGRES[1], POSTGRES_ROW)


@pytest.mark.parametrize("statements", [POSTGRES_WIDER, WITHOUT_A_TRACE], ids=["rewritten", "not rewritten"])
@pytest.mark.parametrize("moving", ["postgres-mariadb", later("postgres-postgres")], indirect=True)
def test_wider_types_of_postgres_are_followed_while_the_table_is(moving: Moving, statements: list[str]) -> None:
    asked = begin_postgres(moving)
    with followed(asked):
        for statement in statements:
            moving.source.execute(statement)
        until(lambda: arrived(moving, "wide"))
    assert reasons(asked) == [None]


@pytest.mark.parametrize("statements", [POSTGRES_WIDER, later(WITHOUT_A_TRACE)], ids=["rewritten", "not rewritten"])
@pytest.mark.parametrize("moving", ["postgres-postgres", later("postgres-mariadb")], indirect=True)
def test_wider_types_of_postgres_are_followed_by_a_mover_that_comes_later(
    moving: Moving, statements: list[str]
) -> None:
    asked = begin_postgres(moving)
    for statement in statements:
        moving.source.execute(statement)
    assert reasons(asked) == [None]
    assert arrived(moving, "wide")
