"""Splits a statement's text into words. Everything that reads statements of the log uses this one tokenizer.

It splits a text where the server's own lexer does (sql/sql_lex.cc). Servers never log what their lexer refuses; such a
text is NotCheckable here, rather than split in some other way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tieout.model.tables import TableName

ANSI_QUOTES, NO_BACKSLASH_ESCAPES = 1 << 2, 1 << 20
"""Bits of sql_mode that change how a text is split."""

_NAME = r"[0-9A-Za-z_$\x80-\x9f\xa1-\U0010ffff]"  # U+00A0 is space to some character sets, and part of a name to others
_name = re.compile(rf"{_NAME}+").match
_skipped = re.compile(r"(?:[ \t-\r]+|\#[^\n\0]*|--(?![^\0-\x20\x7f])[^\n\0]*)+").match
_comment = re.compile(r"/\*.*?\*/", re.DOTALL).match
_code_for = re.compile(r"/\*M?!(?:\d{5,6})?").match
_number = re.compile(rf"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?!{_NAME})|\d+[eE][+-]\d+").match
_whole_number = re.compile(r"\d+(?:[eE]\d+)?").fullmatch
_MEANT = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _in_quotes(begin: str, end: str, *, escapes: bool = False) -> re.Pattern[str]:
    begin, end = re.escape(begin), re.escape(end)
    inside = rf"[^{end}\\]++|\\." if escapes else rf"[^{end}]++"
    return re.compile(rf"{begin}((?:{inside}|{end}{end})*+){end}", re.DOTALL)


_NAMES = {begin: _in_quotes(begin, end) for begin, end in ("``", '""', "[]")}  # MariaDB has [name] with sql_mode MSSQL
_PLAIN = {quote: _in_quotes(quote, quote) for quote in "'\""}
_ESCAPING = {quote: _in_quotes(quote, quote, escapes=True) for quote in "'\""}


class NotCheckable(Exception):
    """A text that cannot be split into words with certainty."""


class NotUnderstood(Exception):
    """Words that are not one of the known statements."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a server splits a text. `sql_mode` is None if unknown."""

    sql_mode: int | None = 0
    mariadb: bool = True


USUAL = Rules()


@dataclass(frozen=True, slots=True)
class Word:
    """`key` is a plain word in capitals, or "" if the word is quoted. `literal`: a text or a number."""

    text: str
    key: str
    literal: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it can be the name of a table: a text can, too, where double quotes may or may not quote names."""
        return not self.key or (not self.literal and _name(self.key) is not None)


def words_of(text: str, rules: Rules = USUAL) -> list[Word]:
    """All words, without comments, but with code for some versions. NotCheckable if a quote or a comment has no end."""
    return list(words_in(text, rules))


def words_in(text: str, rules: Rules = USUAL) -> Iterator[Word]:
    """The words one after another: reads only as much of a long text as the caller takes."""
    at, code = 0, False
    while (at := _behind_space(text, at)) < len(text):
        here = text[at]
        if here in "/*" and (mark := _behind_mark(text, at, code, rules)):
            at, code = mark
        elif here in "'\"`[":
            word, at = _quoted(text, at, rules)
            yield word
        elif number := _number(text, at):
            yield Word(number[0], number[0], literal=True)
            at = number.end()
        elif found := _name(text, at):
            word, at = _plain(text, found[0], found.end())
            yield word
            while text.startswith(".", at) and (part := _name(text, at + 1)):  # after a name, .5 is not a number
                yield Word(".", ".")
                yield Word(part[0], _key(part[0]))
                at = part.end()
        elif here in "\0\xa0":
            raise NotCheckable(f"it has {here!r} at {at}")
        else:
            yield Word(here, here)
            at += 1
    if code:
        raise NotCheckable("code for some versions has no end")


def _behind_mark(text: str, at: int, code: bool, rules: Rules) -> tuple[int, bool] | None:
    """Where a comment, or a mark that starts or ends code for some versions, ends; and whether such code follows."""
    if code and text.startswith("*/", at):
        return at + 2, False  # also ends code inside the code
    if text.startswith("/*", at):
        begin = _code_for(text, at)
        if begin and (rules.mariadb or text[at + 2] == "!"):
            # The server ran it: code that it skips, it turns into a comment before it logs a text.
            return begin.end(), True
        if comment := _comment(text, at):
            return comment.end(), code
        raise NotCheckable("a comment has no end")
    if text.startswith("*/", at) and not text.startswith("*/*", at):
        raise NotCheckable("the end of no comment")
    return None


def _behind_space(text: str, at: int) -> int:
    skipped = _skipped(text, at)
    return skipped.end() if skipped else at


def _plain(text: str, word: str, end: int) -> tuple[Word, int]:
    """A word without quotes; x'41' and b'1' are one word."""
    if word in ("x", "X", "b", "B") and (digits := _PLAIN["'"].match(text, end)):
        return Word(digits[1], "?"), digits.end()
    if _whole_number(word):
        return Word(word, word, literal=True), end
    return Word(word, _key(word)), end


def _key(word: str) -> str:
    """Keywords are ASCII, although capitals of some other letters are ASCII, too."""
    return word.upper() if word.isascii() else word


def _quoted(text: str, at: int, rules: Rules) -> tuple[Word, int]:
    quote, mode = text[at], rules.sql_mode
    named = quote in "`[" or (quote == '"' and bool((mode or 0) & ANSI_QUOTES))
    escapes = not named and not (mode or 0) & NO_BACKSLASH_ESCAPES
    found = (_NAMES if named else _ESCAPING if escapes else _PLAIN)[quote].match(text, at)
    if found is None:
        raise NotCheckable(f"{quote} has no end")
    if mode is None and (quote == '"' or "\\" in found[0]) and not named:
        raise NotCheckable("the sql_mode that the server read it with is unknown")
    end = "]" if quote == "[" else quote
    inside = found[1].replace(end * 2, end)
    if escapes and "\\" in found[1]:
        # A quote may be doubled or escaped, and so may a backslash before it: handle them in order.
        inside = re.sub(rf"{quote}{quote}|\\.", lambda two: _meant(two[0]), found[1], flags=re.DOTALL)
    return Word(inside, "", literal=not named), found.end()


def _meant(two: str) -> str:
    return _MEANT.get(two[1], two[1])


class Words:
    """Reads words from left to right; past the end, words are empty."""

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
        """Skips these words, if they are next, in this order."""
        here = self._words[self._at : self._at + len(keys)]
        if tuple(word.key for word in here) != keys:
            return False
        self._at += len(keys)
        return True

    def skip_any(self, *keys: str) -> None:
        """Skips any of these words that are next."""
        while self.key in keys and not self.is_over:
            self._at += 1

    def skip_waiting(self) -> None:
        """Skips how long a statement waits for its tables."""
        if self.skip("WAIT"):
            self.take()
        self.skip("NOWAIT")

    def part(self) -> str:
        """A name without a schema."""
        word = self.take()
        if not word.is_name or self._at > len(self._words):
            raise NotUnderstood(f"{word.text!r} is not a name")
        return word.text

    def name(self, schema: str) -> TableName:
        """A table's name; without a schema, it belongs to `schema`."""
        if self.skip("."):  # a dot may precede it all the same
            return TableName(schema, self.part())
        first = self.part()
        name = TableName(first, self.part()) if self.skip(".") else TableName(schema, first)
        if self.key == ".":
            raise NotUnderstood(f"{name} has more parts")
        return name

    def has(self, *keys: str) -> bool:
        """Whether these words come next to each other, from here on."""
        left = [word.key for word in self._words[self._at :]]
        return any(tuple(left[at : at + len(keys)]) == keys for at in range(len(left)))

    def rest(self) -> Words:
        """The words from here on, to read them twice."""
        return Words(self._words[self._at :])

    def refuse_several(self) -> None:
        """Raises NotUnderstood if another statement follows."""
        if any(word.key == ";" for word in self._words):
            raise NotUnderstood("several statements")

    def end(self) -> None:
        """Raises NotUnderstood if words are left."""
        if not self.is_over:
            raise NotUnderstood(f"{self._word.text!r} is too much")

    def parts(self) -> Iterator[Words]:
        """The parts between commas from here on; commas in parentheses do not count."""
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
