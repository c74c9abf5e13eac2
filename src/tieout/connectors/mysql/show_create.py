"""Splits the output of SHOW CREATE TABLE at its commas, not at its lines.

A name may contain any letter, including line ends and parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NAME = r"`(?:[^`]|``)+`"
_TOKEN = re.compile(rf"{NAME}|'(?:[^'\\]|\\.|'')*'|.", re.DOTALL)
_KEY = re.compile(rf"((?:UNIQUE )?KEY|PRIMARY KEY) ?({NAME})?")


def parts_of(statement: str) -> tuple[list[str], str]:
    """The parts between the parentheses, and everything from the closing one on, such as partitions."""
    parts: list[str] = []
    depth, start = 0, 0
    for token in _TOKEN.finditer(statement):
        if token[0] == "(":
            depth += 1
            start = token.end() if depth == 1 else start
        elif token[0] == ")":
            depth -= 1
        if depth == 0 and token[0] == ")":
            return [*parts, statement[start : token.start()].strip()], statement[token.start() :]
        if depth == 1 and token[0] == ",":
            parts.append(statement[start : token.start()].strip())
            start = token.end()
    raise ValueError(f"not the definition of a table: {statement[:60]!r}")


def keys_of(parts: Sequence[str]) -> dict[str, str]:
    """The definitions of B-tree indexes by name; the primary key is PRIMARY."""
    found = {}
    for part in parts:
        if match := _KEY.match(part):
            found["PRIMARY" if match[1] == "PRIMARY KEY" else unquoted(match[2] or "``")] = part
    return found


def unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`")
