"""Connections that stay open for a task: with real ones, to SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tieout.connectors.sql.connection_cache import kept_open, lease


def connect() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


def is_open(connection: sqlite3.Connection) -> bool:
    with suppress(sqlite3.ProgrammingError):
        return connection.execute("SELECT 1").fetchone() == (1,)
    return False


def leased(key: str = "a") -> sqlite3.Connection:
    with lease(key, connect) as connection:
        assert is_open(connection)
    return connection


def test_one_connection_serves_a_whole_block() -> None:
    with kept_open():
        first, second = leased(), leased()
        assert first is second
        assert is_open(first)
    assert not is_open(first)


def test_each_key_has_its_own() -> None:
    with kept_open():
        assert leased("a") is not leased("b")


def test_a_connection_is_held_by_one_at_a_time() -> None:
    with kept_open():
        with lease("a", connect) as outer, lease("a", connect) as inner:
            assert outer is not inner
        assert is_open(inner)
        assert not is_open(outer)  # one is kept of a kind


def test_after_an_error_a_new_one_is_opened() -> None:
    with kept_open():
        broken = leased()
        with suppress(ZeroDivisionError), lease("a", connect):
            raise ZeroDivisionError
        assert not is_open(broken)
        assert is_open(leased())


def test_a_stream_that_is_not_read_to_its_end_takes_its_connection_with_it() -> None:
    def rows() -> Iterator[tuple[int]]:
        with lease("a", connect) as connection:
            yield from connection.execute("SELECT 1 UNION SELECT 2")

    with kept_open():
        kept = leased()
        stream = rows()
        next(stream)
        stream.close()
        assert not is_open(kept)


@pytest.mark.parametrize("after_a_block", [False, True])
def test_outside_of_a_block_nothing_is_kept(after_a_block: bool) -> None:
    if after_a_block:
        with kept_open():
            leased()
    assert not is_open(leased())
