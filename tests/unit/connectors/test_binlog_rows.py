"""Rows, decoded from bytes that no server wrote."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from tests.log_items import only_told
from tieout.config.urls import parse_url
from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.charset_codec import spelled
from tieout.connectors.mysql.binlog.events import EventStream
from tieout.connectors.mysql.binlog.reader import Reader
from tieout.connectors.mysql.binlog.tables import Layouts, Wanted
from tieout.connectors.mysql.binlog.value_texts import old_datetime, time_text
from tieout.errors import ReadError, UnsupportedError
from tieout.model.positions import Position
from tieout.model.row_changes import KEPT, ChangeKind, LogItem, Rows
from tieout.model.tables import TableName

UTF8, ASCII = 45, 11
UPTO = Position("bin.000001:900")


def described(codes: list[int], metadata: bytes, collations: list[int], names: str) -> bytes:
    """A table map of db.t with all columns nullable."""
    extra = b"\4" + _string(b"".join(_string(name.encode()) for name in names)) if names else b""
    extra += b"\3" + _string(bytes(collations)) if collations else b""
    columns = _string(bytes(codes)) + _string(metadata) + b"\xff" * ((len(codes) + 7) // 8)
    return (7).to_bytes(6, "little") + b"\1\0\2db\0\1t\0" + columns + extra


def _string(data: bytes) -> bytes:
    return bytes([len(data)]) + data


WORDS = described([codes.LONG, codes.VARCHAR], (40).to_bytes(2, "little"), [UTF8], "ab")


def items(*events: tuple[int, bytes], table: TableName | None = None) -> list[LogItem]:
    """What a reader makes of one transaction with these events."""

    def packets() -> Iterator[bytes]:
        head = struct.pack("<QIB6x", 5, 0, 0)
        for end, (kind, body) in enumerate(
            [(codes.GTID, head), *events, (codes.XID, bytes(8))], start=898 - len(events)
        ):
            yield b"\0" + struct.pack("<IBIIIH", 1, kind, 1, 0, end + 1, 0) + body

    layouts = Layouts(parse_url("mysql://nobody@nowhere/db"), mariadb=True)
    layouts.charsets.__dict__["_names"] = {UTF8: "utf8mb4", ASCII: "ascii"}
    stream = EventStream(packets(), False)
    stream.file = "bin.000001"
    wanted = Wanted(frozenset({table or TableName("db", "t")}), folded=False)
    return only_told(Reader(stream, wanted, layouts, lambda _: pytest.fail("reads again")).items(UPTO))


def rows(kind: int, present: bytes, data: bytes, extended: bool = False) -> tuple[int, bytes]:
    head = (7).to_bytes(6, "little") + b"\1\0" + (b"\4\0??" if extended else b"")
    return kind, head + bytes([2]) + present + data


def row(number: int, word: bytes) -> bytes:
    return b"\xfc" + number.to_bytes(4, "little") + _string(word)


@pytest.mark.parametrize(("kind", "extended"), [(codes.WRITE_V1, False), (codes.WRITE, True)])
def test_both_versions_of_rows_events(kind: int, extended: bool) -> None:
    _, found, _ = items((codes.TABLE_MAP, WORDS), rows(kind, b"\3", row(1, b"x") + row(-2 & 0xFFFFFFFF, b""), extended))
    assert isinstance(found, Rows)
    assert found.kind is ChangeKind.INSERT
    assert found.rows == [(1, "x"), (-2, "")]


def test_an_update_may_leave_out_other_columns_of_each_image() -> None:
    _, found, _ = items(
        (codes.TABLE_MAP, WORDS), rows(codes.UPDATE_V1, b"\1\2", b"\xfe\5\0\0\0" + b"\xfe\1y" + b"\xfe\6\0\0\0\xff")
    )
    assert isinstance(found, Rows)
    assert found.before == [(5, KEPT), (6, KEPT)]
    assert found.rows == [(KEPT, "y"), (KEPT, None)]


def test_an_event_that_only_ends_a_statement_has_no_rows() -> None:
    assert items((codes.TABLE_MAP, WORDS), (codes.WRITE_V1, (0xFFFFFF).to_bytes(6, "little") + b"\1\0\0")) == []


def test_what_nobody_wants_is_not_even_understood() -> None:
    unreadable = described([codes.JSON], b"\4", [], "")
    assert items((codes.TABLE_MAP, unreadable), rows(codes.WRITE_V1, b"\1", b"???"), table=TableName("db", "u")) == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (described([codes.JSON], b"\4", [], "j"), "column j cannot be read from the log: JSON"),
        (described([242], b"", [], "v"), "column v cannot be read from the log: type 242"),
        (described([codes.LONG], b"", [], ""), "binlog_row_metadata = FULL"),
    ],
)
def test_tables_that_can_not_be_read(table: bytes, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        items((codes.TABLE_MAP, table), rows(codes.WRITE_V1, b"\1", b"\xfe????"))


def test_bytes_that_are_no_text_name_their_column() -> None:
    table = described([codes.VARCHAR] * 3, (40).to_bytes(2, "little") * 3, [UTF8, ASCII, UTF8], "abc")
    for nulls in (0xF8, 0xF9):  # both ways through a row
        first = b"" if nulls & 1 else b"\1x"
        with pytest.raises(ReadError, match=r"^db\.t: column b has bytes that are not valid text: 'ascii'"):
            items(
                (codes.TABLE_MAP, table),
                (codes.WRITE_V1, WORDS[:8] + b"\3\7" + bytes([nulls]) + first + b"\1\xc3" + b"\1y"),
            )


@pytest.mark.parametrize(
    "data", [row(1, b"word")[:-1], row(1, b"word") + b"\xfc", row(1, b"word") + b"\xfc\1\0\0\0\5x"]
)
def test_rows_that_do_not_fill_their_event(data: bytes) -> None:
    with pytest.raises(ReadError, match=r"^db\.t: rows of the log"):
        items((codes.TABLE_MAP, WORDS), rows(codes.WRITE_V1, b"\3", data))


def test_rows_of_another_width_than_their_table() -> None:
    with pytest.raises(ReadError, match="rows of 3 columns"):
        items((codes.TABLE_MAP, WORDS), (codes.WRITE_V1, WORDS[:8] + b"\3\7\xf8"))


def test_rows_of_no_columns_can_not_be_counted() -> None:
    with pytest.raises(UnsupportedError, match="binlog_row_image"):
        items((codes.TABLE_MAP, WORDS), rows(codes.WRITE_V1, b"\0", b""))


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        (codes.INCIDENT, ReadError, "could not write"),
        (codes.PARTIAL_UPDATE, UnsupportedError, "binlog_row_value_options"),
        (codes.TRANSACTION_PAYLOAD, UnsupportedError, "binlog_transaction_compression"),
        (199, UnsupportedError, "unknown kind: 199"),
    ],
)
def test_events_that_must_not_be_passed_over(kind: int, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        items((kind, bytes(20)))


@pytest.mark.parametrize("kind", sorted(codes.SILENT - {codes.ROTATE, codes.FORMAT}))
def test_events_that_may_be_passed_over(kind: int) -> None:
    assert items((kind, bytes(20))) == []


def test_characters_of_several_bytes() -> None:
    table = {b"a": "a", b"\x81\x5f": "＼", b"\x8f\xa2\xb7": "~"}
    assert spelled(b"a\x81\x5fa\x8f\xa2\xb7", table) == "a＼a~"
    assert spelled(b"z\\", table) == "z\\"
    with pytest.raises(UnicodeDecodeError):
        spelled(b"a\x82a", table)


def test_negative_times_count_their_fractions_downwards() -> None:
    assert time_text(0x7FFFFF_FF, 2) == "-00:00:00.01"
    assert time_text(0x7FFFFF_9D, 2) == "-00:00:00.99"
    assert time_text(0x7FFFFF_00, 2) == "-00:00:01.00"
    assert time_text(0x7FFFFE_F6, 1) == "-00:00:01.1"
    assert time_text(0x7FFFFF, 0) == "-00:00:01"
    assert old_datetime(20240229123456) == "2024-02-29 12:34:56"
