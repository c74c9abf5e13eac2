"""Which changes chunks hold: by place in the log, and by what a snapshot saw."""

from __future__ import annotations

import pytest

from tieout.model.keys import KeyRange
from tieout.model.moves import Chunk, Held, is_visible
from tieout.model.positions import Position, lsn
from tieout.model.row_changes import Begin, ChangeKind, LogTable, Rows
from tieout.model.tables import TableName
from tieout.move.snapshot_overlap import SnapshotOverlap

NAME = TableName("shop", "orders")
TABLE = LogTable(NAME, ("id", "a"))


def at(offset: int) -> Position:
    return Position(f"bin.000001:{offset}")


@pytest.fixture
def overlap() -> SnapshotOverlap:
    """Keys below 10 as of 100, the others as of 200."""
    low = Chunk(NAME, 0, KeyRange(None, ("10",)), Held(at(100)))
    high = Chunk(NAME, 1, KeyRange(("10",), None), Held(at(200)))
    return SnapshotOverlap.of([low, high], integer=True)


def rest(overlap: SnapshotOverlap, rows: Rows, position: int) -> list[tuple[ChangeKind, list[tuple[int, str]]]]:
    found = overlap.rest(rows, Begin(at(position), "0-1-1"), lambda row: row[0], lambda rows: [])
    return [(part.kind, part.rows) for part in found]


def test_each_chunk_holds_what_came_before_it(overlap: SnapshotOverlap) -> None:
    rows = Rows(TABLE, ChangeKind.INSERT, [(1, "x"), (9, "x"), (10, "x"), (11, "x")])
    assert rest(overlap, rows, 99) == []
    assert rest(overlap, rows, 100) == [(ChangeKind.INSERT, [(1, "x"), (9, "x")])]
    assert rest(overlap, rows, 200) == [(ChangeKind.INSERT, rows.rows)]
    assert overlap.concerns(Begin(at(199), "0-1-1"))
    assert not overlap.concerns(Begin(at(200), "0-1-1"))


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (1, 2, [(ChangeKind.UPDATE, [(2, "y")])]),
        (1, 12, [(ChangeKind.DELETE, [(1, "x")])]),
        (12, 1, [(ChangeKind.INSERT, [(1, "y")])]),
        (12, 13, []),
    ],
)
def test_a_row_that_moves_to_another_chunk(overlap: SnapshotOverlap, old: int, new: int, left: object) -> None:
    rows = Rows(TABLE, ChangeKind.UPDATE, [(new, "y")], [(old, "x")])
    assert rest(overlap, rows, 150) == left


def test_a_chunk_that_is_not_copied_holds_nothing_to_rely_on() -> None:
    with pytest.raises(ValueError, match="not copied"):
        SnapshotOverlap.of([Chunk(NAME, 0, KeyRange())], integer=True)


@pytest.mark.parametrize(
    ("xid", "snapshot", "visible"),
    [
        (99, "100:110:", True),
        (100, "100:110:100,105", False),
        (101, "100:110:100,105", True),
        (105, "100:110:100,105", False),
        (110, "100:110:", False),
        (5, f"{(1 << 32) + 10}:{(1 << 32) + 20}:", True),
        (15, f"{(1 << 32) + 10}:{(1 << 32) + 20}:{(1 << 32) + 15}", False),
        ((1 << 32) - 1, f"{(1 << 32) + 10}:{(1 << 32) + 20}:", True),
        (3, f"{(1 << 32) - 10}:{(1 << 32) - 5}:", False),
    ],
)
def test_what_a_snapshot_saw(xid: int, snapshot: str, visible: bool) -> None:
    assert is_visible(xid, snapshot) is visible


def test_in_the_log_and_not_yet_visible_is_not_held() -> None:
    held = Held(lsn(500), "100:110:104")
    assert held.holds(Begin(lsn(400), "103"))
    assert not held.holds(Begin(lsn(400), "104"))
    assert not held.holds(Begin(lsn(500), "103"))
