"""Digits with their leading zeros: looking them up takes a third of the time that formatting does."""

from __future__ import annotations

DIGITS = {f"digits{count}": [f"{number:0{count}d}" for number in range(10**count)] for count in range(1, 5)}
"""All numbers of so many digits, by names that expressions use."""


def digits_of(number: str, count: int) -> str:
    """A piece of an f-string that prints the number of an expression with so many digits, 9 at most.

    Braces are doubled, as in the value of a Form.
    """
    if count <= 4:
        return f"{{{{digits{count}[{number}]}}}}"
    if count == 6:
        return f"{{{{digits3[(u := {number}) // 1000]}}}}{{{{digits3[u % 1000]}}}}"
    return f"{{{{{number}:0{count}d}}}}"


def fraction_of(number: str, count: int) -> str:
    """The same, with a point, for a fraction that is kept with an even number of digits; nothing for none."""
    if not count:
        return ""
    return "." + (digits_of(f"({number}) // 10", count) if count % 2 else digits_of(number, count))
