"""The tokens of a CREATE statement, which SQLite stores in the words of whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|'(?:[^']|'')*')
    |(?P<word>[^\W\d][\w$]*)
    |(?P<other>\d[\w.]*|.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`depth` counts the parentheses around it."""

    text: str
    depth: int
    is_word: bool = False

    def says(self, *words: str) -> bool:
        return self.is_word and self.text.upper() in words


def tokens(statement: str) -> list[Token]:
    """Leaves out comments: one at the end of a line would hide what we append. Any white space becomes one space."""
    found: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(statement):
        if match["space"]:
            if found and found[-1].text != " ":
                found.append(Token(" ", depth))
            continue
        depth -= match[0] == ")"
        found.append(Token(match[0], depth, bool(match["word"])))
        depth += match[0] == "("
    return found


def split_at_commas(parts: Iterable[Token], depth: int) -> Iterator[list[Token]]:
    """Yields the parts, without spaces around them."""
    part: list[Token] = []
    for token in parts:
        if token.text == "," and token.depth == depth:
            yield stripped(part)
            part = []
        else:
            part.append(token)
    yield stripped(part)


def stripped(part: list[Token]) -> list[Token]:
    start, end = 0, len(part)
    while start < end and part[start].text == " ":
        start += 1
    while end > start and part[end - 1].text == " ":
        end -= 1
    return part[start:end]


def joined(part: Iterable[Token]) -> str:
    return "".join(token.text for token in part)


def name_of(token: Token) -> str:
    """A name without its quotes, of which SQLite has four kinds."""
    first = token.text[0]
    if first not in "\"'`[":
        return token.text
    inner = token.text[1:-1]
    return inner if first == "[" else inner.replace(first * 2, first)
