"""Which labels of an ENUM or SET MariaDB and MySQL store for a text."""

from __future__ import annotations

import re
from collections.abc import Callable

from tieout.model.tables import Column
from tieout.model.types import TypeName


class UndecidedLabel(Exception):
    """Only the server's collation knows which label a text is."""


def has_labels(native: str) -> bool:
    """Whether a type is one whose labels a collation finds: PostgreSQL refuses one in other letters."""
    return native.startswith(("enum(", "set("))


def label_of(column: Column) -> Callable[[str], str]:
    """What the column holds of a text. A text that the server would refuse stays as it is."""
    found = _Labels(column)
    return found.members if column.type.name is TypeName.SET else found.label


_FOLDING = re.compile(
    r"[a-z0-9]+_(general|general_mysql500|unicode|unicode_520)(_nopad)?_ci"
    r"|[a-z0-9]+_(uca1400(_nopad)?|0900)_a[is]_ci|latin1_swedish(_nopad)?_ci"
)
_CASED = re.compile(r"[a-z0-9]+_(general|(uca1400(_nopad)?|0900)_as)_cs")
"""Collations of which it is known what they make of ASCII: letters are equal in either case, or in their own, and
nothing else is. Others (Turkish, Lithuanian, Latin) consider two letters equal, or the cases of one different.
"""
_PLAIN = re.compile(r"[ -~]*")
_NUMBER = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)


class _Labels:
    def __init__(self, column: Column) -> None:
        self._labels = column.type.values
        collation = column.collation or ""
        self._folds = _FOLDING.fullmatch(collation) is not None
        self._knows_ascii = self._folds or _CASED.fullmatch(collation) is not None
        self._is_exact = collation.endswith("_bin") or collation == "binary"
        self._is_plain = all(_PLAIN.fullmatch(label) for label in self._labels)
        self._folded = {label.lower(): label for label in self._labels if label.isascii()}

    def label(self, text: str) -> str:
        trimmed = text.rstrip(" ")
        found = self._find(trimmed)
        if found is not None:
            return found
        if trimmed.isascii() and trimmed.isdigit() and len(trimmed) <= 5 and int(trimmed):
            # A text that is no label is the number of one.
            return self._labels[int(trimmed) - 1] if int(trimmed) <= len(self._labels) else text
        self._must_be_decided(text)
        return text

    def members(self, text: str) -> str:
        trimmed = text.rstrip(" ")
        if not text:
            return text
        found = [self._find(member) for member in trimmed.split(",")]
        if trimmed and None not in found:
            return ",".join(label for label in self._labels if label in found)
        if not any(label is not None for label in found) and text.isascii() and text.isdigit() and len(text) <= 20:
            # No member at all: a number whose bits are the members.
            bits = int(text)
            if bits < 1 << len(self._labels):
                return ",".join(label for place, label in enumerate(self._labels) if bits >> place & 1)
            return text
        self._must_be_decided(text)
        return text

    def _find(self, text: str) -> str | None:
        if text in self._labels:
            return text
        return self._folded.get(text.lower()) if self._folds and text.isascii() else None

    def _must_be_decided(self, text: str) -> None:
        """Raises UndecidedLabel unless the server refuses the text, which is not spelt as a label is."""
        known = self._is_exact or (self._knows_ascii and self._is_plain and _PLAIN.fullmatch(text))
        if not known or _NUMBER.fullmatch(text):
            raise UndecidedLabel
