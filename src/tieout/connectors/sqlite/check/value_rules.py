"""What values of an SQLite column break its declared type.

Unless a table is STRICT, SQLite stores any value; a declared type only says what the values should be. A check reports
only what can't be meant: text or bytes where numbers are declared, a fraction among integers, days that the calendar
does not have. Moments may be numbers, as SQLite's own functions take them; the lengths in VARCHAR(n) bind nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tieout.connectors.protocols.paths import SHOWN_BYTES, ValueRule
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.connection import IS_TEXT
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.endpoint import SQLiteEndpoint
from tieout.connectors.sqlite.tokens import Token, joined, name_of, split_at_commas, stripped, tokens
from tieout.model.failures import FailureKind
from tieout.model.tables import Column, Table
from tieout.model.types import TypeName

_DIALECT = SQLiteDialect()
_STORED = 3
_STRICT = {"INT": "integer", "INTEGER": "integer", "REAL": "real", "TEXT": "text", "BLOB": "blob"}
_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_TIME = "[0-9][0-9]:[0-9][0-9]"
_WORDS_FOR_TRUTH = "'true', 'false', 't', 'f', 'yes', 'no', 'y', 'n'"
# Not as a part of a larger condition, which may concern only some rows.
_JSON_CHECK = re.compile(r"\bCHECK ?\( ?(?:[^\s()]+ IS NULL OR )?json_valid ?\( ?([^\s()]+) ?\) ?\)", re.IGNORECASE)


def rules_of(endpoint: SQLiteEndpoint, table: Table) -> tuple[list[ValueRule], list[tuple[str, str]]]:
    """The rules, and the columns for which a rule can't be checked, with the reason."""
    name = _DIALECT.quote(table.name.name)
    known = quoting.text(table.name.name)
    ((statement,),) = endpoint.all(f"SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = {known}")
    hidden = {row[1]: row[6] for row in endpoint.all(f"PRAGMA main.table_xinfo({name})")}
    is_strict = any(row[5] for row in endpoint.all("PRAGMA main.table_list") if row[1] == table.name.name)
    ((encoding,),) = endpoint.all("PRAGMA main.encoding")
    parts = _definitions(statement)
    json = {name_of(tokens(found)[0]).casefold() for found in _JSON_CHECK.findall(joined(tokens(statement)))}
    rules: list[ValueRule] = []
    unchecked_columns: list[tuple[str, str]] = []
    for column in table.columns:
        is_json = column.name.casefold() in json
        judge = _Rules(column, _DIALECT.quote(column.name), is_strict, is_json, str(encoding))
        rules += judge.all()
        if hidden[column.name] == _STORED:
            expression = _expression(parts.get(column.name.casefold(), []))
            if expression is None:
                unchecked_columns.append((column.name, "its expression was not found in the table's definition"))
            else:
                rules.append(_generated(column, _DIALECT.quote(column.name), expression))
    return rules, unchecked_columns


@dataclass(frozen=True)
class _Rules:
    column: Column
    name: str
    is_strict: bool
    is_json: bool
    encoding: str

    def all(self) -> Iterator[ValueRule]:
        name, declared = self.column.type.name, self.column.type.native.upper()
        as_bytes = f"CAST({self.name} AS BLOB)"
        no_text = f"typeof({self.name}) = 'text' AND NOT {IS_TEXT}({as_bytes}, {quoting.text(self.encoding)})"
        yield self._rule(FailureKind.INVALID_ENCODING, f"text in {self.encoding}", no_text)
        if self.is_strict and declared in _STRICT:
            is_class = f"typeof({self.name}) NOT IN ('null', {quoting.text(_STRICT[declared])})"
            yield self._rule(FailureKind.INVALID_VALUE, f"{declared}, as the table is STRICT", is_class)
        elif name in _CLASSES and self.column.order != "numeric":
            says, broken = _CLASSES[name]
            yield self._rule(FailureKind.INVALID_VALUE, says, broken.format(c=self.name))
        if name in (TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT):
            yield from self._moments()
        if name is TypeName.JSON or self.is_json:
            # SQLite says that NULL is not valid JSON.
            broken = f"{self.name} IS NOT NULL AND (typeof({self.name}) = 'blob' OR NOT json_valid({self.name}))"
            yield self._rule(FailureKind.INVALID_JSON, "JSON", broken)

    def _moments(self) -> Iterator[ValueRule]:
        """Only text in the usual form; years before 0 or beyond 9999, and infinity, have forms of their own."""
        c = self.name
        plain = f"typeof({c}) = 'text' AND {c} GLOB {quoting.text(f'{_DAY}*')}"
        other = (
            f"lower({c}) IN ('infinity', '-infinity') OR {c} GLOB '[-+0-9][0-9][0-9][0-9][0-9]*-*' OR {c} LIKE '% BC'"
        )
        known = f"({c} GLOB {quoting.text(_DAY)} OR {c} GLOB {quoting.text(f'{_DAY}[ T]{_TIME}*')} OR {other})"
        yield self._rule(
            FailureKind.INVALID_VALUE,
            "a number, or a moment as YYYY-MM-DD HH:MM:SS",
            f"typeof({c}) = 'blob' OR typeof({c}) = 'text' AND NOT {known}",
        )
        # Without a modifier, SQLite returns the 30th of February unchanged.
        no_day = f"date(substr({c}, 1, 10), '+0 days') IS NOT substr({c}, 1, 10)"
        no_time = f"substr({c}, 12, 8) GLOB {quoting.text(f'{_TIME}:[0-9][0-9]')} AND time(substr({c}, 12, 8)) IS NULL"
        broken = f"{plain} AND NOT ({other}) AND ({no_day} OR {no_time})"
        yield self._rule(FailureKind.VALUE_OUT_OF_RANGE, "a day of the calendar, and a time of the day", broken)

    def _rule(self, kind: FailureKind, says: str, broken: str) -> ValueRule:
        return ValueRule(kind, self.column.name, says, broken, (("value", _shown(self.name)),))


_CLASSES = {
    TypeName.INTEGER: (
        "an integer",
        "typeof({c}) IN ('text', 'blob') OR typeof({c}) = 'real' AND abs({c}) < 9e18 AND {c} <> CAST({c} AS INTEGER)",
    ),
    TypeName.FLOAT64: ("a number", "typeof({c}) IN ('text', 'blob')"),
    TypeName.DECIMAL: ("a number", "typeof({c}) IN ('text', 'blob')"),
    TypeName.BOOLEAN: (
        "true or false",
        "CASE typeof({c}) WHEN 'null' THEN 0 WHEN 'blob' THEN 1"
        f" WHEN 'text' THEN lower({{c}}) NOT IN ({_WORDS_FOR_TRUTH}) ELSE {{c}} NOT IN (0, 1) END",
    ),
    TypeName.TIME: ("a time", "typeof({c}) = 'blob' OR typeof({c}) = 'text' AND NOT {c} GLOB '*[0-9]:[0-9][0-9]*'"),
    TypeName.TEXT: ("text", "typeof({c}) = 'blob'"),
    TypeName.UUID: (
        "a UUID",
        "typeof({c}) = 'blob' AND length({c}) <> 16 OR typeof({c}) = 'text'"
        " AND (length(replace(trim({c}, '{{}}'), '-', '')) <> 32"
        " OR replace(trim({c}, '{{}}'), '-', '') GLOB '*[^0-9A-Fa-f]*')",
    ),
}


def _shown(expression: str) -> str:
    """The value as bytes: a text may be invalid, and a number is written out."""
    return f"substr(CAST({expression} AS BLOB), 1, {SHOWN_BYTES})"


def _generated(column: Column, name: str, expression: str) -> ValueRule:
    """Compared with the column, the expression's value takes on the column's affinity, as when it was stored."""
    broken = f"{name} COLLATE BINARY IS NOT ({expression})"
    shown = (("value", _shown(name)), ("expression_gives", _shown(f"({expression})")))
    return ValueRule(FailureKind.WRONG_GENERATED_VALUE, column.name, f"always {expression}", broken, shown)


def _definitions(statement: str) -> dict[str, list[Token]]:
    """The columns and constraints of a CREATE TABLE, by their first word."""
    inside = [token for token in tokens(statement) if token.depth > 0]
    parts = [part for part in split_at_commas(inside, 1) if part]
    return {name_of(part[0]).casefold(): part for part in reversed(parts)}


def _expression(part: list[Token]) -> str | None:
    """The content of the parentheses after AS."""
    for place, token in enumerate(part):
        if token.depth == 1 and token.says("AS"):
            after = stripped(part[place + 1 :])
            inside: list[Token] = []
            for each in after[1:]:
                if each.depth == 1:
                    return joined(stripped(inside))
                inside.append(each)
    return None
