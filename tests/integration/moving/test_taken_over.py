"""A mover that another one took over from does it no harm."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.pieces import pieces
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_target
from tieout.errors import FencedError
from tieout.model.keys import EVERYTHING
from tieout.model.moving import Chunk


@pytest.fixture
def accounts(moving: Moving) -> Moving:
    for database in (moving.source, moving.target):
        database.execute("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT)")
    return moving.asking("accounts")


def test_it_leaves_stages_and_progress_alone(accounts: Moving) -> None:
    with pieces(accounts) as old, closing(open_target(parse_url(accounts.target.url))) as other:
        task, name = old.fence.task, old.transfer.source.name
        taken = other.progress.take(task, "another one")
        (stages,) = other.make_stages(taken, [old.transfer], 1)

        with pytest.raises(FencedError):
            old.target.make_stages(old.fence, [old.transfer], 1)
        with pytest.raises(FencedError):
            old.target.progress.stop_table(old.fence, name, "nonsense")
        with pytest.raises(FencedError):
            old.target.progress.plan_columns(old.fence, name, ["nonsense"])
        with pytest.raises(FencedError):
            old.target.progress.plan_chunks(old.fence, [Chunk(name, 1, EVERYTHING)])
        old.target.progress.release(old.fence)

        known = other.progress.read(task)
        assert known is not None
        assert known.silent_for < 30, "nobody may think it dead"
        assert other.progress.stopped(task) == {}
        assert other.progress.planned_columns(task) == {}
        other.empty_stages(stages.values())  # they are there


def test_one_that_takes_over_drops_what_the_old_one_staged(accounts: Moving) -> None:
    with pieces(accounts) as old, closing(open_target(parse_url(accounts.target.url))) as other:
        old.target.make_stages(old.fence, [old.transfer], 2)
        taken = other.progress.take(old.fence.task, "another one")
        (stages,) = other.make_stages(taken, [old.transfer], 1)
        left = [table for table in _tables(accounts) if "stage" in table]
        assert left == [stage.name.name for stage in stages.values()]


def _tables(moving: Moving) -> list[str]:
    return sorted(
        str(name)
        for (name,) in moving.target.rows("SELECT table_name FROM information_schema.tables")
        if "tieout" in name
    )
