"""Targets that have no time for a statement: it is tried again, and no table is given up for it."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.servers.server import Database
from tests.variants import later
from tieout.config.urls import parse_url
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.postgres.session import mover_session
from tieout.connectors.sql.session import Purpose
from tieout.connectors.sql.target import SqlTarget
from tieout.errors import BusyError
from tieout.model.moves import Delivery


def test_a_statement_that_somebody_cancels(pg_db: Database, mysql_db: Database) -> None:
    with closing(mover_session(parse_url(pg_db.url))) as session, pytest.raises(BusyError, match="cancel"):
        session.execute("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(9)")
    with (
        closing(MySQLSession(parse_url(mysql_db.url), Purpose.MOVE)) as session,
        pytest.raises(BusyError, match="interrupted"),
    ):
        session.execute("KILL QUERY CONNECTION_ID()")


def test_no_clock_ends_a_merge(pg_db: Database, mysql_db: Database) -> None:
    pg_db.execute(f"ALTER DATABASE {pg_db.name} SET statement_timeout = 1000")
    pg_db.execute(f"ALTER DATABASE {pg_db.name} SET idle_in_transaction_session_timeout = 1000")
    with closing(mover_session(parse_url(pg_db.url))) as session:
        assert session.rows("SHOW statement_timeout") == [("0",)]
        assert session.rows("SHOW idle_in_transaction_session_timeout") == [("0",)]
    mysql_db.server.execute(None, "SET GLOBAL max_statement_time = 5")
    try:
        with closing(MySQLSession(parse_url(mysql_db.url), Purpose.MOVE)) as session:
            assert session.rows("SELECT @@max_statement_time") == [(0.0,)]
    finally:
        mysql_db.server.execute(None, "SET GLOBAL max_statement_time = 0")


@pytest.mark.parametrize(
    "delivery", [later(Delivery.AT_LEAST_ONCE), Delivery.AT_MOST_ONCE, later(Delivery.EXACTLY_ONCE)]
)
@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_a_merge_that_has_to_wait_for_others(
    moving: Moving, delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most once does not mean never: what was rolled back is merged again."""
    for database in (moving.source, moving.target):
        database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    asked = moving.asking("t", delivery=delivery)
    asked.run()
    moving.source.execute("INSERT INTO t VALUES (1), (2)")
    merge, tries = SqlTarget.merge, []

    def busy_at_first(target: SqlTarget, *arguments: Any, **options: Any) -> list[str]:
        tries.append(1)
        if len(tries) < 3:
            raise BusyError("a lock is held by somebody else")
        return merge(target, *arguments, **options)

    monkeypatch.setattr(SqlTarget, "merge", busy_at_first)
    asked.run()
    assert len(tries) >= 3
    assert asked.rows("t") == ([(1,), (2,)], [(1,), (2,)])
