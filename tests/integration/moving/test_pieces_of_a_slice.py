"""Changes that are staged in several pieces: what one of them left out may be in another."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.pieces import pieces
from tieout.model.requests import TableRequest
from tieout.move import staging

LARGE = 3_000
"""Characters that do not compress: PostgreSQL keeps them outside of their row, and its log leaves them out."""


def large(chance: random.Random) -> str:
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=LARGE))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PIECE_ROWS", 2)


@pytest.mark.parametrize("moving", ["postgres-postgres", "postgres-mariadb"], indirect=True)
def test_a_value_that_the_log_left_out_comes_from_the_piece_that_has_it(moving: Moving) -> None:
    chance = random.Random(7)
    first, second, third, fourth = (large(chance) for _ in range(4))
    source = moving.source
    source.execute("CREATE TABLE docs (id int PRIMARY KEY, n int, body text, more text)")
    source.execute(
        "INSERT INTO docs VALUES (1, 0, %s, 'a'), (2, 0, %s, 'a'), (3, 0, %s, %s)", first, first, first, first
    )

    with pieces(moving.asking("docs")) as found:
        found.copy()
        source.execute("UPDATE docs SET body = %s WHERE id = 1", second)
        source.execute("INSERT INTO docs VALUES (4, 0, %s, 'a')", third)
        source.execute("INSERT INTO docs VALUES (5, 0, %s, 'a'), (6, 0, NULL, NULL)", third)
        for number in (1, 4, 5):  # each in another piece than the value
            source.execute("UPDATE docs SET n = 1 WHERE id IN (%s, 2)", number)
        source.execute("UPDATE docs SET more = %s WHERE id = 3", fourth)
        source.execute("DELETE FROM docs WHERE id = 5")
        source.execute("UPDATE docs SET n = 2 WHERE id IN (1, 3)")
        source.execute("UPDATE docs SET n = 3 WHERE id IN (3, 4)")
        assert found.apply() == [], "rows were there, or not, as the log says"

    expected = [
        (1, 2, second, "a"),
        (2, 1, first, "a"),
        (3, 3, first, fourth),
        (4, 3, third, "a"),
        (6, 0, None, None),
    ]
    rows = "SELECT id, n, body, more FROM docs ORDER BY id"
    assert source.rows(rows) == expected
    assert moving.target.rows(rows) == expected


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
def test_a_table_is_truncated_behind_pieces_that_are_staged(mariadb_to_postgres: Moving, key: str) -> None:
    moving = mariadb_to_postgres
    source = moving.source
    source.execute(f"CREATE TABLE loaded (id INT {key}, n INT)")
    source.executemany("INSERT INTO loaded VALUES (%s, 0)", [(n,) for n in range(4)])
    with pieces(moving.asking("loaded")) as found:
        found.copy()
        source.executemany("INSERT INTO loaded VALUES (%s, 1)", [(n,) for n in range(10, 17)])
        source.execute("TRUNCATE TABLE loaded")
        source.executemany("INSERT INTO loaded VALUES (%s, 2)", [(n,) for n in range(12, 17)])
        source.execute("DELETE FROM loaded WHERE id = 12")
        source.execute("UPDATE loaded SET n = 3 WHERE id = 15")
        assert found.apply() == []
    assert sorted(moving.target.rows("SELECT id, n FROM loaded")) == [(13, 2), (14, 2), (15, 3), (16, 2)]


@pytest.mark.thorough
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
def test_a_transformed_table_is_truncated_behind_pieces_that_are_staged(mariadb_to_postgres: Moving, key: str) -> None:
    """Its pieces are staged by Spark's workers, which know the usual size alone."""
    moving = mariadb_to_postgres
    moving.source.execute(f"CREATE TABLE loaded (id INT {key}, n INT)")
    asked = moving.asking("loaded")
    entry = TableRequest("loaded", where="n < 5", expressions={"twice": ("n * 2", None)})
    asked = replace(asked, request=replace(asked.request, tables=(entry,)))
    asked.run()
    moving.source.execute("INSERT INTO loaded SELECT seq, 1 FROM seq_1_to_210000")
    moving.source.execute("TRUNCATE TABLE loaded")
    moving.source.execute("INSERT INTO loaded SELECT seq, seq FROM seq_1_to_9")
    status = asked.run()
    assert [table["stopped"] for table in status["tables"]] == [None]
    assert sorted(moving.target.rows("SELECT id, n, twice FROM loaded")) == [(n, n, 2 * n) for n in range(1, 5)]
