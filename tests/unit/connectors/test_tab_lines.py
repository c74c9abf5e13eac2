"""Tab form from MySQL's packets: all rows at once or one by one, the lines are the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tieout.connectors.mysql.protocol.rows import Fields, _line, _Special, lines_at_once

ESCAPES = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}

values = st.none() | st.text(max_size=5) | st.sampled_from(["x" * 250, "y" * 251, "z" * 70_000, "", "\\N", "a\tb"])


def packet(row: list[str | None]) -> bytes:
    payload = b""
    for value in row:
        if value is None:
            payload += b"\xfb"
            continue
        data = value.encode()
        if len(data) < 251:
            payload += bytes([len(data)])
        elif len(data) < 1 << 16:
            payload += b"\xfc" + len(data).to_bytes(2, "little")
        else:
            payload += b"\xfd" + len(data).to_bytes(3, "little")
        payload += data
    return len(payload).to_bytes(3, "little") + b"\x07" + payload


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(values, min_size=n, max_size=n), min_size=1, max_size=8)))
def test_lines(rows: list[list[str | None]]) -> None:
    expected = "".join("\t".join("\\N" if v is None else v.translate(ESCAPES) for v in row) + "\n" for row in rows)
    packets = [packet(row) for row in rows]
    fields = Fields(len(rows[0]))
    assert b"".join(_line(data[4:], fields) for data in packets) == expected.encode()
    starts = np.cumsum([0, *map(len, packets[:-1])])
    special = any(letter in (value or "") for row in rows for value in row for letter in "\\\t\n\r")
    if special:
        with pytest.raises(_Special):
            lines_at_once(bytearray(b"".join(packets)), starts, fields)
    else:
        assert lines_at_once(bytearray(b"".join(packets)), starts, fields) == expected.encode()


def test_values_that_come_in_tab_form() -> None:
    data = packet(["\\\\x00ff", "a"]) + packet([None, "b"])
    starts = np.array([0, len(packet(["\\\\x00ff", "a"]))])
    assert lines_at_once(bytearray(data), starts, Fields(2, frozenset([0]))) == b"\\\\x00ff\ta\n\\N\tb\n"


def test_bytes_in_two_parts() -> None:
    """A mark and digits; where the mark is another one, the bytes themselves."""
    rows: list[list[str | None]] = [["\\\\x", "00FF", "a"], [None, None, "b"], ["\\\\x", "", None]]
    fields = Fields(3, frozenset([0]), frozenset([1]))
    lines = b"\\\\x00FF\ta\n\\N\tb\n\\\\x\t\\N\n"
    packets = [packet(row) for row in rows]
    assert lines_at_once(bytearray(b"".join(packets)), np.cumsum([0, *map(len, packets[:-1])]), fields) == lines
    assert b"".join(_line(data[4:], fields) for data in packets) == lines

    raw = packet(["\r", "a\tb\\\\", "c"])
    with pytest.raises(_Special):
        lines_at_once(bytearray(raw), np.array([0]), fields)
    assert _line(raw[4:], fields) == b"\\\\x6109625c5c\tc\n"
