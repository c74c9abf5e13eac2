"""One row of an error table, and what each flow makes of it."""

from __future__ import annotations

import pytest

from tieout.connectors.protocols.repair import Refused, TryAgain
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.errors import AccessError, BusyError, FullError, MissingObjectError, ReadError, UnreachableError, WriteError

LOST = ErrorMeaning(UnreachableError, "the connection was lost", resumable=True)
LOCKED = ErrorMeaning(BusyError, "another session holds a lock", busy=True, contention=True, inconclusive=True)


def test_only_readers_are_told_to_resume() -> None:
    assert LOST.for_reader("db").hint == "the connection was lost; run it again (tieout verify: with --resume)"
    assert LOST.for_mover("db").hint == "the connection was lost"


def test_what_a_mover_retries() -> None:
    assert type(LOCKED.for_mover("db")) is BusyError
    assert LOCKED.for_mover("db").hint is None


def test_what_cannot_be_read_cannot_be_written() -> None:
    assert type(ErrorMeaning().for_reader("db")) is ReadError
    assert type(ErrorMeaning().for_mover("db")) is WriteError


@pytest.mark.parametrize("flow", ["for_mover", "for_repair"])
def test_a_server_that_is_read_only(flow: str) -> None:
    meaning = ErrorMeaning(read_only=True)
    found = meaning.for_mover("db") if flow == "for_mover" else meaning.for_repair("db", "said", grant="GRANT")
    assert isinstance(found, AccessError)
    assert found.hint == "the server does not accept changes"


def test_a_repair_tells_a_statement_from_its_surroundings() -> None:
    collision = ErrorMeaning(collides=True).for_repair("db: said", "said", grant="GRANT")
    assert isinstance(collision, Refused)
    assert collision.collides
    assert isinstance(LOCKED.for_repair("db: said", "said", grant="GRANT"), TryAgain)
    for error in (UnreachableError, MissingObjectError, FullError):
        assert type(ErrorMeaning(error).for_repair("db: said", "said", grant="GRANT")) is error
    denied = ErrorMeaning(AccessError, "GRANT SELECT").for_repair("db: said", "said", grant="GRANT INSERT")
    assert isinstance(denied, AccessError)
    assert denied.hint == "GRANT INSERT"
