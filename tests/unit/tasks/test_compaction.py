"""Compaction: whatever the changes were, applying what is left of them gives the same table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tieout.errors import UnsupportedError
from tieout.model.row_changes import KEPT, ChangeKind, LogTable, Rows
from tieout.model.tables import TableName
from tieout.tasks.compaction import CopiedChanges, KeyedChanges

NAME = TableName("shop", "orders")
TABLE = LogTable(NAME, ("id", "a", "b"))

Table = dict[int, tuple[Any, ...]]

steps = st.lists(
    st.tuples(
        st.sampled_from(["insert", "update", "delete", "move"]), st.integers(0, 5), st.integers(0, 5), st.integers()
    ),
    max_size=40,
)


def changes_of(table: Table, wanted: list[tuple[str, int, int, int]]) -> list[Rows]:
    """Changes that a database could have made to the table, which holds their outcome afterwards."""
    found = []
    for kind, key, other, value in wanted:
        row = (key, value, None)
        if kind == "insert" and key not in table:
            table[key] = row
            found.append(Rows(TABLE, ChangeKind.INSERT, [row]))
        elif kind == "update" and key in table:
            found.append(Rows(TABLE, ChangeKind.UPDATE, [row], [table[key]]))
            table[key] = row
        elif kind == "delete" and key in table:
            found.append(Rows(TABLE, ChangeKind.DELETE, [table.pop(key)]))
        elif kind == "move" and key in table and other not in table:
            old = table.pop(key)
            table[other] = (other, value, None)
            found.append(Rows(TABLE, ChangeKind.UPDATE, [table[other]], [old]))
    return found


def together(changes: list[Rows], *, whole: bool, with_old: bool) -> list[Rows]:
    """The same changes, those of one kind in a row together; old rows of the same key may be left out."""
    found: list[Rows] = []
    for rows in changes:
        before = rows.before
        if before and before[0] and before[0][0] == rows.rows[0][0] and not with_old:
            before = None
        if found and found[-1].kind is rows.kind and (found[-1].before is None) == (before is None):
            last = found.pop()
            rows = Rows(TABLE, rows.kind, last.rows + rows.rows, before and (last.before or []) + before)
            before = rows.before
        found.append(Rows(TABLE, rows.kind, rows.rows, before, whole))
    return found


@settings(max_examples=500)
@given(steps, steps, st.booleans(), st.booleans())
def test_the_last_of_each_key_is_enough(before: list[Any], after: list[Any], whole: bool, with_old: bool) -> None:
    table: Table = {}
    changes_of(table, before)
    target = dict(table)
    compacted = KeyedChanges(NAME, TABLE.columns, [0])
    for rows in together(changes_of(table, after), whole=whole, with_old=with_old):
        compacted.add(rows)
    taken = compacted.take()
    keys = {image[0] for image in taken.images}
    assert sum(taken.existed) == len(keys & target.keys())
    assert len(keys) == len(taken.images)
    for key in keys:
        target.pop(key, None)
    for kind, image in zip(taken.kinds, taken.images, strict=True):
        if kind != ChangeKind.DELETE:
            target[image[0]] = image
    assert target == table


@settings(max_examples=200)
@given(steps, steps)
def test_copies_add_up(before: list[Any], after: list[Any]) -> None:
    table: Table = {}
    changes_of(table, before)
    # Without their key, rows of different keys are copies of each other.
    target = Counter(row[1:] for row in table.values())
    compacted = CopiedChanges(NAME)
    for rows in changes_of(table, after):
        images = [row[1:] for row in rows.rows]
        compacted.add(Rows(rows.table, rows.kind, images, rows.before and [row and row[1:] for row in rows.before]))
    taken = compacted.take()
    for kind, image, copies in zip(taken.kinds, taken.images, taken.copies, strict=True):
        assert copies > 0
        target[image] += copies if kind == ChangeKind.INSERT else -copies
        assert target[image] >= 0, "no more copies go than there are"
    assert +target == Counter(row[1:] for row in table.values())


def test_what_the_log_left_out_comes_from_an_earlier_change() -> None:
    compacted = KeyedChanges(NAME, TABLE.columns, [0])
    compacted.add(Rows(TABLE, ChangeKind.INSERT, [(1, "large", 1)]))
    compacted.add(Rows(TABLE, ChangeKind.UPDATE, [(1, KEPT, 2)], [None]))
    compacted.add(Rows(TABLE, ChangeKind.UPDATE, [(2, KEPT, 3)], [(1, KEPT, KEPT)]))
    taken = compacted.take()
    assert dict(zip(taken.images, taken.kinds, strict=True)) == {
        (1, None, None): ChangeKind.DELETE,
        (2, "large", 3): ChangeKind.INSERT,
    }
    assert sum(taken.existed) == 0


def test_what_the_log_left_out_and_nothing_has_is_kept() -> None:
    compacted = KeyedChanges(NAME, TABLE.columns, [0])
    compacted.add(Rows(TABLE, ChangeKind.UPDATE, [(1, KEPT, 2)]))
    assert compacted.take().images == [(1, KEPT, 2)]


def test_a_value_left_out_of_a_row_with_a_new_key_is_refused() -> None:
    compacted = KeyedChanges(NAME, TABLE.columns, [0])
    with pytest.raises(UnsupportedError, match="got another key"):
        compacted.add(Rows(TABLE, ChangeKind.UPDATE, [(2, KEPT, 3)], [(1, KEPT, KEPT)]))


@pytest.mark.parametrize(
    "rows", [Rows(TABLE, ChangeKind.UPDATE, [(1, 2, 3)]), Rows(TABLE, ChangeKind.DELETE, [(1, KEPT, KEPT)])]
)
def test_rows_without_key_and_without_their_old_image_are_refused(rows: Rows) -> None:
    with pytest.raises(UnsupportedError, match="no key"):
        CopiedChanges(NAME).add(rows)


@pytest.mark.parametrize(
    "rows",
    [
        Rows(TABLE, ChangeKind.DELETE, [(KEPT, "a", None)]),
        Rows(TABLE, ChangeKind.UPDATE, [(1, "a", 1)], [(KEPT, "a", 1)]),
        Rows(TABLE, ChangeKind.UPDATE, [(KEPT, "a", 1)]),
    ],
)
@pytest.mark.parametrize("key", [[0], [0, 1]])
def test_a_row_whose_key_the_log_does_not_tell(rows: Rows, key: list[int]) -> None:
    with pytest.raises(UnsupportedError, match="key"):
        KeyedChanges(NAME, TABLE.columns, key).add(rows)


def test_a_deleted_row_has_its_key_wherever_that_is_read() -> None:
    """A transform reads a column once for its expressions, and once in the form of the target's column."""
    compacted = KeyedChanges(NAME, ("id", "shop", "a", "id"), [0, 1])
    table = LogTable(NAME, ("id", "shop", "a", "id"))
    compacted.add(Rows(table, ChangeKind.DELETE, [(1, 7, None, 1)]))
    assert compacted.take().images == [(1, 7, None, 1)]
