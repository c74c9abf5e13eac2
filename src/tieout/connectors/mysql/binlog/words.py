"""A statement's text as words, read one after another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tieout.model.tables import TableName

_FOR_SOME_VERSIONS = re.compile(r"/\*M?!\d*(.*?)\*/", re.DOTALL)
_LITERALS = frozenset({"STRING", "NUMBER"})
_QUOTED = frozenset({"STRING", "IDENTIFIER"})


class Unreadable(Exception):
    """A text that can't be cut into words."""


@dataclass(frozen=True, slots=True)
class Word:
    """`key` is a plain word in capitals, or "" for what stands in quotes. `literal`: a text or a number."""

    text: str
    key: str
    literal: bool = False


def words_of(text: str) -> list[Word]:
    """Without comments; code for some versions is none. Unreadable if a quote has no end."""
    from sqlglot.dialects.mysql import MySQL
    from sqlglot.errors import TokenError

    code = _FOR_SOME_VERSIONS.sub(r" \1 ", text)
    try:
        # The word in front keeps the tokenizer from taking the rest of a command as one text.
        tokens = MySQL().tokenize(f"_ {code}")
    except TokenError as error:
        raise Unreadable(str(error)) from None
    return [word for token in tokens[1:] for word in _split(token.text, token.token_type.name)]


def _split(text: str, kind: str) -> Iterator[Word]:
    if kind in _QUOTED:
        yield Word(text, "", kind in _LITERALS)
    elif kind.endswith("_STRING"):  # of bits, of bytes, in a character set
        yield Word(text, "?")
    else:
        for part in text.split():  # PRIMARY KEY is one token
            yield Word(part, part.upper(), kind in _LITERALS)


class Words:
    """Reads words from left to right; past the end there are empty ones."""

    def __init__(self, words: list[Word]) -> None:
        self._words = words
        self._at = 0

    @property
    def key(self) -> str:
        return self._word.key

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._words)

    def take(self) -> Word:
        word = self._word
        self._at += 1
        return word

    def skip(self, *keys: str) -> bool:
        """Goes past these words, if they stand here in this order."""
        here = self._words[self._at : self._at + len(keys)]
        if tuple(word.key for word in here) != keys:
            return False
        self._at += len(keys)
        return True

    def skip_any(self, *keys: str) -> None:
        """Goes past whichever of these words stand here."""
        while self.key in keys and not self.is_over:
            self._at += 1

    def name(self, schema: str) -> TableName:
        """A table's name; `schema` is that of a name without one."""
        first = self.take().text
        return TableName(first, self.take().text) if self.skip(".") else TableName(schema, first)

    def parts(self) -> Iterator[Words]:
        """What commas separate from here on; those in parentheses don't."""
        depth, part = 0, list[Word]()
        while not self.is_over and not (self.key == ")" and depth == 0):
            word = self.take()
            depth += {"(": 1, ")": -1}.get(word.key, 0)
            if word.key == "," and depth == 0:
                yield Words(part)
                part = []
            else:
                part.append(word)
        if part:
            yield Words(part)

    @property
    def _word(self) -> Word:
        return Word("", "") if self.is_over else self._words[self._at]
