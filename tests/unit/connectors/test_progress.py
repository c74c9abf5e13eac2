"""A mover's right to write, and how far it is, as every target keeps them: here, in an SQLite file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.pieces import pieces
from tests.servers.sqlite import SqliteDatabase
from tieout.config.urls import parse_url
from tieout.connectors.protocols.move import Merge, Target
from tieout.connectors.registry import open_target
from tieout.connectors.sql.progress import ProgressTables
from tieout.errors import FencedError, UnreachableError
from tieout.model.positions import Position, lsn
from tieout.model.requests import MoveRequest
from tieout.move.staging import StagedLogBatch

Create = Callable[[str], SqliteDatabase]
TABLE = "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)"


@pytest.fixture
def database(sqlite_db: Create) -> SqliteDatabase:
    database = sqlite_db("target")
    database.execute(TABLE)
    return database


@pytest.fixture
def progress(database: SqliteDatabase) -> Iterator[ProgressTables]:
    with closing(open_target(parse_url(database.url))) as target:
        target.prepare()
        yield target.progress


def test_a_mover_that_was_taken_over_writes_nothing(progress: ProgressTables) -> None:
    old = progress.take("shop", "one")
    with progress.together(old):
        pass
    new = progress.take("shop", "another")
    with pytest.raises(FencedError, match="another mover has taken over the task shop: another"):
        with progress.together(old):
            pytest.fail("it may write")
    progress.release(old)
    known = progress.read("shop")
    assert known is not None
    assert known.silent_for < 30, "nobody may think the other one dead"
    with progress.together(new):
        pass


def test_progress_goes_on_from_where_a_batch_began_alone(progress: ProgressTables) -> None:
    fence = progress.take("shop", "one")
    progress.begin_at(fence, lambda: lsn(1))
    progress.advance("shop", Merge((), lsn(1), lsn(2)))
    with pytest.raises(UnreachableError, match="is no longer at 0/1"):
        progress.advance("shop", Merge((), lsn(1), lsn(3)))
    for alone in (True, False):
        with pytest.raises(UnreachableError, match="is no longer at 0/1"), progress.together(fence):
            progress.require("shop", lsn(1), alone=alone)
    known = progress.read("shop")
    assert known is not None
    assert known.reached == lsn(2)


def test_what_failed_half_way_is_taken_back(progress: ProgressTables, database: SqliteDatabase) -> None:
    fence = progress.take("shop", "one")

    def fail_half_way() -> None:
        with progress.together(fence):
            progress.session.execute("INSERT INTO t VALUES (1, 1)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert database.rows("SELECT * FROM t") == []
    with progress.together(fence):
        progress.session.execute("INSERT INTO t VALUES (2, 2)")
    assert database.rows("SELECT * FROM t") == [(2, 2)]


def test_what_was_staged_and_is_gone_is_not_merged(database: SqliteDatabase, sqlite_db: Create, tmp_path: Path) -> None:
    """A server that crashes empties what it keeps no log of."""
    source, no_spark = sqlite_db("source"), None
    source.execute(TABLE)
    request = MoveRequest("shop", source.url, database.url)
    sides: Any = (source, database, no_spark)
    with pieces(Moving(*sides, tmp_path, request).asking("t")) as one:
        source.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        (staged,) = one.work().run()
        assert isinstance(staged, StagedLogBatch)
        merge = Merge(staged.changes, one.began, staged.upto, staged.versions)
        stage = staged.changes[0].stage.name.name
        database.execute(f'CREATE TABLE kept AS SELECT * FROM "{stage}"; DELETE FROM "{stage}" WHERE id = 2')
        with pytest.raises(UnreachableError, match="of 2 staged rows only 1 are left"):
            one.target.merge(one.fence, merge, with_progress=True)
        assert (reached(one.target), database.rows("SELECT * FROM t")) == (one.began, [])
        database.execute(f'DELETE FROM "{stage}"; INSERT INTO "{stage}" SELECT * FROM kept')
        assert one.target.merge(one.fence, merge, with_progress=True) == []
        assert (reached(one.target), database.rows("SELECT * FROM t")) == (staged.upto, [(1, 1), (2, 2)])


def reached(target: Target) -> Position | None:
    known = target.progress.read("shop")
    assert known is not None
    return known.reached
