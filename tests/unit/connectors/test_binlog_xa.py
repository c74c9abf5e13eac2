"""XA transactions as MySQL logs them: with statements around their rows, and no word of them with a GTID."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate

import pytest

from tests.log_items import only_told
from tests.unit.connectors.test_binlog_rows import UTF8, WORDS, row, rows
from tieout.config.urls import parse_url
from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.dump import Dump, NotThere
from tieout.connectors.mysql.binlog.events import EventStream
from tieout.connectors.mysql.binlog.log import transaction_ends
from tieout.connectors.mysql.binlog.reader import Reader
from tieout.connectors.mysql.binlog.tables import Layouts, Wanted
from tieout.errors import LogLostError
from tieout.model.positions import Position
from tieout.model.row_changes import Begin, Commit, LogItem, Rows
from tieout.model.tables import TableName

FILE = "bin.000001"
Events = list[tuple[int, bytes]]


def begin() -> Events:
    return [(codes.MYSQL_GTID, b"\1" + bytes(range(16)) + (5).to_bytes(8, "little"))]


def query(text: str) -> tuple[int, bytes]:
    return codes.QUERY, bytes(13) + b"\0" + text.encode()


def prepared(name: str, number: int, *, one_phase: bool = False) -> Events:
    """A part that inserts one row."""
    xid = f"X'{name.encode().hex()}',X'',1"
    body = bytes([one_phase]) + struct.pack("<III", 1, len(name), 0) + name.encode()
    inserted = rows(codes.WRITE_V1, b"\3", row(number, name.encode()))
    change = [(codes.TABLE_MAP, WORDS), inserted, query(f"XA END {xid}"), (codes.XA_PREPARE, body)]
    return [*begin(), query(f"XA START {xid}"), *change]


def ended(how: str, name: str) -> Events:
    return [*begin(), query(f"XA {how} X'{name.encode().hex()}',X'',1")]


class Log:
    """A log of one file, each event of which ends one byte behind the last."""

    def __init__(self, *transactions: Events) -> None:
        self.events = [event for transaction in transactions for event in transaction]
        self.ends = [4, *accumulate(map(len, transactions), initial=4)][1:]

    def stream(self, after: int) -> EventStream:
        def packets() -> Iterator[bytes]:
            yield _packet(codes.ROTATE, 0, after.to_bytes(8, "little") + FILE.encode(), 0x20)
            for end, (kind, body) in enumerate(self.events, start=5):
                if end > after:
                    yield _packet(kind, end, body, 0)

        return EventStream(packets(), False)

    @contextmanager
    def opened(self, position: Position) -> Iterator[Dump]:
        if position.file != FILE:
            raise NotThere("there is one file only")
        yield Dump(self.stream(position.offset), mariadb=False, folded=False)

    def read(self, after: int, upto: int, table: str = "t") -> list[LogItem]:
        layouts = Layouts(parse_url("mysql://nobody@nowhere/db"), mariadb=False)
        layouts.charsets.__dict__["_names"] = {UTF8: "utf8mb4"}
        wanted = Wanted(frozenset({TableName("db", table)}), folded=False)
        return only_told(Reader(self.stream(after), wanted, layouts, self.opened).items(Position(f"{FILE}:{upto}")))


def _packet(kind: int, end: int, body: bytes, flags: int) -> bytes:
    return b"\0" + struct.pack("<IBIIIH", 1, kind, 1, 0, end, flags) + body


def numbers(items: list[LogItem]) -> list[int]:
    return [image[0] for item in items if isinstance(item, Rows) for image in item.rows]


def test_rows_count_where_they_are_committed() -> None:
    log = Log(prepared("a", 1), prepared("b", 2), ended("ROLLBACK", "a"), ended("COMMIT", "b"))
    first, *_, last = log.ends
    opened, *inserted, commit = found = log.read(first, last)
    assert numbers(found) == [2]
    assert isinstance(opened, Begin)
    assert opened.late
    assert isinstance(commit, Commit)
    assert commit.position == Position(f"{FILE}:{last}")
    assert len(inserted) == 1


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_in_whatever_batches_it_is_read(cut: int) -> None:
    transactions = [prepared("a", 1), prepared("b", 2), ended("ROLLBACK", "b"), ended("COMMIT", "a")]
    log = Log(*transactions, prepared("c", 3, one_phase=True))
    first, last = log.ends[0], log.ends[-1]
    batches = log.read(first, log.ends[cut]) + log.read(log.ends[cut], last)
    assert numbers(batches) == numbers(log.read(first, last)) == [1, 3]
    assert log.read(log.ends[cut], last, "other") == []


def test_a_transaction_is_not_cut_where_it_is_prepared() -> None:
    log = Log(prepared("a", 1), ended("COMMIT", "a"))
    ends = [end.offset for end in transaction_ends(log.stream(4), None, 1, 100)]
    assert ends == log.ends[1:]


def test_a_first_part_that_is_gone() -> None:
    log = Log(ended("ROLLBACK", "a"), ended("COMMIT", "a"))
    with pytest.raises(LogLostError, match="prepared in a part of the log that is gone"):
        log.read(log.ends[0], log.ends[-1])
