"""XA transactions of a MariaDB source, which its log has in two parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.two_tables import begin
from tests.servers.mariadb import prepare_xa, roll_back_prepared
from tieout.move.table_mover import TableMover


@pytest.fixture(autouse=True)
def nothing_is_left(mariadb_to_postgres: Moving) -> Iterator[None]:
    yield
    roll_back_prepared(mariadb_to_postgres.source)


def run(moving: Moving, *statements: str) -> None:
    with moving.source.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def prepare(moving: Moving, xid: str, statement: str) -> None:
    prepare_xa(moving.source, f"'{xid}'", statement)


def test_transactions_that_are_open_from_one_batch_to_another(mariadb_to_postgres: Moving) -> None:
    """On a table that is not moved they are nobody's business; on others their rows arrive when they are committed."""
    moving = mariadb_to_postgres
    moving.source.execute("CREATE TABLE other (id INT PRIMARY KEY)")
    asked = begin(moving)
    prepare(moving, "elsewhere", "INSERT INTO other VALUES (1)")
    prepare(moving, "here", "UPDATE one SET a = 5 WHERE id < 3")
    prepare(moving, "never", "DELETE FROM two WHERE id > 10")
    run(moving, "UPDATE one SET a = 7 WHERE id = 9")
    asked.run()
    assert moving.target.rows("SELECT id, a FROM one WHERE a <> 0") == [(9, 7)]
    run(moving, "XA COMMIT 'elsewhere'", "XA COMMIT 'here'", "XA ROLLBACK 'never'", "UPDATE one SET a = 6 WHERE id = 1")
    status = asked.run()
    assert [table["stopped"] for table in status["tables"]] == [None, None]
    for table in ("one", "two"):
        source, target = moving.rows(table)
        assert source == target
    assert moving.target.rows("SELECT id, a FROM one WHERE a <> 0 ORDER BY id") == [(0, 5), (1, 6), (2, 5), (9, 7)]


def test_a_transaction_that_is_committed_while_its_table_is_copied(
    mariadb_to_postgres: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has its commit a little before it can be seen: a chunk from in between would lack it for good."""
    moving, copy = mariadb_to_postgres, TableMover._copy

    def commit_and_copy(mover: TableMover, *args: Any) -> None:
        prepare(moving, "x", "UPDATE one SET a = 5 WHERE id = 3")
        run(moving, "XA COMMIT 'x'")
        copy(mover, *args)

    monkeypatch.setattr(TableMover, "_copy", commit_and_copy)
    asked = begin(moving)
    monkeypatch.undo()
    status = asked.run()
    stopped = {table["source"].rpartition(".")[2]: table["stopped"] for table in status["tables"]}
    assert "XA transaction" in stopped["one"]
    assert stopped["two"] is None
