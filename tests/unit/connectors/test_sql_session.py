"""One session class, three purposes: the same error means something else to a reader, a mover and a repair."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.protocols.check import StatementError
from tieout.connectors.protocols.repair import Refused, TryAgain
from tieout.connectors.sql.session import Purpose
from tieout.connectors.sqlite.session import SQLiteSession
from tieout.errors import AccessError, MissingObjectError, ReadError, UnreachableError, WriteError


@pytest.fixture
def url(tmp_path: Path) -> EndpointUrl:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY CHECK (a < 10))")
    return parse_url(f"sqlite:///{tmp_path}/a.db")


@pytest.fixture(params=Purpose)
def session(url: EndpointUrl, request: pytest.FixtureRequest) -> Iterator[SQLiteSession]:
    with closing(SQLiteSession(url, request.param, [], wait_seconds=0.01)) as session:
        yield session


def test_what_a_broken_statement_is(session: SQLiteSession) -> None:
    expected = {Purpose.READ: ReadError, Purpose.MOVE: WriteError, Purpose.REPAIR: Refused}
    with pytest.raises(expected[session.purpose], match="syntax"):
        session.execute("SELEC 1")


def test_what_a_lock_is(session: SQLiteSession) -> None:
    with closing(sqlite3.connect(session.url.path or "", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        expected = TryAgain if session.purpose is Purpose.REPAIR else UnreachableError
        with pytest.raises(expected, match="locked"):
            session.rows("SELECT * FROM t")
        assert session.attempt("SELECT * FROM t") == StatementError("database is locked", conclusive=False)


def test_what_is_missing_is_refused_to_a_repair_alone(session: SQLiteSession) -> None:
    """A repair's statement may fail for what its trigger names, which says nothing about other rows."""
    expected = Refused if session.purpose is Purpose.REPAIR else MissingObjectError
    with pytest.raises(expected, match="no such table: gone"):
        session.rows("SELECT * FROM gone")


def test_only_a_reader_can_not_write(session: SQLiteSession) -> None:
    if session.purpose is Purpose.READ:
        with pytest.raises(AccessError, match="readonly"):
            session.execute("INSERT INTO t VALUES (%s)", [1])
    else:
        assert session.execute("INSERT INTO t VALUES (%s)", [1]) == 1
        assert session.rows("SELECT a FROM t WHERE a = %s FOR UPDATE", [1]) == [(1,)]


def test_objections_tell_what_is_wrong_with_an_object(session: SQLiteSession) -> None:
    assert session.error_of("SELECT a FROM t") is None
    assert session.error_of("SELECT b FROM t") == StatementError("no such column: b", conclusive=True)
    own = StatementError("no such function: f, which may be the application's own", conclusive=False)
    assert session.error_of("SELECT f(a) FROM t") == own


def test_a_closed_session_rolls_back_and_closes_again(session: SQLiteSession) -> None:
    session.close()
    session.rollback()
    session.close()
