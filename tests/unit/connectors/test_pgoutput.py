"""pgoutput's messages, made by hand: what a server would send only at certain moments."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from tieout.connectors.postgres.wal.decoder import Decoder
from tieout.connectors.postgres.wal.pgoutput import Batch
from tieout.errors import ReadError
from tieout.model.positions import Position
from tieout.model.row_changes import KEPT, Begin, ChangeKind, Commit, Emptied, LogItem, LogTable, Rows
from tieout.model.tables import TableName

T, U = TableName("public", "t"), TableName("public", "u")
INSERT, UPDATE, DELETE = ChangeKind.INSERT, ChangeKind.UPDATE, ChangeKind.DELETE
EVERYTHING = (0, 1 << 63)


def relation(oid: int, name: str, columns: dict[str, bool], schema: bytes = b"public") -> bytes:
    """`columns` are names, and whether they are part of the replica identity."""
    described = [b"%c%s\0" % (part, column.encode()) + struct.pack(">Ii", 25, -1) for column, part in columns.items()]
    head = b"R" + struct.pack(">I", oid) + schema + b"\0" + name.encode() + b"\0d"
    return head + struct.pack(">H", len(columns)) + b"".join(described)


def values(*texts: Any) -> bytes:
    def value(text: Any) -> bytes:
        if text is None or text is KEPT:
            return b"n" if text is None else b"u"
        octets = text if isinstance(text, bytes) else text.encode()
        return b"t" + struct.pack(">I", len(octets)) + octets

    return struct.pack(">H", len(texts)) + b"".join(map(value, texts))


def change(kind: str, oid: int, *tuples: tuple[str, bytes]) -> bytes:
    return kind.encode() + struct.pack(">I", oid) + b"".join(mark.encode() + each for mark, each in tuples)


def insert(oid: int, *texts: Any) -> bytes:
    return change("I", oid, ("N", values(*texts)))


def begin(commit_begins: int, xid: int = 7) -> bytes:
    return b"B" + struct.pack(">QqI", commit_begins, 1_000_000, xid)


def commit(begins: int, ends: int) -> bytes:
    return b"C\0" + struct.pack(">QQq", begins, ends, 1_000_000)


def truncate(*oids: int) -> bytes:
    return b"T" + struct.pack(f">IB{len(oids)}I", len(oids), 0, *oids)


def transaction(number: int, *messages: bytes) -> list[bytes]:
    """Its commit record begins at 100 times the number, and is 50 bytes long."""
    return [begin(100 * number, number), *messages, commit(100 * number, 100 * number + 50)]


def copied(message: bytes) -> bytes:
    return struct.pack(">Hi", 1, len(message)) + message


def decoded(
    messages: Iterable[bytes],
    *,
    at_once: int = 1000,
    between: tuple[int, int] = EVERYTHING,
    tables: frozenset[TableName] = frozenset({T, U}),
) -> list[LogItem]:
    rows = [copied(message) for message in messages]
    decoder = Decoder(*between, tables)
    batches = [rows[first : first + at_once] for first in range(0, len(rows), at_once)]
    return [item for batch in batches for item in decoder.items(Batch(batch))]


def images(items: Iterable[LogItem]) -> list[Any]:
    return [image for item in items if isinstance(item, Rows) for image in item.rows]


def bounds(items: Iterable[LogItem]) -> list[LogItem]:
    return [item for item in items if isinstance(item, Begin | Commit)]


TABLE_T = relation(1, "t", {"id": True, "v": False})
TABLE_U = relation(2, "u", {"id": True, "v": False})


def test_a_transaction() -> None:
    items = decoded(transaction(3, TABLE_T, insert(1, "1", "a"), insert(1, "2", None)))
    table = LogTable(T, ("id", "v"))
    assert items == [
        Begin(Position("0/12C"), "3"),
        Rows(table, INSERT, [("1", "a"), ("2", None)]),
        Commit(Position("0/15E"), "3", 946_684_801_000_000),
    ]


def test_batches_may_end_anywhere() -> None:
    messages = [
        *transaction(1, TABLE_T, *(insert(1, str(number), "x" * number) for number in range(300))),
        *transaction(2, TABLE_U, insert(2, "é", "a"), insert(1, "1", "ü"), insert(2, "2", "b")),
    ]
    whole = decoded(messages)
    for at_once in (1, 2, 3, 7, 100):
        cut = decoded(messages, at_once=at_once)
        assert images(cut) == images(whole)
        assert bounds(cut) == bounds(whole)


def test_no_message_at_all() -> None:
    assert decoded([]) == []
    assert list(Decoder(*EVERYTHING, frozenset()).items(Batch([]))) == []


def test_changes_of_one_table_and_kind_are_one_item() -> None:
    changes = [insert(1, "1", "a"), insert(1, "2", "b"), insert(2, "3", "c"), insert(1, "4", "d")]
    items = decoded(transaction(1, TABLE_T, TABLE_U, *changes, change("D", 1, ("K", values("1", None)))))
    assert [(item.table.name, item.kind, len(item.rows)) for item in items if isinstance(item, Rows)] == [
        (T, INSERT, 2),
        (U, INSERT, 1),
        (T, INSERT, 1),
        (T, DELETE, 1),
    ]


def test_transactions_in_one_batch_keep_their_rows() -> None:
    messages = [TABLE_T]
    for number in range(1, 50):
        messages += transaction(number, *(insert(1, str(number), str(row)) for row in range(number % 3 + 1)))
    told: list[Any] = []
    for item in decoded(messages):
        told += [item.transaction] if isinstance(item, Begin | Commit) else images([item])
    expected: list[Any] = []
    for number in range(1, 50):
        expected += [str(number), *((str(number), str(row)) for row in range(number % 3 + 1)), str(number)]
    assert told == expected


@pytest.mark.parametrize("text", ["", "a", "é", "日本語", "😀", "\x7f\x80\xff", "a" * 127, "a" * 128, "ß" * 40_000])
def test_texts(text: str) -> None:
    assert images(decoded(transaction(1, TABLE_T, insert(1, "1", text), insert(1, text, "b")))) == [
        ("1", text),
        (text, "b"),
    ]


def test_absent_values_stand_beside_any_others() -> None:
    rows = list(product([None, KEPT, "", "a", "é"], repeat=3))
    described = relation(1, "t", {"a": True, "b": True, "c": True})
    assert images(decoded(transaction(1, described, *(insert(1, *row) for row in rows)))) == rows


def test_what_is_no_utf8_names_its_table() -> None:
    with pytest.raises(ReadError, match=r"public\.t"):
        decoded(transaction(1, TABLE_T, insert(1, "1", b"\xff")))


def test_a_table_without_columns() -> None:
    assert images(decoded(transaction(1, relation(1, "t", {}), insert(1), insert(1)))) == [(), ()]


def test_old_images_without_a_key_are_kept() -> None:
    (_, rows, _) = decoded(transaction(1, TABLE_T, change("D", 1, ("K", values("1", None)))))
    assert isinstance(rows, Rows)
    assert rows.rows == [("1", KEPT)]


def test_updates_with_and_without_old_image() -> None:
    same = change("U", 1, ("N", values("1", "b")))
    other_key = change("U", 1, ("K", values("1", None)), ("N", values("2", KEPT)))
    (_, rows, _) = decoded(transaction(1, TABLE_T, same, other_key, same))
    assert isinstance(rows, Rows)
    assert rows.rows == [("1", "b"), ("2", KEPT), ("1", "b")]
    assert rows.before == [None, ("1", KEPT), None]

    (_, rows, _) = decoded(transaction(1, TABLE_T, same, same))
    assert isinstance(rows, Rows)
    assert rows.before is None


def test_a_full_old_image_fills_what_is_unchanged() -> None:
    full = relation(1, "t", {"id": True, "v": True})
    first = change("U", 1, ("O", values("1", "large")), ("N", values("2", KEPT)))
    second = change("U", 1, ("O", values("3", None)), ("N", values("3", "v")))
    (_, rows, _) = decoded(transaction(1, full, first, second))
    assert isinstance(rows, Rows)
    assert rows.rows == [("2", "large"), ("3", "v")]
    assert rows.before == [("1", "large"), ("3", None)]


def test_an_old_null_is_no_large_value() -> None:
    """A table with full identity, a partition of it without: its old images are NULL outside of its key."""
    full = relation(1, "t", {"id": True, "v": True})
    (_, rows, _) = decoded(transaction(1, full, change("U", 1, ("O", values("1", None)), ("N", values("2", KEPT)))))
    assert isinstance(rows, Rows)
    assert rows.rows == [("2", KEPT)]


def test_truncate_of_several_tables() -> None:
    other = relation(3, "other", {"id": True})
    items = decoded(transaction(1, TABLE_T, TABLE_U, other, truncate(2, 3, 1), truncate(1, 2)))
    assert items[1:-1] == [Emptied(U), Emptied(T), Emptied(T), Emptied(U)]
    assert isinstance(items[-1], Commit)


def test_other_tables_are_left_out_and_their_transactions_too() -> None:
    messages = [
        *transaction(1, TABLE_T, TABLE_U, insert(1, "1", "a"), insert(2, "2", "b")),
        *transaction(2, insert(2, "3", "c"), truncate(2)),
    ]
    items = decoded(messages, tables=frozenset({T}))
    assert [type(item) for item in items] == [Begin, Rows, Commit]
    assert images(items) == [("1", "a")]


def test_a_batch_of_many_tables() -> None:
    names = [TableName("public", f"t{number}") for number in range(30)]
    described = [relation(number, name.name, {"id": True}) for number, name in enumerate(names)]
    changes = [insert(number % 30, str(number)) for number in range(300)]
    items = decoded(transaction(1, *described, *changes), tables=frozenset(names))
    told = [(item.table.name, *item.rows) for item in items if isinstance(item, Rows)]
    assert told == [(names[number % 30], (str(number),)) for number in range(300)]


def test_what_is_no_change_is_skipped() -> None:
    origin = b"O" + struct.pack(">Q", 1) + b"elsewhere\0"
    a_type = b"Y" + struct.pack(">I", 5) + b"public\0mood\0"
    message = b"M\1" + struct.pack(">Q", 1) + b"prefix\0" + struct.pack(">I", 2) + b"hi"
    items = decoded(transaction(1, origin, a_type, TABLE_T, message, insert(1, "1", "a")))
    assert [type(item) for item in items] == [Begin, Rows, Commit]


def test_a_table_described_anew() -> None:
    wider = relation(1, "t", {"id": True, "v": False, "w": False})
    messages = [
        *transaction(1, TABLE_T, insert(1, "1", "a")),
        *transaction(2, TABLE_T, insert(1, "2", "b")),
        *transaction(3, wider, insert(1, "3", "c", "d")),
        *transaction(4, TABLE_T, insert(1, "4", "e")),
    ]
    first, second, third, fourth = (item for item in decoded(messages) if isinstance(item, Rows))
    assert first.table is second.table is fourth.table
    assert third.table.columns == ("id", "v", "w")
    assert third.rows == [("3", "c", "d")]


def test_a_table_that_got_another_name_is_another_one() -> None:
    renamed = relation(1, "elsewhere", {"id": True, "v": False})
    items = decoded([*transaction(1, TABLE_T, insert(1, "1", "a")), *transaction(2, renamed, insert(1, "2", "b"))])
    assert images(items) == [("1", "a")]


def test_the_catalog_s_schema_has_no_name() -> None:
    table = TableName("pg_catalog", "t")
    described = relation(1, "t", {"id": True}, schema=b"")
    assert images(decoded(transaction(1, described, insert(1, "1")), tables=frozenset({table}))) == [("1",)]


def test_bounds_cut_a_stream_once_wherever_they_are() -> None:
    messages = [TABLE_T]
    for number in range(1, 6):
        messages += transaction(number, insert(1, str(number), "a"))
    everything = decoded(messages)
    assert len(everything) == 15
    for bound in range(0, 700, 5):
        assert decoded(messages, between=(0, bound)) + decoded(messages, between=(bound, 700)) == everything
    for number in range(1, 6):
        # Behind a transaction is the end of its commit record, and no place before it begins.
        assert len(decoded(messages, between=(0, 100 * number))) == 3 * (number - 1)
        assert len(decoded(messages, between=(0, 100 * number + 50))) == 3 * number


def test_a_transaction_without_its_beginning() -> None:
    """One that is asked for is not told in part; others do no harm."""
    first, second, third = (transaction(number, insert(1, str(number), "a")) for number in (1, 2, 3))

    def read(messages: list[bytes], at_once: int = 1000) -> tuple[list[Any], bool, int]:
        decoder = Decoder(150, 1 << 63, frozenset({T}))
        rows = [copied(message) for message in messages]
        batches = [rows[at : at + at_once] for at in range(0, len(rows), at_once)]
        return images(item for each in batches for item in decoder.items(Batch(each))), decoder.torn, decoder.reached

    for at_once in (1, 2, 1000):
        # Of one before, any part.
        for part in (first[1:], first[2:]):
            assert read([TABLE_T, *part, *second], at_once) == ([("2", "a")], False, 250)
        for part in (third[1:], third[2:]):
            assert read([TABLE_T, *first, *second, *part, *transaction(4, insert(1, "4", "a"))], at_once) == (
                [("2", "a")],
                True,
                250,
            )
        assert read([TABLE_T, second[-1], third[-1]], at_once) == ([], True, 150)
        assert read([TABLE_T, first[-1], second[-1]], at_once) == ([], True, 150)
