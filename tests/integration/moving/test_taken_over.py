"""A mover that another one took over from does it no harm."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.pieces import pieces
from tieout.config.urls import parse_url
from tieout.connectors.protocols.move import Merge
from tieout.connectors.registry import open_target
from tieout.connectors.sql.ddl import TABLE
from tieout.errors import FencedError, UnreachableError
from tieout.model.keys import EVERYTHING
from tieout.model.moves import Chunk
from tieout.model.tables import TableName
from tieout.move.staging import StagedLogBatch


@pytest.fixture
def accounts(moving: Moving) -> Moving:
    for database in (moving.source, moving.target):
        database.execute("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT)")
    return moving.asking("accounts")


def test_it_leaves_stages_and_progress_alone(accounts: Moving) -> None:
    with pieces(accounts) as old, closing(open_target(parse_url(accounts.target.url))) as other:
        task, name = old.fence.task, old.transfer.source.name
        taken = other.progress.take(task, "another one")
        stages = other.make_stages(taken, [old.transfer])

        with pytest.raises(FencedError):
            old.target.make_stages(old.fence, [old.transfer])
        with pytest.raises(FencedError):
            old.target.progress.stop_table(old.fence, name, "nonsense")
        with pytest.raises(FencedError):
            old.target.progress.plan_columns(old.fence, name, ["nonsense"], name)
        with pytest.raises(FencedError):
            old.target.chunks.plan(old.fence, [Chunk(name, 1, EVERYTHING)])
        with pytest.raises(FencedError):
            old.target.progress.make(old.fence, TableName("non", "sense"), name)
        with pytest.raises(FencedError):
            old.target.progress.step(old.fence, name, 2)
        with pytest.raises(FencedError):
            old.target.progress.begin_at(old.fence, lambda: pytest.fail("it would drop the other one's slot"))
        with pytest.raises(FencedError):
            old.target.run(old.fence, old.transfer.target.name, [f"ALTER TABLE {TABLE} ADD COLUMN nonsense INT"])
        with pytest.raises(FencedError):
            old.target.drop_task(old.fence)
        old.target.progress.release(old.fence)

        known = other.progress.read(task)
        assert known is not None
        assert known.silent_for < 30, "nobody may think it dead"
        assert other.progress.stopped(task) == {}
        assert other.progress.planned_columns(task) == {}
        assert set(_stages(accounts)) == {stage.name.name for stage in stages.values()}
        assert "nonsense" not in str(accounts.target.rows("SELECT * FROM information_schema.columns"))
        other.progress.release(taken)


def test_one_that_takes_over_drops_what_the_old_one_staged(accounts: Moving) -> None:
    with pieces(accounts) as old, closing(open_target(parse_url(accounts.target.url))) as other:
        moved_in(accounts)
        old.stage()
        assert len(_stages(accounts)) == 2
        taken = other.progress.take(old.fence.task, "another one")
        stages = other.make_stages(taken, [old.transfer])
        assert _stages(accounts) == [stage.name.name for stage in stages.values()]
        other.progress.release(taken)


def moved_in(accounts: Moving) -> None:
    accounts.source.execute("INSERT INTO accounts VALUES (1, 10), (2, 20)")


def test_a_task_that_outlives_its_job_doubles_nothing(moving: Moving) -> None:
    """Spark tries a task again while the first try still runs somewhere: both write what they read, without a key."""
    for database in (moving.source, moving.target):
        database.execute("CREATE TABLE accounts (id INT, balance INT)")
    if moving.source.server.scheme == "postgresql":
        moving.source.execute("ALTER TABLE accounts REPLICA IDENTITY FULL")
    with pieces(moving.asking("accounts")) as one:
        moved_in(moving)
        work = one.work()
        first = work.run()
        (staged,) = work.run()
        assert isinstance(staged, StagedLogBatch)
        merge = Merge(staged.changes, one.began, staged.upto, staged.versions)
        (late,) = first  # the first try comes through after all
        assert isinstance(late, StagedLogBatch)
        assert late.changes[0].stage.name != staged.changes[0].stage.name
        assert one.target.merge(one.fence, merge, with_progress=True) == []
        assert sorted(moving.target.rows("SELECT id, balance FROM accounts")) == [(1, 10), (2, 20)]
        with pytest.raises(UnreachableError, match="is no longer at"):
            one.target.merge(one.fence, Merge(late.changes, one.began, late.upto), with_progress=True)
        with pytest.raises(UnreachableError, match="is no longer at"):
            one.target.merge(one.fence, Merge(late.changes, one.began, late.upto), with_progress=False)
        assert len(moving.target.rows("SELECT id, balance FROM accounts")) == 2


def _stages(moving: Moving) -> list[str]:
    found = moving.target.rows("SELECT table_name FROM information_schema.tables")
    return sorted(str(name) for (name,) in found if "tieout_stage" in name)
