"""A batch that is read again because a connection was lost the first time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.pieces import pieces
from tests.integration.moving.troubles import until
from tests.integration.moving.two_tables import ONE, TWO
from tieout.connectors.protocols.move import StageTable
from tieout.errors import UnreachableError
from tieout.move import staging
from tieout.move.schema_changes import TableProblem
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.move.staging import StageLogBatch

WAITING = (
    "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%CREATE UNLOGGED %' "
    "AND wait_event_type = 'Lock'"
)


@contextmanager
def cut_off(moving: Moving, stage: StageTable) -> Iterator[None]:
    """Who makes a stage like this one loses the connection."""

    def cut() -> None:
        until(lambda: bool(moving.target.rows(f"SELECT pg_terminate_backend(pid) {WAITING}")))

    with moving.target.connect() as connection:
        connection.autocommit = False
        connection.execute(f'LOCK TABLE "{stage.name.schema}"."{stage.name.name}" IN ACCESS EXCLUSIVE MODE')
        cutting = Thread(target=cut)
        cutting.start()
        yield
        cutting.join()
        connection.rollback()


def test_a_change_is_told_of_the_table_that_it_was_made_to(
    mariadb_to_postgres: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first time the connection was lost on another table: that one has nothing to do with it."""
    monkeypatch.setattr(staging, "PIECE_ROWS", 2)
    moving = mariadb_to_postgres
    for statement in (ONE, TWO):
        moving.source.execute(statement)
    with ExitStack() as stack:
        found: list[Any] = []
        for table in ("one", "two"):
            asked = moving.asking(table)
            request = replace(asked.request, task=f"{asked.request.task}-{table}")
            found.append(stack.enter_context(pieces(replace(asked, request=request))))
        one = found[0]
        stages: dict[Any, StageTable] = {}
        for each in found:
            stages |= each.target.make_stages(each.fence, [each.transfer])
        moving.source.executemany("INSERT INTO one VALUES (%s, 0)", [(n,) for n in range(20)])
        changed = one.source.log("any").now()
        moving.source.execute("ALTER TABLE two DROP COLUMN a")
        overlaps = dict.fromkeys(stages, SnapshotOverlap(()))
        log, reader, loader = one.source.log("any"), one.source.chunk_source(), one.target.loader()
        work = StageLogBatch(log, reader, loader, stages, overlaps, one.same_engine, one.began, log.now())
        with cut_off(moving, stages[one.transfer.source.name]), pytest.raises(UnreachableError):
            list(work.run())
        work.after = changed  # so that nothing goes before it
        (outcome,) = work.run()
    assert isinstance(outcome, TableProblem)
    assert outcome.table.name == "two"
    assert "two no longer has a column a" in outcome.reason
