"""DECIMAL in the log: nine digits to four bytes, counted from the point both ways."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.connectors.mysql.binlog.digits import digits_of

_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Of so many digits."""
_LETTERS = {1: "B", 2: "H", 3: "BH", 4: "I"}
_BITS = {"B": 8, "H": 16, "I": 32}


@dataclass(frozen=True, slots=True)
class _Group:
    """Up to nine digits: struct's letters of their bytes, and the number of the first of these items."""

    digits: int
    letters: str
    first: int


def decimal_form_parts(precision: int, scale: int) -> tuple[str, str]:
    """Struct's letters, and the expression of the text: all digits of the scale, as the server prints them.

    The first bit is set if the number is not negative; all bits of a negative number are turned around.
    """
    groups = _groups(precision, scale)
    letters = "".join(group.letters for group in groups)
    whole = [group for group in groups if group.first < _items_before_point(precision - scale, groups)]
    sign = 1 << _BITS[letters[0]] - 1
    plus, minus = (_printed(whole, groups[len(whole) :], sign, negative) for negative in (False, True))
    return letters, f"({plus} if {{0}} & {sign:#x} else {minus})"


def _groups(precision: int, scale: int) -> list[_Group]:
    whole = precision - scale
    sizes = [whole % 9] + [9] * (whole // 9) + [9] * (scale // 9) + [scale % 9]
    groups: list[_Group] = []
    first = 0
    for digits in sizes:
        if digits:
            letters = _LETTERS[_BYTES[digits]]
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
        turned = (1 << _BITS[letter]) - 1 if negative else 0
        if item == 0:
            turned ^= sign
        part = f"({{{item}}} ^ {turned:#x})" if turned else f"{{{item}}}"
        parts.append(f"({part} << {shift})" if shift else part)
        shift += _BITS[letter]
    return " | ".join(parts)
