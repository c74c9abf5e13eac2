"""How a row stores each type of column, and the Python expression that decodes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from struct import calcsize
from typing import Any

from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.charset_codec import Decoding
from tieout.connectors.mysql.binlog.table_map import LogColumn
from tieout.connectors.mysql.binlog.value_texts import digits_of, fraction_of, set_texts


@dataclass(frozen=True, slots=True)
class Form:
    """A column's bytes: numbers of fixed width (`items`, struct's letters, in this byte `order`), then perhaps data.

    `value` is the expression: {0}, {1} … are the items, {data} is the data, whose `length` is also an expression of
    the items. `{own}` makes a name in it the column's own: `names` maps these names to objects.
    """

    items: str
    value: str = "{0}"
    order: str = ""
    length: str = ""
    names: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many bytes the items have."""
        return calcsize("<" + self.items)


_BIG = {1: "B", 2: "H", 3: "BH", 4: "I", 5: "BI", 6: "HI", 7: "BHI", 8: "Q"}
"""Struct's letters for a big-endian number, by its bytes."""
_LITTLE = {1: "B", 2: "H", 3: "HB", 4: "I", 8: "Q"}
_BITS = {"B": 8, "H": 16, "I": 32, "Q": 64}

_SIMPLE: dict[int, Form] = {
    codes.FLOAT: Form("f", order="<"),
    codes.DOUBLE: Form("d", order="<"),
    codes.YEAR: Form("B", "({0} + 1900 if {0} else 0)"),
    codes.DATE: Form("HB", "dates[{1} << 16 | {0}]", "<"),
    codes.NEWDATE: Form("HB", "dates[{1} << 16 | {0}]", "<"),
    codes.TIME: Form("Hb", "old_time({1} << 16 | {0})", "<"),
    codes.DATETIME: Form("Q", "old_datetime({0})", "<"),
    codes.TIMESTAMP: Form("I", "moment({0})", "<"),
}
_INTEGERS = {codes.TINY: "b", codes.SHORT: "h", codes.LONG: "i", codes.LONGLONG: "q"}


def big_number(size: int, first: int = 0) -> str:
    """The expression for a big-endian number in the items from `first` on."""
    return _joined([*enumerate(_BIG[size], first)][::-1])


def little_number(size: int) -> str:
    return _joined([*enumerate(_LITTLE[size])])


def _joined(items: list[tuple[int, str]]) -> str:
    """From the lowest item to the highest."""
    parts, shift = [], 0
    for number, letter in items:
        parts.append(f"{{{number}}} << {shift}" if shift else f"{{{number}}}")
        shift += _BITS[letter]
    return " | ".join(parts)


def form_of(column: LogColumn, decoding: Callable[[int], Decoding]) -> Form | None:
    """The form of a column; None if its type is unknown."""
    if column.type in _SIMPLE:
        return _SIMPLE[column.type]
    make = _MAKERS.get(column.type)
    return make(column, decoding) if make else None


def _integer(column: LogColumn, _: Any) -> Form:
    letter = _INTEGERS[column.type]
    return Form(letter.upper() if column.unsigned else letter, order="" if letter == "b" else "<")


def _integer24(column: LogColumn, _: Any) -> Form:
    return Form("HB" if column.unsigned else "Hb", "({1} << 16 | {0})", "<")


def _decimal(column: LogColumn, _: Any) -> Form:
    items, value = decimal_form_parts(column.size, column.scale)
    return Form(items, value, ">")


def _bit(column: LogColumn, _: Any) -> Form:
    size = (column.size + 7) // 8
    return Form(_BIG[size], f"format({big_number(size)}, '0{column.size}b')", ">")


def _datetime(column: LogColumn, _: Any) -> Form:
    day, clock = "{{datetime_days[{0} << 15 | {1} >> 17]}}", "{{clocks[{1} & 0x1FFFF]}}"
    return Form("BI" + _fraction_items(column.size), f"f'{day}{clock}{_fraction(column.size, 2)}'", ">")


def _timestamp(column: LogColumn, _: Any) -> Form:
    moment = "{{days[{0} // 86400]}}{{seconds[{0} % 86400]}}" + _fraction(column.size, 1)
    zero = "0000-00-00 00:00:00" + ("." + "0" * column.size if column.size else "")
    return Form("I" + _fraction_items(column.size), f"(f'{moment}' if {{0}} else '{zero}')", ">")


def _fraction(digits: int, first: int) -> str:
    """Two digits to a byte, in the items from `first` on."""
    return fraction_of(big_number((digits + 1) // 2, first), digits) if digits else ""


def _fraction_items(digits: int) -> str:
    return _BIG[(digits + 1) // 2] if digits else ""


def _time(column: LogColumn, _: Any) -> Form:
    size = 3 + (column.size + 1) // 2
    return Form(_BIG[size], f"time_text({big_number(size)}, {column.size})", ">")


def _enum(column: LogColumn, decoding: Callable[[int], Decoding]) -> Form:
    labels = ("", *map(decoding(column.collation).text, column.labels))
    return Form(_LITTLE[column.size], "labels{own}[{0}]", "<", names={"labels": labels})


def _set(column: LogColumn, decoding: Callable[[int], Decoding]) -> Form:
    labels = set_texts([decoding(column.collation).text(label) for label in column.labels])
    value = f"labels{{own}}[{little_number(column.size)}]"
    return Form(_LITTLE[column.size], value, "<", names={"labels": labels})


def _varchar(column: LogColumn, decoding: Callable[[int], Decoding]) -> Form:
    prefix = 1 if column.size < 256 else 2
    return _data(prefix, decoding(column.collation))


def _blob(column: LogColumn, decoding: Callable[[int], Decoding]) -> Form:
    return _data(column.size, decoding(column.collation))


def _string(column: LogColumn, decoding: Callable[[int], Decoding]) -> Form:
    form = _varchar(column, decoding)
    if not decoding(column.collation).binary:
        return form
    # The log omits trailing zeros, as it omits trailing spaces of text; the zeros belong to the value.
    return replace(form, value=f"{{data}}.ljust({column.size}, b'\\0')")


def _data(prefix: int, decoding: Decoding) -> Form:
    return Form(_LITTLE[prefix], decoding.value, "<", little_number(prefix), decoding.names)


def _compressed(column: LogColumn, decoding: Callable[[int], Decoding]) -> Form:
    form = _blob(column, decoding) if column.type == codes.BLOB_COMPRESSED else _varchar(column, decoding)
    return replace(form, value=form.value.replace("{data}", "inflated_value({data})"))


_MAKERS: dict[int, Callable[[LogColumn, Callable[[int], Decoding]], Form]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    codes.INT24: _integer24,
    codes.DECIMAL: _decimal,
    codes.BIT: _bit,
    codes.DATETIME2: _datetime,
    codes.TIMESTAMP2: _timestamp,
    codes.TIME2: _time,
    codes.ENUM: _enum,
    codes.SET: _set,
    codes.VARCHAR: _varchar,
    codes.VAR_STRING: _varchar,
    codes.STRING: _string,
    **dict.fromkeys(codes.BLOBS - {codes.JSON, codes.BLOB_COMPRESSED}, _blob),
    codes.BLOB_COMPRESSED: _compressed,
    codes.VARCHAR_COMPRESSED: _compressed,
}


_DECIMAL_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of a group, by its digits."""
_DECIMAL_ITEMS = {1: "B", 2: "H", 3: "BH", 4: "I"}
_ITEM_BITS = {"B": 8, "H": 16, "I": 32}


@dataclass(frozen=True, slots=True)
class _Group:
    """Up to nine digits: struct's letters of their bytes, and the number of the first of these items."""

    digits: int
    letters: str
    first: int


def decimal_form_parts(precision: int, scale: int) -> tuple[str, str]:
    """Struct's letters, and the expression of the text: all digits of the scale, as the server prints them.

    The log stores nine digits in four bytes, counted from the point both ways. The first bit is set if the number is
    not negative; all bits of a negative number are inverted.
    """
    groups = _groups(precision, scale)
    letters = "".join(group.letters for group in groups)
    whole = [group for group in groups if group.first < _items_before_point(precision - scale, groups)]
    sign = 1 << _ITEM_BITS[letters[0]] - 1
    plus, minus = (_printed(whole, groups[len(whole) :], sign, negative) for negative in (False, True))
    return letters, f"({plus} if {{0}} & {sign:#x} else {minus})"


def _groups(precision: int, scale: int) -> list[_Group]:
    whole = precision - scale
    sizes = [whole % 9] + [9] * (whole // 9) + [9] * (scale // 9) + [scale % 9]
    groups: list[_Group] = []
    first = 0
    for digits in sizes:
        if digits:
            letters = _DECIMAL_ITEMS[_DECIMAL_BYTES[digits]]
            groups.append(_Group(digits, letters, first))
            first += len(letters)
    return groups


def _items_before_point(whole: int, groups: list[_Group]) -> int:
    count = (whole + 8) // 9
    return sum(len(group.letters) for group in groups[:count])


def _printed(whole: list[_Group], fraction: list[_Group], sign: int, negative: bool) -> str:
    numbers = [f"({_number(group, sign, negative)})" for group in whole]
    # The highest group comes first; each group behind it moves it up by nine digits.
    integer = " + ".join(
        number if place == 0 else f"{number} * {10 ** (9 * place)}" for place, number in enumerate(numbers[::-1])
    )
    printed = ("-" if negative else "") + (f"{{{{{integer}}}}}" if integer else "0")
    decimals = "".join(digits_of(_number(group, sign, negative), group.digits) for group in fraction)
    return f"f'{printed}.{decimals}'" if fraction else f"f'{printed}'"


def _number(group: _Group, sign: int, negative: bool) -> str:
    parts = []
    shift = 0
    for place in reversed(range(len(group.letters))):
        item, letter = group.first + place, group.letters[place]
        turned = (1 << _ITEM_BITS[letter]) - 1 if negative else 0
        if item == 0:
            turned ^= sign
        part = f"({{{item}}} ^ {turned:#x})" if turned else f"{{{item}}}"
        parts.append(f"({part} << {shift})" if shift else part)
        shift += _ITEM_BITS[letter]
    return " | ".join(parts)
