"""What the bodies of triggers and routines refer to, as far as it can be told without running them.

The server looks that up only when they run. Statements that stand alone or between BEGIN and END are parsed here; what
stands under a condition or in a loop is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")
_BLOCK = re.compile(r"\s*BEGIN\b(?!\s+NOT\b)(?P<inside>.*)\bEND\s*;?\s*", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(r"\s*(?:RETURN|SET\s+[\w.`@]+\s*:?=)(?P<value>.*)", re.IGNORECASE | re.DOTALL)
_NO_TABLE = re.compile(r"\s*(?:DECLARE\s+[\w`, ]+\s+[a-z]+(?:\([^)]*\))?(?:\s+DEFAULT\s+[\w'.-]+)?)?\s*", re.IGNORECASE)
_REPLACE = re.compile(r"^REPLACE\b", re.IGNORECASE)
_TEMPORARY = re.compile(r"CREATE\s+TEMPORARY\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(\w+)`?", re.IGNORECASE)


@dataclass(frozen=True)
class Spoken:
    """The tables that a body names, those without a schema with "". `complete`: every statement was understood."""

    tables: frozenset[tuple[str, str]]
    complete: bool


def spoken(body: str) -> Spoken:
    block = _BLOCK.fullmatch(body)
    pieces = _split(block["inside"]) if block else [body]
    if pieces is None:
        return Spoken(frozenset(), complete=False)
    found: set[tuple[str, str]] = set()
    complete = True
    for piece in pieces:
        tables = _tables(piece)
        complete = complete and tables is not None
        found |= tables or set()
    temporary = {name.casefold() for name in _TEMPORARY.findall(body)}
    return Spoken(frozenset(each for each in found if each[1].casefold() not in temporary), complete)


def _split(text: str) -> list[str] | None:
    try:
        tokens = sqlglot.tokenize(text, read="mysql")
    except SqlglotError:
        return None
    pieces, start = [], 0
    for token in tokens:
        if token.token_type.name == "SEMICOLON":
            pieces.append(text[start : token.start])
            start = token.end + 1
    return [*pieces, text[start:]]


def _tables(piece: str) -> set[tuple[str, str]] | None:
    """None if the statement is not understood."""
    if _NO_TABLE.fullmatch(piece):
        return set()
    value = _VALUE.fullmatch(piece)
    statement = f"SELECT {value['value']}" if value else piece.strip()
    if not statement.upper().startswith(_STATEMENTS):
        return None
    try:
        # sqlglot leaves REPLACE alone.
        tree = sqlglot.parse_one(_REPLACE.sub("INSERT", statement), read="mysql")
    except (SqlglotError, ValueError):
        return None
    if isinstance(tree, exp.Command):
        return None
    # Names that a statement gives itself; and variables, which stand behind INTO.
    given = {each.alias_or_name.casefold() for each in tree.find_all(exp.CTE)}
    given |= {each.alias.casefold() for each in tree.find_all(exp.Table) if each.alias}
    return {
        (each.db, each.name)
        for each in tree.find_all(exp.Table)
        if isinstance(each.this, exp.Identifier)
        and each.find_ancestor(exp.Into) is None
        and not (each.db == "" and each.name.casefold() in given | {"dual"})
    }
