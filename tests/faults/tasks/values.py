"""The values that tables of a task are filled with: few enough to meet each other, some hostile."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tests.faults.tasks.task import Column

TEXTS = (
    *("a", "A", "ä", "Ä", "á", "e\u0301", "é", "ß", "SS", "ss", "İ", "ı", "Σίσυφος", "ſ", "🙂", "EU", "eu", "Eu", "eU"),
    *(
        "",
        " ",
        "a ",
        " a",
        "a\t",
        "\ta\n",
        "a\\",
        "\\N",
        "\\x41",
        "NULL",
        "null",
        "'",
        '"',
        "it's",
        "%",
        "_",
        "`",
        ";--",
    ),
    *("0", "00", "-1", "1e3", "true", "\u00a0", "\u200b", "\x7f", "\x1f", "日本語", "zzz", "Z"),
)
NUMBERS = (-1_000_000, -999, -8, -7, -3, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 100, 12_345, 1_000_000)
HUGE = (-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1)
AMOUNTS = tuple(
    map(Decimal, ("-99999999.99", "-12.50", "-0.01", "0.00", "0.01", "0.10", "1.00", "2.50", "9.99", "12345.67"))
)
DAYS = (
    date(1582, 10, 15),
    date(1969, 12, 31),
    date(1970, 1, 1),
    date(2024, 2, 29),
    date(2024, 3, 1),
    date(9999, 12, 31),
)
MOMENTS = (
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(2000, 1, 1),
    datetime(2024, 2, 29, 23, 59, 59, 123_456),
    datetime(2024, 3, 31, 2, 30),
    datetime(2024, 10, 27, 2, 30, 0, 500_000),
    datetime(2037, 12, 31, 23, 59, 59),
)
INSTANTS = MOMENTS[1:]
"""MariaDB's begin in 1970."""
RAW = (b"", b"\x00", b"\xff\xfe", b"\\x41", b"a\tb\nc", b"'\"\\", bytes(range(0, 256, 7)))

POOLS: dict[str, tuple[Any, ...]] = {
    "int": NUMBERS,
    "big": HUGE,
    "decimal": AMOUNTS,
    "text": TEXTS,
    "flag": (False, True),
    "day": DAYS,
    "at": MOMENTS,
    "instant": INSTANTS,
    "raw": RAW,
}


def value(chance: random.Random, kind: str) -> Any:
    """One of a column; sometimes NULL."""
    if chance.random() < 0.15:
        return None
    return held(chance, kind)


def held(chance: random.Random, kind: str) -> Any:
    """One that is not NULL."""
    if kind == "long":
        # Longer than what PostgreSQL keeps in its row, and nothing that would get short when it is compressed.
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyzäöü0123456789\\\t", k=chance.choice((5, 40, 3_000))))
    if kind == "int" and chance.random() < 0.3:
        return chance.randint(-50, 50)
    if kind == "text" and chance.random() < 0.3:
        return "".join(chance.choice(TEXTS[:30]) for _ in range(chance.randint(1, 4)))[:38]
    return chance.choice(POOLS[kind])


def key_value(chance: random.Random, kind: str) -> Any:
    """One of a key: of several hundred."""
    if kind == "text":
        return f"{chance.choice(TEXTS[:24])}{chance.randrange(20)}{chance.choice(('', '', '', ' ', 'a', 'A', 'ä'))}"
    if kind == "day":
        return date.fromordinal(738_000 + chance.randrange(300))
    return chance.randrange(300) - 50


def row(chance: random.Random, columns: tuple[Column, ...], key: tuple[str, ...], stamp: str) -> dict[str, Any]:
    """A row without its stamp."""
    return {
        column.name: key_value(chance, column.kind) if column.name in key else value(chance, column.kind)
        for column in columns
        if column.name != stamp
    }
