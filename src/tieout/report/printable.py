"""Foreign text made safe and visible for one line of a terminal, and errors as the line that users see.

Names, values and messages of a database can hold anything: escape sequences that drive a terminal, characters
that turn the direction of writing, or nothing visible at all. None of them passes through here.
"""

from __future__ import annotations

import unicodedata

from tieout.errors import ConfigError, StatementError, TieoutError

# Printable for Unicode, but invisible: joiners, fillers, variation selectors, the blank Braille cell.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_visible(character: str) -> bool:
    """Whether a terminal shows the character and does nothing else."""
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


def error_line(error: TieoutError) -> str:
    """`error[access]: message — hint`, on one line.

    A ConfigError may have a line for each problem; a StatementError has the statement, with a mark, under its line.
    """
    if isinstance(error, StatementError):
        first, *pointing = (printable(line.expandtabs(1)) for line in error.message.splitlines())
        return "\n".join([f"error[{error.code}]: {first}" + _hinted(error), *pointing])
    if isinstance(error, ConfigError):
        message = "\n".join(printable(line.expandtabs(4)) for line in error.message.strip().splitlines())
    else:
        message = one_line(error.message)
    return f"error[{error.code}]: {message}" + _hinted(error)


def _hinted(error: TieoutError) -> str:
    return f" — {one_line(error.hint)}" if error.hint else ""
