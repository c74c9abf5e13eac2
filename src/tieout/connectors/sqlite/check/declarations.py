"""Constraints as a CREATE TABLE has them: SQLite tells no other way what a CHECK says, nor what anything is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tieout.connectors.sqlite.tokens import Token, joined, name_of, split_at_commas, stripped, tokens

_OF_TABLE = ("CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN")


@dataclass(frozen=True, slots=True)
class Declared:
    """`kind` is CHECK, UNIQUE, PRIMARY or REFERENCES. `expression` is that of a CHECK."""

    kind: str
    name: str | None
    columns: tuple[str, ...]
    expression: str = ""


def declared_in(statement: str, columns: Sequence[str]) -> list[Declared]:
    """In the order in which they stand there. `columns` are the table's."""
    parts = tokens(statement)
    if any(token.says("VIRTUAL") for token in parts[:4]):
        return []
    body = [token for token in parts if token.depth > 0]
    return [each for part in split_at_commas(body, 1) for each in _Part(part, columns).read()]


class _Part:
    """What stands between two commas: a column with its constraints, or constraints of the table."""

    def __init__(self, part: list[Token], columns: Sequence[str]) -> None:
        self._tokens = [token for token in part if token.text != " "]
        self._spaced = part
        self._columns = columns
        first = self._tokens[0] if self._tokens else None
        self._own: tuple[str, ...] = () if first is None or first.says(*_OF_TABLE) else (name_of(first),)

    def read(self) -> list[Declared]:
        found: list[Declared] = []
        name: str | None = None
        listed = self._own
        for place, token in enumerate(self._tokens):
            if token.depth != 1:
                continue
            if token.says("CONSTRAINT"):
                name = name_of(self._tokens[place + 1])
            elif token.says("FOREIGN"):
                listed = self._listed(place + 2)
            elif token.says("UNIQUE", "PRIMARY"):
                after = place + (2 if token.says("PRIMARY") else 1)
                found.append(Declared(token.text.upper(), name, self._listed(after) or self._own))
                name = None
            elif token.says("REFERENCES"):
                found.append(Declared("REFERENCES", name, listed))
                name, listed = None, self._own
            elif token.says("CHECK"):
                found.append(self._check(token, name))
                name = None
        return found

    def _listed(self, place: int) -> tuple[str, ...]:
        """The names in the parentheses that stand there, if they do."""
        if place >= len(self._tokens) or self._tokens[place].text != "(":
            return ()
        inside = self._inside(self._tokens, self._tokens[place])
        return tuple(name_of(stripped(part)[0]) for part in split_at_commas(inside, 2))

    def _check(self, check: Token, name: str | None) -> Declared:
        after = self._spaced[next(place for place, token in enumerate(self._spaced) if token is check) + 1 :]
        expression = self._inside(after, next(token for token in after if token.text == "("))
        words = {name_of(token).casefold() for token in expression if token.is_word or token.text[0] in '"`['}
        named = tuple(column for column in self._columns if column.casefold() in words)
        return Declared("CHECK", name, named, joined(expression))

    def _inside(self, parts: Sequence[Token], opening: Token) -> list[Token]:
        start = next(place for place, token in enumerate(parts) if token is opening) + 1
        end = next(place for place in range(start, len(parts)) if parts[place].depth == opening.depth)
        return list(parts[start:end])
