"""Text that came from somewhere else, made safe and visible for one line of a terminal.

Names, values and messages of a database can hold anything: escape sequences that drive a terminal, characters
that turn the direction of writing, or nothing visible at all. Nothing of that kind passes through here.
"""

from __future__ import annotations

import unicodedata

# Printable for Unicode, but nothing to be seen: joiners, fillers, variation selectors, the blank Braille cell.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_visible(character: str) -> bool:
    """Whether a terminal shows something for it, and does nothing else."""
    return character.isprintable() and character not in _INVISIBLE


def code_point(character: str) -> str:
    """The character as an escape: \\n, \\x1b, \\u202e, \\U000e0001."""
    number = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def printable(text: str) -> str:
    """The text with every invisible character escaped; for names."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if is_visible(character) else code_point(character) for character in text)


def one_line(text: str) -> str:
    """A message of any shape as one printable line."""
    return printable(" ".join(text.split()))


def look_alike(one: str, other: str) -> bool:
    """Whether people would take the two for the same (é as one character, é as e and an accent)."""
    return unicodedata.normalize("NFKC", one) == unicodedata.normalize("NFKC", other)
