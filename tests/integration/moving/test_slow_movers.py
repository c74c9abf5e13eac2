"""A mover that is to be slow rests in the middle of its statements, and no server hangs up meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.pieces import pieces
from tests.variants import later
from tieout.move.snapshot import CopyChunk

if TYPE_CHECKING:
    from tests.servers.server import Database

ROWS = 3
MEGABYTES = 8
"""Of a row: more than sockets hold, so that the source has to wait with it."""


@contextmanager
def impatient(database: Database) -> Iterator[None]:
    """A second takes the place of the 30 and 60 that a server waits for a client unless told otherwise."""
    names = ("net_read_timeout", "net_write_timeout")
    before = {name: database.rows(f"SELECT @@GLOBAL.{name}")[0][0] for name in names}
    for name in names:
        database.execute(f"SET GLOBAL {name} = 1")
    try:
        yield
    finally:
        for name, value in before.items():
            database.execute(f"SET GLOBAL {name} = {value}")


@pytest.mark.parametrize("moving", ["mariadb-postgres", later("postgres-mariadb")], indirect=True)
def test_a_copy_that_rests_longer_than_a_server_waits(moving: Moving) -> None:
    text = "LONGTEXT" if moving.source.server.scheme == "mysql" else "TEXT"
    moving.source.execute(f"CREATE TABLE t (id INT PRIMARY KEY, a {text})")
    moving.source.executemany("INSERT INTO t VALUES (%s, REPEAT('x', %s))", [(n, MEGABYTES << 20) for n in range(ROWS)])
    mariadb = moving.source if moving.source.server.scheme == "mysql" else moving.target
    with impatient(mariadb), pieces(moving.asking("t")) as one:
        (chunk,) = one.target.chunks.of(one.fence.task, [one.transfer.source.name])
        work = CopyChunk(
            one.source.chunk_source(), one.target.loader(), one.fence, one.transfer, chunk, one.same_engine
        )
        list(replace(work, rows_per_second=0.5).run())
    lengths = "SELECT id, LENGTH(a) FROM t ORDER BY id"
    assert moving.target.rows(lengths) == moving.source.rows(lengths)
