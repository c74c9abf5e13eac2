"""Values that have been read, written or compared wrongly somewhere before."""

from __future__ import annotations

import struct
from uuid import UUID


def single(value: float) -> float:
    """The double that is exactly the nearest 32-bit float."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def next_single(value: float) -> float:
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return float(struct.unpack("<f", struct.pack("<i", bits + 1))[0])


def integers(bits: int, *, unsigned: bool = False) -> tuple[int | None, ...]:
    if unsigned:
        top = 1 << bits
        return (0, 1, top - 1, None, top - 2, top >> 1, (top >> 1) - 1, 10)
    top = 1 << (bits - 1)
    return (0, -1, 1, top - 1, -top, None, top - 2, 1 - top, 10, -10)


DOUBLES = (
    0.0,
    -0.0,
    0.1,
    -0.1,
    1 / 3,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    2.225073858507201e-308,
    1e308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    None,
    9007199254740993.0,
    123456789.12345679,
    1e16,
    1e15,
    1e-5,
    100.0,
    4.35,
)

SINGLES = tuple(
    None if value is None else single(value)
    for value in (0.0, -0.0, 0.1, 1 / 3, 1e-45, 1.1754943508222875e-38, 3.4028234663852886e38, None, 16777217.0, -4.35)
)

TEXTS = (
    "plain",
    "",
    None,
    " ",
    "trailing ",
    "trailing",
    " leading",
    "Case",
    "case",
    "é",
    "e\u0301",
    "ﬁ",
    "fi",
    "ß",
    "ss",
    "İi̇ı",
    "😀👩‍👩‍👧",
    "中文",
    "עברית",
    "\u200b",
    "it's",
    'say "it"',
    "`tick`",
    "back\\slash",
    "\\",
    "\\0",
    "100% {0} %s ${x}",
    "NULL",
    "null",
    "N",
    "0",
    "0x00",
    "\t\r\n",
    "a,b",
    "a\x01b",
    "-- ; /* */",
    "x" * 60,
    "1.0",
    "1",
    "\ufeffbom",
)

LATIN_TEXTS = ("é", "€", "ÿ", "", None, "Œuvre ", "naïve", "œ", "plain", "\u00a0")
GBK_TEXTS = ("中文", "啊", "", None, "plain", "一", "\\", "碶")
SJIS_TEXTS = ("カタカナ", "ソース", "表", "", None, "plain", "能")

BYTES = (
    b"plain",
    b"",
    None,
    b"\0",
    b"\0\0",
    b"a\0b",
    b"\xff\xfe",
    b"\x80",
    b"'\\\"`%",
    b" ",
    b"a ",
    b"a",
    bytes(range(256)),
)

EIGHT_BYTES = (b"12345678", b"\0" * 8, None, b"1234567\0", b"\xff" * 8, b"1234567 ", b"        ")

DATES = ("2024-02-29", "1970-01-01", "1969-12-31", None, "0001-01-01", "9999-12-31", "1582-10-10", "2000-01-01")

CLOCKS = ("00:00:00", "23:59:59.999999", "12:34:56.000001", None, "00:00:00.1", "12:00:00", "24:00:00")

SPANS = ("838:59:59.999999", "-838:59:59.999999", "-00:00:00.000001", None, "26:30:00", "00:00:00", "-24:00:00")

MOMENTS = (
    "2024-10-27 02:30:00",  # comes twice in Berlin
    "2024-03-31 02:30:00.5",  # never comes there
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    None,
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
    "2016-12-31 23:59:59.999999",
    "2024-01-01 00:00:00.000001",
    "2000-01-01 00:00:00",
)

INSTANTS = (
    "2024-10-27 00:30:00",  # these two are
    "2024-10-27 01:30:00",  # the same time of day in Berlin
    "2024-03-31 00:59:59.999999",
    "1970-01-01 00:00:01",
    None,
    "2038-01-19 03:14:07.999999",
    "2024-11-03 08:30:00.000001",
    "2024-11-03 09:30:00.000001",
)

JSONS = (
    '{"b": 1, "a": [1.10, null, true, false]}',
    "9007199254740993",
    "-9223372036854775809",
    '"text"',
    '""',
    "[]",
    "{}",
    None,
    "null",
    "0",
    "false",
    "1.0",
    "1e2",
    "1e401",
    "12345678901234567890.12345678901234567890",
    '{"k": "\\u00e9 😀 \\" \\\\ \\/ \\n"}',
    '{"": {"": []}, "a": {"b": {"c": [[[]]]}}}',
    '[{"z": 1, "a": 2}, {"a": 2, "z": 1}]',
    "-0.0",
)

UUIDS = (
    UUID("00000000-0000-0000-0000-000000000000"),
    UUID("ffffffff-ffff-ffff-ffff-ffffffffffff"),
    None,
    UUID("01890a5d-ac96-774b-bcce-b302099a8057"),
    UUID("9d3f54a0-8d3b-11ee-b9d1-0242ac120002"),
    UUID("61626364-6566-6768-696a-6b6c6d6e6f70"),  # the bytes of abcdefghijklmnop
)
