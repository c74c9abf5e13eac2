"""Single faults: what is done to the target (or to both sides first), and what must be reported.

`TABLES` are faults with a table to themselves on both sides: a copy of the wide one, or of the columns that the
fault needs. `FINE` are faults with a row to themselves, all in one table. A fault in a column that a pair does
not have is no fault of that pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from tests.integration.matrix import values as v
from tests.integration.matrix.columns import MARIADB, POSTGRES, SQLITE

Texts = tuple[str | None, str | None]

KEY = 5
"""The row that a fault of one row is in."""


@dataclass(frozen=True)
class Found:
    """A difference that must be reported, and no other: `columns` maps names to both values as shown."""

    kind: str
    key: int
    columns: dict[str, Texts] = field(default_factory=dict)

    def __lt__(self, other: Found) -> bool:
        return (self.key, self.kind) < (other.key, other.kind)


@dataclass(frozen=True)
class Edit:
    """One value of one row."""

    key: int
    column: str
    value: Any


@dataclass(frozen=True)
class Fault:
    """`both` is written to both sides, then `target` to the target alone; or rows are taken away or added."""

    name: str
    found: tuple[Found, ...]
    both: tuple[Edit, ...] = ()
    target: tuple[Edit, ...] = ()
    lost: tuple[int, ...] = ()
    """Keys deleted from the target."""
    extra: tuple[int, ...] = ()
    """Keys deleted from the source."""
    wide: bool = False

    @property
    def columns(self) -> set[str]:
        return {edit.column for edit in (*self.both, *self.target)}


_AS_INTERVALS = {
    "00:00:00.000001": "PT0.000001S",
    "-00:00:00.000001": "PT-0.000001S",
    "26:30:00": "PT26H30M",
    "02:30:00": "PT2H30M",
}


def shown(column: str, text: str | None, engines: set[str]) -> str | None:
    """What is shown of a value where it depends on the form that a pair of engines has in common."""
    if text is None:
        return None
    if column == "truth" and MARIADB not in engines:
        return {"1": "true", "0": "false"}[text]
    if column == "single" and SQLITE in engines:
        return repr(v.single(float(text)))
    if column == "set" and engines != {MARIADB}:
        return {"a,b": "b,a"}.get(text, text)
    if column == "span" and engines == {POSTGRES}:
        return _AS_INTERVALS[text]
    return text


def change(name: str, column: str, before: Any, after: Any, texts: Texts) -> Fault:
    return Fault(
        name,
        (Found("changed", KEY, {column: texts}),),
        both=(Edit(KEY, column, before),),
        target=(Edit(KEY, column, after),),
    )


def same(name: str, column: str, before: Any, after: Any) -> Fault:
    """No fault at all: two spellings of one value."""
    return Fault(name, (), both=(Edit(KEY, column, before),), target=(Edit(KEY, column, after),))


CHANGED = (
    change("changed integer", "int", 41, 42, ("41", "42")),
    change("changed text", "vc", "left", "right", ("left", "right")),
    change("sign", "int", 1, -1, ("1", "-1")),
    change("-1 and 2^32-1", "big", -1, 4294967295, ("-1", "4294967295")),
    change("-1 and 2^64-1 apart", "dec", "-1", "18446744073709551615", ("-1", "18446744073709551615")),
    change("truth", "truth", 1, 0, ("1", "0")),
    change("year", "year", 1999, 2000, ("1999", "2000")),
    change("high bit", "bit64", "1" + "0" * 63, "0" * 64, ("1" + "0" * 63, "0" * 64)),
    change("one bit", "bit", "0000000001", "0000000000", ("0000000001", "0000000000")),
    change("enum", "enum", "small", "it's", ("small", "it's")),
    change("set", "set", "b,a", "b,c", ("a,b", "b,c")),
    change(
        "one digit of a UUID",
        "uuid",
        v.UUIDS[3],
        type(v.UUIDS[3])(int=v.UUIDS[3].int ^ 1),
        ("01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8056"),
    ),
)

EMPTINESS = (
    change("NULL to empty", "vc", None, "", (None, "")),
    change("empty to NULL", "vc", "", None, ("", None)),
    change("NULL to empty in long text", "txt", None, "", (None, "")),
    change("NULL to empty bytes", "varbin", None, b"", (None, "0x")),
    change("empty bytes to NULL", "blob", b"", None, ("0x", None)),
    change("NULL to 0", "int", None, 0, (None, "0")),
    change("0 to NULL", "big", 0, None, ("0", None)),
    change("NULL to 0.0", "double", None, 0.0, (None, "0.0")),
    change("0.0 to NULL", "double", 0.0, None, ("0.0", None)),
    change("NULL to 0 in a FLOAT", "single", None, 0.0, (None, "0.0")),
    change("NULL to decimal 0", "dec", None, "0", (None, "0")),
    change("decimal 0 to NULL", "number", "0", None, ("0", None)),
    change("NULL to false", "truth", None, 0, (None, "0")),
    change("NULL to midnight", "clock", None, "00:00:00", (None, "00:00:00")),
    change("NULL to 1970", "date", None, "1970-01-01", (None, "1970-01-01")),
    change("NULL to the epoch", "moment", None, "1970-01-01 00:00:00", (None, "1970-01-01 00:00:00")),
    change("NULL to JSON null", "json", None, "null", (None, "null")),
    change("NULL to the word", "vc", None, "NULL", (None, "NULL")),
    change("NULL to N", "vc", None, "N", (None, "N")),
    change("NULL to no bits", "bit", None, "0000000000", (None, "0000000000")),
    change("NULL to the empty set", "set", None, "", (None, "")),
    change("NULL to the zero date", "zero_date", None, "0000-00-00", (None, "0000-00-00")),
    change("zero date to NULL", "zero_date", "0000-00-00", None, ("0000-00-00", None)),
    change("zero date to 1970", "zero_date", "0000-00-00", "1970-01-01", ("0000-00-00", "1970-01-01")),
    change("zero moment to NULL", "zero_moment", "0000-00-00 00:00:00", None, ("0000-00-00 00:00:00.000000", None)),
    change("zero instant to NULL", "zero_instant", "0000-00-00 00:00:00", None, ("0000-00-00 00:00:00", None)),
    change("NULL to the empty array", "ints", None, "{}", (None, "[null,[]]")),
    change("NULL element", "ints", "{NULL}", "{}", ('["[1:1]",[null]]', "[null,[]]")),
)

TEXT = (
    change("trailing space", "vc", "abc", "abc ", ("abc", "abc ")),
    change("trailing space in long text", "txt", "abc ", "abc", ("abc ", "abc")),
    change("only a space", "vc", "", " ", ("", " ")),
    change("leading space of padded text", "ch", "x", " x", ("x", " x")),
    change("case of a letter", "vc", "Straße", "straße", ("Straße", "straße")),
    change("case of a letter, where the collation ignores it", "insensitive", "abc", "aBc", ("abc", "aBc")),
    change("case in an enum", "enum", "small", "Small", ("small", "Small")),
    change("accent", "vc", "resume", "résumé", ("resume", "résumé")),
    change("composed and combining", "vc", "é", "e\u0301", ("é", "e\u0301")),
    change("accent in latin1", "latin", "é", "e", ("é", "e")),
    change("one of two Chinese letters", "gbk", "中文", "中丈", ("中文", "中丈")),
    change("katakana with a backslash byte", "sjis", "ソ", "ゾ", ("ソ", "ゾ")),
    change("question mark for a letter", "sjis", "表", "?", ("表", "?")),
    change("one emoji", "txt", "😀", "😁", ("😀", "😁")),
    change("a backslash", "vc", "a\\b", "ab", ("a\\b", "ab")),
    change(
        "last character of a long text", "txt", "x" * 9999 + "a", "x" * 9999 + "b", ("x" * 9999 + "a", "x" * 9999 + "b")
    ),
    change("NUL at the end of bytes", "varbin", b"ab", b"ab\0", ("0x6162", "0x616200")),
    change("NUL in the middle of bytes", "varbin", b"a\0b", b"a\0c", ("0x610062", "0x610063")),
    change("space at the end of bytes", "varbin", b"ab", b"ab ", ("0x6162", "0x616220")),
    change("last byte of fixed bytes", "bin", b"1234567\0", b"1234567 ", ("0x3132333435363700", "0x3132333435363720")),
    Fault(
        "text moved to the neighbour",
        (Found("changed", KEY, {"vc": ("ab", "a"), "vc2": ("c", "bc")}),),
        both=(Edit(KEY, "vc", "ab"), Edit(KEY, "vc2", "c")),
        target=(Edit(KEY, "vc", "a"), Edit(KEY, "vc2", "bc")),
    ),
    Fault(
        "all of a text moved to the neighbour",
        (Found("changed", KEY, {"vc": ("abc", None), "vc2": (None, "abc")}),),
        both=(Edit(KEY, "vc", "abc"), Edit(KEY, "vc2", None)),
        target=(Edit(KEY, "vc", None), Edit(KEY, "vc2", "abc")),
    ),
    Fault(
        "a separator moved to the neighbour",
        (Found("changed", KEY, {"vc": ("a,b", "a"), "vc2": ("c", "b,c")}),),
        both=(Edit(KEY, "vc", "a,b"), Edit(KEY, "vc2", "c")),
        target=(Edit(KEY, "vc", "a"), Edit(KEY, "vc2", "b,c")),
    ),
    Fault(
        "lengths that look like text",
        (Found("changed", KEY, {"vc": ("1:a", "1"), "vc2": ("b", "a1:b")}),),
        both=(Edit(KEY, "vc", "1:a"), Edit(KEY, "vc2", "b")),
        target=(Edit(KEY, "vc", "1"), Edit(KEY, "vc2", "a1:b")),
    ),
    Fault(
        "neighbours exchanged",
        (Found("changed", KEY, {"vc": ("left", "right"), "vc2": ("right", "left")}),),
        both=(Edit(KEY, "vc", "left"), Edit(KEY, "vc2", "right")),
        target=(Edit(KEY, "vc", "right"), Edit(KEY, "vc2", "left")),
    ),
)

_THIRD = v.single(1 / 3)

NUMBERS = (
    change("last bit of a DOUBLE", "double", 0.1, math.nextafter(0.1, 1), ("0.1", "0.10000000000000002")),
    change(
        "last bit of a large DOUBLE",
        "double",
        -1.7976931348623157e308,
        -1.7976931348623155e308,
        ("-1.7976931348623157e+308", "-1.7976931348623155e+308"),
    ),
    change(
        "last bit of the smallest normal DOUBLE",
        "double",
        -2.2250738585072014e-308,
        -2.2250738585072019e-308,
        ("-2.2250738585072014e-308", "-2.225073858507202e-308"),
    ),
    change("a denormal", "double", 5e-324, 0.0, ("5e-324", "0.0")),
    change("last bit of a FLOAT", "single", v.single(0.1), v.next_single(0.1), ("0.1", "0.10000001")),
    change("last bit of a third", "single", _THIRD, v.next_single(1 / 3), ("0.33333334", "0.33333337")),
    change("seventh digit of a FLOAT", "single", 1234567.0, 1234568.0, ("1.234567e+06", "1.234568e+06")),
    change("tenth decimal", "dec", "0.1234567891", "0.1234567892", ("0.1234567891", "0.1234567892")),
    change(
        "fifteenth decimal",
        "dec",
        "12345678901234567890123.123456789012345",
        "12345678901234567890123.123456789012346",
        ("12345678901234567890123.123456789012345", "12345678901234567890123.123456789012346"),
    ),
    change(
        "thirtieth decimal",
        "number",
        "1." + "0" * 29 + "1",
        "1." + "0" * 29 + "2",
        ("1." + "0" * 29 + "1", "1." + "0" * 29 + "2"),
    ),
    change("last of 65 digits", "huge", "1" * 65, "1" * 64 + "2", ("1" * 65, "1" * 64 + "2")),
    change("a cent", "short", 0.01, 0.02, ("0.01", "0.02")),
    change("sign of a decimal", "number", "1.5", "-1.5", ("1.5", "-1.5")),
    change(
        "unsigned above 2^63, off by one", "ubig", 2**63 + 1, 2**63 + 2, ("9223372036854775809", "9223372036854775810")
    ),
    change("unsigned at its end", "ubig", 2**64 - 1, 2**64 - 2, ("18446744073709551615", "18446744073709551614")),
    change("signed above 2^53, off by one", "big", 2**53, 2**53 + 1, ("9007199254740992", "9007199254740993")),
    change("NaN to NULL", "float_special", "NaN", None, ("NaN", None)),
    change("NaN to Infinity", "number_special", "NaN", "Infinity", ("NaN", "Infinity")),
    change("-Infinity to Infinity", "float_special", "-Infinity", "Infinity", ("-Infinity", "Infinity")),
    change("NaN to 0 in a sized decimal", "dec_special", "NaN", "0", ("NaN", "0")),
)

MOMENTS = (
    change(
        "one microsecond",
        "moment",
        "2024-05-05 10:00:00.123456",
        "2024-05-05 10:00:00.123457",
        ("2024-05-05 10:00:00.123456", "2024-05-05 10:00:00.123457"),
    ),
    change(
        "one microsecond of an instant",
        "instant",
        "2024-05-05 10:00:00.123456",
        "2024-05-05 10:00:00.123457",
        ("2024-05-05 10:00:00.123456", "2024-05-05 10:00:00.123457"),
    ),
    change("one microsecond of a time of day", "clock", "10:00:00", "10:00:00.000001", ("10:00:00", "10:00:00.000001")),
    change(
        "one hour of time zone",
        "instant",
        "2024-05-05 10:00:00",
        "2024-05-05 11:00:00",
        ("2024-05-05 10:00:00", "2024-05-05 11:00:00"),
    ),
    change(
        "the hour that comes twice",
        "instant",
        "2024-10-27 00:30:00",
        "2024-10-27 01:30:00",
        ("2024-10-27 00:30:00", "2024-10-27 01:30:00"),
    ),
    change(
        "one hour of a wall clock",
        "moment",
        "2024-10-27 02:30:00",
        "2024-10-27 01:30:00",
        ("2024-10-27 02:30:00", "2024-10-27 01:30:00"),
    ),
    change("one day", "date", "2024-02-29", "2024-03-01", ("2024-02-29", "2024-03-01")),
    change("sign of a time", "span", "00:00:00.000001", "-00:00:00.000001", ("00:00:00.000001", "-00:00:00.000001")),
    change("a time beyond a day", "span", "26:30:00", "02:30:00", ("26:30:00", "02:30:00")),
    change("infinity to a date", "end_date", "infinity", "5874897-12-31", ("infinity", "5874897-12-31")),
    change("-infinity to infinity", "end_moment", "-infinity", "infinity", ("-infinity", "infinity")),
    change("infinity to NULL", "end_instant", "infinity", None, ("infinity", None)),
    change("1 month to 30 days", "interval", "1 month", "30 days", ("P1M", "P30D")),
    change("1 day to 24 hours", "interval", "1 day", "24 hours", ("P1D", "PT24H")),
    change("zone of a time of day", "clock_zone", "10:00:00+00", "11:00:00+01", ("10:00:00+00", "11:00:00+01")),
)

DOCUMENTS = (
    change(
        "JSON integer above 2^53, off by one",
        "json",
        '{"n": 9007199254740993}',
        '{"n": 9007199254740992}',
        ('{"n":9007199254740993}', '{"n":9007199254740992}'),
    ),
    change("JSON number to string", "json", '{"a": 1}', '{"a": "1"}', ('{"a":1}', '{"a":"1"}')),
    change("JSON null to no key", "json", '{"a": null}', "{}", ('{"a":null}', "{}")),
    change("JSON order of elements", "json_text", "[1, 2]", "[2, 1]", ("[1,2]", "[2,1]")),
    change(
        "JSON twentieth decimal",
        "json",
        "1.00000000000000000001",
        "1.00000000000000000002",
        ("1.00000000000000000001", "1.00000000000000000002"),
    ),
    change("array bounds", "ints", "{1,2,3}", "[0:2]={1,2,3}", ('["[1:3]",[1,2,3]]', '["[0:2]",[1,2,3]]')),
    change(
        "array shape", "grid", "{{1,2},{3,4}}", "{1,2,3,4}", ('["[1:2][1:2]",[[1,2],[3,4]]]', '["[1:4]",[1,2,3,4]]')
    ),
    change("array NULL and the word", "words", "{NULL}", '{"NULL"}', ('["[1:1]",[null]]', '["[1:1]",["NULL"]]')),
)

# Columns that are generated from others follow them, in tables that have them.
_NUMBERS_EXCHANGED = ({"int": ("1", "2"), "made": ("2", "4")}, {"int": ("2", "1"), "made": ("4", "2")})
_WORDS_EXCHANGED = (
    {"vc": ("one", "two"), "virtual": ("one!", "two!")},
    {"vc": ("two", "one"), "virtual": ("two!", "one!")},
)
_BEFORE_AFTER = {"vc": ("before", "after"), "virtual": ("before!", "after!")}

ROWS = (
    Fault("lost row", (Found("missing", 7),), lost=(7,), wide=True),
    Fault("lost first row", (Found("missing", -3),), lost=(-3,)),
    Fault("lost last row", (Found("missing", 36),), lost=(36,)),
    Fault("extra row", (Found("extra", 7),), extra=(7,), wide=True),
    Fault("extra row at the end", (Found("extra", 36),), extra=(36,)),
    Fault("one lost and one extra", (Found("missing", 1), Found("extra", 2)), lost=(1,), extra=(2,)),
    Fault(
        "values exchanged between two keys",
        (
            Found("changed", 10, {**_NUMBERS_EXCHANGED[0], **_WORDS_EXCHANGED[0]}),
            Found("changed", 11, {**_NUMBERS_EXCHANGED[1], **_WORDS_EXCHANGED[1]}),
        ),
        both=(Edit(10, "int", 1), Edit(10, "vc", "one"), Edit(11, "int", 2), Edit(11, "vc", "two")),
        target=(Edit(10, "int", 2), Edit(10, "vc", "two"), Edit(11, "int", 1), Edit(11, "vc", "one")),
        wide=True,
    ),
    Fault(
        "one value exchanged between two keys",
        (Found("changed", 10, {"vc": ("one", "two")}), Found("changed", 11, {"vc": ("two", "one")})),
        both=(Edit(10, "vc", "one"), Edit(11, "vc", "two")),
        target=(Edit(10, "vc", "two"), Edit(11, "vc", "one")),
    ),
    Fault(
        "the same change made to two rows",
        (Found("changed", 12, _BEFORE_AFTER), Found("changed", 13, _BEFORE_AFTER)),
        both=(Edit(12, "vc", "before"), Edit(13, "vc", "before")),
        target=(Edit(12, "vc", "after"), Edit(13, "vc", "after")),
        wide=True,
    ),
    Fault(
        "changes that add up to nothing",
        (Found("changed", 12, {"int": ("10", "11")}), Found("changed", 13, {"int": ("10", "9")})),
        both=(Edit(12, "int", 10), Edit(13, "int", 10)),
        target=(Edit(12, "int", 11), Edit(13, "int", 9)),
    ),
    Fault(
        "a generated column follows",
        (Found("changed", KEY, {"int": ("3", "4"), "made": ("6", "8")}),),
        both=(Edit(KEY, "int", 3),),
        target=(Edit(KEY, "int", 4),),
    ),
)

NO_FAULTS = (
    same("zero has no sign", "double", 0.0, -0.0),
    same("zero has no sign in a FLOAT", "single", -0.0, 0.0),
    same("scale of a number", "number", "1.5", "1.500"),
    same("padding of CHAR", "ch", "ab", "ab   "),
    same("order of keys in JSON", "json_text", '{"a": 1, "b": 2}', '{"b":2,"a":1}'),
    same("spelling of JSON numbers", "json_text", "[1.0, 1e2, 0, 1e401]", "[1, 100, -0.0, 10e400]"),
    same("spelling of JSON text", "json_text", '"\\u00e9\\/"', '"é/"'),
    same("scale in an array", "numbers", "{1.0}", "{1.00}"),
)

FINE: tuple[Fault, ...] = (*CHANGED, *EMPTINESS, *TEXT, *NUMBERS, *MOMENTS, *DOCUMENTS, *NO_FAULTS)

_ISSUE = {
    "changed text",
    "NULL to empty",
    "empty to NULL",
    "NULL to 0",
    "0.0 to NULL",
    "zero date to NULL",
    "NaN to NULL",
    "trailing space",
    "case of a letter",
    "case of a letter, where the collation ignores it",
    "text moved to the neighbour",
    "last bit of a DOUBLE",
    "last bit of a FLOAT",
    "tenth decimal",
    "fifteenth decimal",
    "one microsecond",
    "one hour of time zone",
    "unsigned above 2^63, off by one",
    "JSON integer above 2^53, off by one",
    "array bounds",
}

TABLES: tuple[Fault, ...] = (*ROWS, *(fault for fault in FINE if fault.name in _ISSUE))
assert len(TABLES) == len(ROWS) + len(_ISSUE)
