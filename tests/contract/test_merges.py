"""What every target promises of changes: each batch is merged once, by each lane on its own, and lacks are told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from itertools import count
from threading import Event

import pytest

from tests.contract.reading import described, scan_of, texts
from tieout.connectors.protocols.move import LaneStep, Merge, ShareRows, StagedChanges
from tieout.connectors.registry import open_target
from tieout.errors import FencedError, UnreachableError
from tieout.model.keys import EVERYTHING
from tieout.model.moves import Lane, Transfer, Version
from tieout.model.positions import Position
from tieout.model.row_changes import ChangeKind

SUITE = "move_target"
BEGAN, NEXT, LAST, BETWEEN, FAR = Position("5"), Position("9"), Position("12"), Position("14"), Position("16")
ELSEWHERE, FAR_ELSEWHERE = Position("24#b"), Position("26#b")
"""In another log."""
_NUMBERS = count()


@pytest.fixture
def target(url):
    with closing(open_target(url)) as opened:
        opened.prepare()
        yield opened


@pytest.fixture
def transfer(database, endpoint):
    name = f"merged_{next(_NUMBERS)}"
    database.execute(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY, n INTEGER)")
    database.execute(f"INSERT INTO {name} VALUES (1, 10), (2, 20), (3, 30)")
    table = described(endpoint, name)
    return Transfer(table, table, tuple((column, column) for column in table.columns), (0,))


@pytest.fixture
def fence(target, transfer):
    """Of a task that follows its log from BEGAN."""
    taken = target.progress.take(f"merge_{next(_NUMBERS)}", "a test")
    target.progress.begin_at(taken, lambda: BEGAN)
    target.progress.plan_columns(taken, transfer.source.name, transfer.source.column_names, transfer.target.name)
    target.progress.mark_following(taken, [transfer.source.name])
    return taken


@pytest.fixture
def staged(target, transfer, fence):
    """Stages changes, as (id, n, kind, share), and returns them with the batch that has them."""
    stage = target.make_stages(fence, [transfer])[transfer.source.name]
    attempts = count()

    def of(*changes, shares=1, existing=None, after=BEGAN, upto=NEXT):
        own = stage.of_attempt(f"a{next(attempts)}")
        target.loader().stage(own, [b"".join(map(_line, changes))], new=True)
        rows = [sum(share == each for *_, share in changes) for each in range(shares)]
        counted = tuple(ShareRows(each, each if existing is None else existing) for each in rows)
        return Merge([StagedChanges(own, counted)], after, upto, {}, 1_000_000)

    return of


def _line(change):
    number, n, kind, share = change
    return "\t".join(map(str, [number, n, int(kind), 0, 1, "\\N", share, 1])).encode() + b"\n"


def rows(endpoint, transfer):
    scan = scan_of(endpoint, transfer.target.name.name)
    return sorted((int(id), int(n)) for id, n in texts(scan.columns, endpoint.reader().read(scan, EVERYTHING)))


UPDATE, DELETE = ChangeKind.UPDATE, ChangeKind.DELETE


def test_a_batch_is_merged_with_its_progress(endpoint, target, transfer, fence, staged):
    merge = staged((1, 11, UPDATE, 0), (2, 20, DELETE, 0))
    assert target.merge(fence, merge, with_progress=True) == []
    assert rows(endpoint, transfer) == [(1, 11), (3, 30)]
    assert target.progress.read(fence.task).applied == NEXT


def test_a_batch_is_merged_once(endpoint, target, transfer, fence, staged):
    """Not again after its answer was lost, although it is the same batch."""
    target.merge(fence, staged((1, 11, UPDATE, 0)), with_progress=True)
    with pytest.raises(UnreachableError):
        target.merge(fence, staged((1, 12, UPDATE, 0)), with_progress=True)
    assert rows(endpoint, transfer) == [(1, 11), (2, 20), (3, 30)]


def test_staged_rows_that_a_crash_took_are_not_left_out(endpoint, target, transfer, fence, staged):
    merge = staged((1, 11, UPDATE, 0))
    (changes,) = merge.changes
    with pytest.raises(UnreachableError):
        target.merge(fence, replace(merge, changes=[replace(changes, shares=(ShareRows(2, 2),))]), with_progress=True)
    assert rows(endpoint, transfer) == [(1, 10), (2, 20), (3, 30)]
    assert target.progress.read(fence.task).applied is None


def test_lanes_merge_their_own_rows_and_once(endpoint, target, transfer, fence, staged):
    """Each lane is where it is: the one that has merged a batch refuses it, the other one has yet to merge it."""
    lanes = [Lane((str(transfer.target.name),), share, 2) for share in range(2)]
    merge = staged((1, 11, UPDATE, 0), (2, 22, UPDATE, 1), shares=2)
    target.merge(fence, merge, with_progress=True, steps=[LaneStep(lanes[0], 1, None, BEGAN)])
    assert rows(endpoint, transfer) == [(1, 11), (2, 20), (3, 30)]
    with pytest.raises(UnreachableError):
        target.merge(fence, merge, with_progress=True, steps=[LaneStep(lanes[0], 1, None, BEGAN)])
    assert [(each.lane.share, each.applied) for each in target.lanes.ahead(fence.task)] == [(0, NEXT)]
    assert target.progress.read(fence.task).applied is None
    target.merge(fence, merge, with_progress=True, steps=[LaneStep(lanes[1], 1, None, BEGAN)])
    assert rows(endpoint, transfer) == [(1, 11), (2, 22), (3, 30)]
    target.record(fence, Merge((), BEGAN, NEXT, {}, None), batch=1)
    assert target.lanes.ahead(fence.task) == []
    assert target.progress.read(fence.task).applied == NEXT


def test_a_lane_begins_where_the_task_is_and_not_in_an_earlier_copy(endpoint, target, transfer, fence, staged):
    """A copy of the target that lags behind has no such lane either: what is between would be left out."""
    lane = Lane((str(transfer.target.name),))
    merge = staged((1, 11, UPDATE, 0), after=NEXT, upto=LAST)
    with pytest.raises(UnreachableError):
        target.merge(fence, merge, with_progress=True, steps=[LaneStep(lane, 1, None, NEXT)])
    assert rows(endpoint, transfer) == [(1, 10), (2, 20), (3, 30)]
    assert target.lanes.ahead(fence.task) == []
    target.merge(fence, merge, with_progress=True, steps=[LaneStep(lane, 1, None, BEGAN)])
    assert [each.applied for each in target.lanes.ahead(fence.task)] == [LAST]


def test_a_lane_that_is_still_merging_holds_no_progress_back(url, target, transfer, fence, staged):
    """Whoever takes the task over waits for both."""
    if target.writers == 1:
        pytest.xfail("nobody else writes while a lane merges")
    with closing(open_target(url)) as other, ThreadPoolExecutor(2) as pool:
        with other.progress.together(fence, other.shared_lock):
            recorded = pool.submit(target.record, fence, Merge((), BEGAN, NEXT), batch=1)
            recorded.result(10)
            with closing(open_target(url)) as third:
                taken = pool.submit(third.progress.take, fence.task, "another")
                assert not wait([taken], 1).done
                other.session.rollback()
                assert taken.result(10).epoch == fence.epoch + 1
        with pytest.raises(FencedError):
            target.record(fence, Merge((), NEXT, LAST), batch=2)
    assert target.progress.read(fence.task).applied == NEXT


def test_a_lane_that_commits_late_keeps_its_progress(url, target, transfer, fence, staged):
    """Its answer was lost: a mover that goes on waits for the transaction before it looks where the lanes are."""
    if target.writers == 1:
        pytest.xfail("nobody else writes while a lane merges")
    lane = Lane((str(transfer.target.name),))
    merge = staged((1, 11, UPDATE, 0))
    at_commit, goes_on = Event(), Event()
    with closing(open_target(url)) as slow, ThreadPoolExecutor(2) as pool:
        commit = slow.session.commit

        def late():
            at_commit.set()
            assert goes_on.wait(20)
            commit()

        slow.session.commit = late
        merged = pool.submit(slow.merge, fence, merge, with_progress=True, steps=[LaneStep(lane, 1, None, BEGAN)])
        assert at_commit.wait(20)
        kept = pool.submit(target.lanes.keep_ahead, fence)
        assert not wait([kept], 1).done
        goes_on.set()
        merged.result(20)
        assert [each.applied for each in kept.result(20)] == [NEXT]
    assert [each.applied for each in target.lanes.ahead(fence.task)] == [NEXT]


def test_lanes_that_are_where_the_task_is_are_forgotten(target, transfer, fence, staged):
    lanes = [Lane((str(transfer.target.name),), share, 2) for share in range(2)]
    merge = staged((1, 11, UPDATE, 0), (2, 22, UPDATE, 1), shares=2)
    for lane in lanes:
        target.merge(fence, merge, with_progress=False, steps=[LaneStep(lane, 1, None, BEGAN)])
    target.record_lanes(fence, merge, [LaneStep(lanes[0], 1, None, BEGAN)])
    assert [(each.lane.share, each.applied) for each in target.lanes.keep_ahead(fence)] == [(0, NEXT)]
    target.record(fence, Merge((), BEGAN, NEXT), batch=1)
    assert target.lanes.keep_ahead(fence) == []
    assert target.session.rows(f"SELECT 1 FROM {target.progress.table('lanes')} WHERE task = %s", [fence.task]) == []
    assert target.lanes.last_batch(fence.task) == 1


def test_one_who_lost_the_task_merges_nothing(endpoint, target, transfer, fence, staged):
    merge = staged((1, 11, UPDATE, 0))
    target.progress.take(fence.task, "another")
    for steps in ([], [LaneStep(Lane((str(transfer.target.name),)), 1, None, BEGAN)]):
        with pytest.raises(FencedError):
            target.merge(fence, merge, with_progress=True, steps=steps)
    assert rows(endpoint, transfer) == [(1, 10), (2, 20), (3, 30)]


def test_rows_that_are_lacking_are_told_with_their_keys_and_kept(endpoint, target, transfer, fence, staged):
    found = target.merge(fence, staged((1, 11, UPDATE, 0), (7, 77, UPDATE, 0), (8, 0, DELETE, 0)), with_progress=True)
    assert sorted((each.kind, each.key["id"]) for each in found) == [("delete", "8"), ("update", "7")]
    assert target.rows_not_found(fence.task) == found
    assert rows(endpoint, transfer) == [(1, 11), (2, 20), (3, 30), (7, 77)]


def test_its_users_see_how_current_a_table_is(database, target, transfer, fence, staged):
    """`consistent` only while no lane is ahead, and no batch may be merged whose position is not stored."""
    view = target.session.table(replace(transfer.target.name, schema=target.schema, name="tieout_table_versions"))

    def shown():
        (row,) = target.session.rows(
            f"SELECT state, log_position, changed_by, consistent FROM {view} WHERE task = %s", [fence.task]
        )
        state, position, changed_by, consistent = row
        return state, position, changed_by, int(consistent)

    assert shown()[3] == 1
    name, lane = transfer.target.name, Lane((str(transfer.target.name),))
    merge = replace(staged((1, 11, UPDATE, 0)), versions={name: Version("t7", 1_000_000)})
    target.merge(fence, merge, with_progress=True, steps=[LaneStep(lane, 1, None, BEGAN)])
    assert shown() == ("following", "9", "t7", 0)
    target.record(fence, Merge((), BEGAN, NEXT, {}, None), batch=1)
    assert shown() == ("following", "9", "t7", 1)
    target.progress.plan_batch(fence, NEXT, LAST)
    target.merge(fence, staged((2, 22, UPDATE, 0), after=NEXT, upto=LAST), with_progress=False)
    assert shown() == ("following", "9", "t7", 0)
    target.record(fence, Merge((), NEXT, LAST, {}, None))
    assert shown() == ("following", "12", "t7", 1)
    target.progress.plan_batch(fence, LAST, FAR)
    target.merge(fence, staged((2, 23, UPDATE, 0), after=LAST, upto=FAR), with_progress=False)
    target.progress.plan_batch(fence, LAST, BETWEEN)
    target.record(fence, Merge((), LAST, BETWEEN, {}, None))
    assert shown() == ("following", "14", "t7", 0), "rows of the batch that was begun first may be there"
    target.progress.rebase(fence, BETWEEN, ELSEWHERE, batch_end=FAR_ELSEWHERE, chunks=True)
    assert shown() == ("following", "14", "t7", 0), "in another log, too"
    target.record(fence, Merge((), ELSEWHERE, FAR_ELSEWHERE, {}, None))
    assert shown() == ("following", "26", "t7", 1)
    target.progress.mark_inexact(fence)
    assert shown() == ("following", "26", "t7", 0), "changes were lost, or may have come twice"
    target.progress.stop_table(fence, transfer.source.name, "a test")
    assert shown() == ("stopped", None, "t7", 0)
