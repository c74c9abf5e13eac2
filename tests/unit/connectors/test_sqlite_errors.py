"""SQLite's errors are told apart by their codes: their texts hold names and words of users."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.protocols.repair import Refused, TryAgain
from tieout.connectors.sqlite.check.engine_checker import integrity_check
from tieout.connectors.sqlite.endpoint import open_endpoint
from tieout.connectors.sqlite.move.target import open_target
from tieout.connectors.sqlite.writer import open_writer
from tieout.errors import FullError, MissingObjectError, ReadError, UnreachableError, WriteError
from tieout.model.tables import TableName


@pytest.fixture
def url(tmp_path: Path) -> EndpointUrl:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER CONSTRAINT locked_rows CHECK (a < 10), b TEXT UNIQUE)")
        connection.execute(
            "CREATE TRIGGER quiet BEFORE INSERT ON t WHEN NEW.b = 'x' BEGIN SELECT RAISE(ABORT, 'account is busy'); END"
        )
        connection.execute('CREATE TABLE "no such table" (a INTEGER CONSTRAINT "disk is full" CHECK (a < 10))')
        connection.execute('CREATE TABLE "UNIQUE constraint" (a INTEGER NOT NULL)')
    return parse_url(f"sqlite:///{tmp_path}/a.db")


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t (a) VALUES (10)",
        "INSERT INTO t (b) VALUES ('x')",
        'INSERT INTO "no such table" VALUES (10)',
    ],
)
def test_a_repair_takes_no_name_or_word_of_users_for_an_error(url: EndpointUrl, statement: str) -> None:
    with closing(open_writer(url)) as writer:
        writer.begin()
        with pytest.raises(Refused):
            writer.execute(statement)


def test_a_row_whose_trigger_needs_a_missing_table_does_not_end_a_repair(url: EndpointUrl) -> None:
    with closing(sqlite3.connect(url.path or "", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE audit (a)")
        connection.execute("CREATE TRIGGER noted AFTER DELETE ON t BEGIN INSERT INTO audit VALUES (1); END")
        connection.execute("DROP TABLE audit")
    with closing(open_writer(url)) as writer:
        writer.begin()
        writer.execute("INSERT INTO t (a) VALUES (1)")
        with pytest.raises(Refused, match="audit"):
            writer.execute("DELETE FROM t")
        writer.execute("INSERT INTO t (a) VALUES (2)")
        writer.commit()


def test_only_a_taken_value_collides(url: EndpointUrl) -> None:
    with closing(open_writer(url)) as writer:
        writer.begin()
        with pytest.raises(Refused) as null:
            writer.execute('INSERT INTO "UNIQUE constraint" VALUES (NULL)')
        writer.execute("INSERT INTO t (b) VALUES ('b')")
        with pytest.raises(Refused) as taken:
            writer.execute("INSERT INTO t (b) VALUES ('b')")
    assert not null.value.collides
    assert taken.value.collides


def test_a_mover_takes_no_name_of_users_for_a_lock(url: EndpointUrl) -> None:
    with closing(open_target(url)) as target, pytest.raises(WriteError, match="locked_rows"):
        target.session.execute("INSERT INTO t (a) VALUES (10)")


def test_a_lock_is_contention_to_a_repair_and_unreachable_to_others(url: EndpointUrl) -> None:
    with (
        closing(sqlite3.connect(url.path or "", isolation_level=None)) as other,
        closing(open_writer(url)) as writer,
        closing(open_endpoint(url)) as endpoint,
    ):
        for session in (writer.session.connection, endpoint._connection):
            session.execute("PRAGMA busy_timeout = 10")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TryAgain):
            writer.begin()
        with pytest.raises(UnreachableError, match="locked"):
            endpoint.tables()


def test_a_reader_knows_a_busy_file_whatever_the_words(url: EndpointUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = sqlite3.OperationalError("cannot start: SQL statements in progress")
    busy.sqlite_errorcode, busy.sqlite_errorname = sqlite3.SQLITE_BUSY_SNAPSHOT, "SQLITE_BUSY_SNAPSHOT"

    class Busy:
        def execute(self, _: str) -> None:
            raise busy

    with closing(open_endpoint(url)) as endpoint:
        monkeypatch.setattr(endpoint, "_connection", Busy())
        with pytest.raises(UnreachableError):
            endpoint.tables()
        monkeypatch.undo()


def test_a_full_disk_ends_a_repair(url: EndpointUrl) -> None:
    with closing(open_writer(url)) as writer:
        pages = writer.session.connection
        ((most,),) = pages.execute("PRAGMA page_count").fetchall()
        pages.execute(f"PRAGMA max_page_count = {most}")
        writer.begin()
        with pytest.raises(FullError, match="full"):
            writer.execute("INSERT INTO t (b) VALUES (hex(zeroblob(100000)))")


def test_a_damaged_file_ends_a_repair(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"This is not a database, and it is long enough to be read as one." * 20)
    with pytest.raises((ReadError, WriteError), match="not a database"):
        open_writer(parse_url(f"sqlite:///{tmp_path}/a.db")).begin()


def test_a_name_is_not_taken_for_a_timeout(url: EndpointUrl) -> None:
    with pytest.raises(MissingObjectError, match="no such table"):
        integrity_check(url, TableName("main", "interrupted"), 60)
