"""Packets, events and the places they end at, without a server."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pymysql
import pytest

from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.events import EventStream
from tieout.connectors.mysql.binlog.log import transaction_ends
from tieout.connectors.mysql.binlog.reader import Until
from tieout.connectors.mysql.binlog.transactions import Groups, GtidState, gtid_of, mysql_gtid
from tieout.connectors.mysql.protocol.packets import log_packets as packets
from tieout.model.positions import Position

FULL = 0xFFFFFF
ARTIFICIAL, IGNORABLE = 0x20, 0x80


def event(kind: int, end: int, body: bytes = b"", flags: int = 0) -> bytes:
    return b"\0" + struct.pack("<IBIIIH", 1_700_000_000, kind, 1, 19 + len(body), end, flags) + body


def rotation(file: str, offset: int) -> bytes:
    return event(codes.ROTATE, 0, offset.to_bytes(8, "little") + file.encode(), ARTIFICIAL)


def gtid(end: int, sequence: int, domain: int = 0, standalone: bool = False) -> bytes:
    return event(codes.GTID, end, struct.pack("<QIB6x", sequence, domain, int(standalone)))


def xid(end: int) -> bytes:
    return event(codes.XID, end, (99).to_bytes(8, "little"))


def query(end: int, text: str) -> bytes:
    return event(codes.QUERY, end, bytes(13) + b"\0" + text.encode())


# -------------------------------------------------------------------------------------------------- packets


class Pieces:
    """A connection's file that hands out so many bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._file, self._size = BytesIO(data), size

    def read1(self, _: int) -> bytes:
        return self._file.read(self._size)

    def read(self, count: int) -> bytes:
        return self._file.read(count)


def framed(payload: bytes) -> bytes:
    """A packet, or several: the last one is shorter than the longest there is, if need be empty."""
    parts = [payload[at : at + FULL] for at in range(0, len(payload) + 1, FULL)]
    return b"".join(len(part).to_bytes(3, "little") + b"\7" + part for part in parts)


def received(payloads: list[bytes], size: int) -> Iterator[bytes]:
    connection: Any = SimpleNamespace(_rfile=Pieces(b"".join(map(framed, payloads)), size))
    return packets(connection)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 7, 1000])
def test_packets_are_whole_wherever_they_are_cut(size: int) -> None:
    sent = [b"\0a", b"\0" + b"b" * 50, b"\0" + b"c" * 3]
    assert list(received([*sent, b"\xfe\0\0\2\0"], size)) == sent


@pytest.mark.parametrize("length", [FULL - 1, FULL, FULL + 1, 2 * FULL, 2 * FULL + 5])
def test_an_event_of_several_packets_is_one(length: int) -> None:
    long, short = b"\0" + b"x" * (length - 1), b"\0y"
    assert list(received([short, long, short, b"\xfe"], 1 << 18)) == [short, long, short]


def test_a_server_that_says_no() -> None:
    refused = received([b"\0a", b"\xff" + (1236).to_bytes(2, "little") + b"#HY000no such file"], 100)
    assert next(refused) == b"\0a"
    with pytest.raises(pymysql.err.OperationalError, match="1236"):
        next(refused)


def test_a_server_that_goes_away() -> None:
    with pytest.raises(pymysql.err.OperationalError, match="2013"):
        list(received([b"\0a"], 100))


# --------------------------------------------------------------------------------------------------- places


def test_a_rotation_ends_where_the_next_file_begins() -> None:
    stream = EventStream(iter([rotation("bin.000001", 500), xid(600), rotation("bin.000002", 4), xid(100)]), False)
    assert [(stream.file, end) for *_, end, _ in stream] == [
        ("bin.000001", 500),
        ("bin.000001", 600),
        ("bin.000002", 4),
        ("bin.000002", 100),
    ]


def test_files_longer_than_their_offsets() -> None:
    ends = [1 << 31, (1 << 32) - 5, 300, 200, 200]
    stream = EventStream(iter([rotation("bin.000001", 4), *map(xid, ends), rotation("bin.000002", 4), xid(9)]), False)
    assert [end for *_, end, _ in stream][1:] == [
        *(1 << 31, (1 << 32) - 5, (1 << 32) + 300, (2 << 32) + 200, (2 << 32) + 200),
        *(4, 9),
    ]


def test_a_format_says_whether_checksums_follow() -> None:
    formats = [event(codes.FORMAT, 0, b"format" + bytes([flag]) + b"crc!") for flag in (1, 0)]
    events = [rotation("bin.000001", 4), formats[0], event(codes.XID, 50, b"12345678crc!"), formats[1], xid(70)]
    bodies = [body for *_, body in EventStream(iter(events), checksums=False)]
    assert bodies[2] == b"12345678"
    assert bodies[4] == (99).to_bytes(8, "little")


def tail_of(*events: bytes) -> str:
    stream = EventStream(iter([rotation("bin.000001", 4), *events]), checksums=False)
    assert list(stream)
    return stream.tail


def test_the_tail_tells_transactions_apart_that_end_alike() -> None:
    """A server that was put back may write the same last event in the same place and second."""
    one, other = (event(codes.TABLE_MAP, 200, row * 10) for row in (b"a", b"b"))
    assert tail_of(gtid(100, 7), one, xid(300)) != tail_of(gtid(100, 7), other, xid(300))
    assert tail_of(one, xid(300)) == tail_of(gtid(100, 7), one, xid(300))
    assert tail_of(xid(300)) == f"273.{crc32(xid(300)[1:]):08x}"  # as older versions kept it


def test_a_format_is_no_part_of_a_tail() -> None:
    """Its flags say whether the file is open."""
    listed = event(codes.GTID_LIST, 300, bytes(4))
    formats = [event(codes.FORMAT, 200, bytes(80) + b"\0" + bytes(4), flags) for flags in (0, 1)]
    assert tail_of(formats[0], listed) == tail_of(formats[1], listed) == tail_of(listed)


def test_only_unknown_events_are_ignored_because_they_may_be() -> None:
    events = [event(200, 10, b"", IGNORABLE), event(codes.XID, 20, bytes(8), IGNORABLE), event(200, 30)]
    assert [kind for kind, *_ in EventStream(iter(events), False)] == [codes.IGNORABLE, codes.XID, 200]


def test_until_compares_files_before_offsets() -> None:
    until = Until(Position("bin.000010:500"))
    reached = [until.reached(*place) for place in (("bin.000009", 900), ("bin.000010", 499), ("bin.000010", 500))]
    assert reached == [False, False, True]
    assert not until.passed("bin.000010", 500)
    assert until.passed("bin.000010", 501)
    assert until.reached("bin.000011", 4)
    assert Until(Position("bin.1000000:4")).reached("bin.999999", 10**9) is False


# --------------------------------------------------------------------------------------------- transactions


def ends(events: list[bytes], gtids: str | None = "", most_bytes: int = 1, most: int = 100) -> list[str]:
    stream = EventStream(iter([rotation("bin.000001", 4), *events]), False)
    return [end.text for end in transaction_ends(stream, gtids, most_bytes, most)]


def test_transactions_end_with_a_commit_or_with_their_only_statement() -> None:
    events = [
        gtid(10, 5),
        query(20, "CREATE TABLE t (a INT)"),
        xid(30),
        gtid(40, 6, standalone=True),
        query(50, "DROP t"),
    ]
    events += [gtid(60, 1, domain=2), query(70, "SAVEPOINT a"), query(80, "COMMIT"), gtid(90, 7), xid(95)]
    assert ends(events, "0-9-4,7-9-1") == [
        "bin.000001:30@0-1-5,7-9-1",
        "bin.000001:50@0-1-6,7-9-1",
        "bin.000001:80@0-1-6,2-1-1,7-9-1",
        "bin.000001:95@0-1-7,2-1-1,7-9-1",
    ]
    assert ends(events, "", most_bytes=45) == ["bin.000001:50@0-1-6", "bin.000001:95@0-1-7,2-1-1"]
    assert ends(events, None, most=1) == ["bin.000001:30"]


def test_transactions_of_mysql() -> None:
    body = b"\1" + bytes(range(16)) + (5).to_bytes(8, "little")
    first, second = (event(codes.MYSQL_GTID, end, body) for end in (10, 50))
    events = [first, query(20, "BEGIN"), query(30, "SAVEPOINT a"), xid(40), second, query(60, "CREATE TABLE t (a INT)")]
    assert ends(events, None) == ["bin.000001:40", "bin.000001:60"]
    assert mysql_gtid(body) == "00010203-0405-0607-0809-0a0b0c0d0e0f:5"


def test_without_gtids_a_transaction_has_the_number_of_its_commit() -> None:
    groups = Groups()
    stream = EventStream(iter([event(codes.MYSQL_ANONYMOUS, 10, bytes(25)), query(20, "BEGIN"), xid(30)]), False)
    assert [groups.ends_with(one) for one in stream] == [False, False, True]
    assert groups.name == "99"


# ----------------------------------------------------------------------------------------------------- GTIDs


SERVER = "00000000-0000-0000-0000-000000000001"


@pytest.mark.parametrize(
    ("gtids", "other", "within"),
    [
        ("0-1-4", "0-1-5", True),
        ("0-1-5", "0-1-5", True),
        ("0-1-6", "0-1-5", False),
        ("0-2-4", "0-1-5,1-1-1", True),
        ("1-1-1", "0-1-5", False),
        ("", "0-1-5", True),
        ("0-1-5", "", False),
        (f"{SERVER}:1-5", f"{SERVER}:1-7", True),
        (f"{SERVER}:1-5:9", f"{SERVER}:1-7", False),
        (f"{SERVER}:3", f"{SERVER}:1-2:4-7", False),
    ],
)
def test_one_log_is_within_another(gtids: str, other: str, within: bool) -> None:
    assert GtidState.of(gtids).is_within(GtidState.of(other)) is within


@pytest.mark.parametrize(
    ("reached", "gtid", "follows"),
    [
        ("0-1-4", "0-1-5", True),
        ("0-1-4", "0-2-5", True),
        ("0-1-4", "0-1-4", True),
        ("0-1-4", "0-1-6", False),
        ("0-1-4", "0-2-6", False),
        ("0-1-4", "1-1-9", True),
        ("", "0-1-9", True),
        ("0-1-4", "", True),
    ],
)
def test_a_number_that_is_left_out_is_noticed(reached: str, gtid: str, follows: bool) -> None:
    """Of a domain that is known: whoever recovers a server leaves out what was a mistake, and the target has it."""
    assert GtidState.of(reached).is_next(gtid) is follows


def test_gtids_are_written_in_one_way() -> None:
    assert str(GtidState.of("10-1-1,2-1-3")) == "2-1-3,10-1-1"
    state = GtidState.of(f"{SERVER}:1-3:5")
    state.add(f"{SERVER}:4")
    state.add(f"{SERVER}:7")
    assert str(state) == f"{SERVER}:1-5:7"
    with pytest.raises(ValueError):
        GtidState.of(f"{SERVER}:tag:1-3")


def test_gtids_with_which_files_begin() -> None:
    listed = b"\x03\0\0\0" + b"".join(struct.pack("<IIQ", *each) for each in ((1, 1, 9), (1, 2, 11), (0, 1, 4)))
    assert str(GtidState.listed(listed)) == "0-1-4,1-2-11"
    previous = struct.pack("<Q16sQQQQQ", 1, bytes(15) + b"\1", 2, 1, 4, 6, 7)
    assert str(GtidState.previous(previous)) == f"{SERVER}:1-3:6"


@pytest.mark.parametrize(
    ("flags", "rest", "prepared", "completed", "undone", "xid_"),
    [
        (0x29, b"\x02\0\0\0\0\0", False, False, True, b""),
        (0x29, b"\x04" + bytes(8), False, False, False, b""),
        (0x2B, bytes(8) + b"\x08", False, False, True, b""),
        (0x4C, b"\1\0\0\0\1\0x\1\xff", True, False, False, b"\1\0\0\0\1\0x"),
        (0x8D, b"\1\0\0\0\1\0x", False, True, False, b"\1\0\0\0\1\0x"),
    ],
)
def test_what_a_gtid_says_of_its_transaction(
    flags: int, rest: bytes, prepared: bool, completed: bool, undone: bool, xid_: bytes
) -> None:
    found = gtid_of(3, struct.pack("<QIB", 7, 2, flags) + rest)
    assert found.text == "2-3-7"
    assert (found.prepared, found.completed, found.undone, found.xid) == (prepared, completed, undone, xid_)
