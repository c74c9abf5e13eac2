"""Expressions of a task: each with its Spark SQL text, and with a meaning of its own in Python. Knows no Tieout.

A meaning takes a row and returns a value: int, Decimal, str, bool, date, datetime, bytes, or None for NULL. Conditions
have three values: True, False and None.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

Values = Mapping[str, Any]
"""A row of the source by its columns, with `_schema` and `_table`."""

CONDITION, INT, DECIMAL, TEXT = "condition", "int", "decimal", "text"


@dataclass(frozen=True)
class Expression:
    """`names` are the columns that it needs."""

    kind: str
    sql: str
    of: Callable[[Values], Any] = field(repr=False)
    names: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.sql


_RESERVED = {"select"}


def column(name: str, kind: str) -> Expression:
    plain = name.isidentifier() and name.isascii() and name not in _RESERVED
    return Expression(kind, name if plain else f"`{name}`", lambda row: row[name], frozenset({name}))


def literal(value: Any, kind: str) -> Expression:
    return Expression(kind, _written(value, kind), lambda row: value)


_ESCAPED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}


def _written(value: Any, kind: str) -> str:
    if value is None:
        return "NULL"
    if kind == "instant":
        return f"TIMESTAMP'{value.isoformat(sep=' ')}Z'"
    if isinstance(value, datetime):
        return f"TIMESTAMP_NTZ'{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + "".join(_ESCAPED.get(letter, letter) for letter in value) + "'"
    return str(value)


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPARISONS = (*_COMPARISONS, "<=>")


def compared(sign: str, left: Expression, right: Expression) -> Expression:
    if sign == "<=>":
        return _made(CONDITION, f"({left} <=> {right})", lambda a, b: a == b, [left, right], strict=False)
    return _made(CONDITION, f"({left} {sign} {right})", _COMPARISONS[sign], [left, right])


def is_null(of: Expression, *, negated: bool = False) -> Expression:
    words = "IS NOT NULL" if negated else "IS NULL"
    return _made(CONDITION, f"({of} {words})", lambda a: (a is None) != negated, [of], strict=False)


def is_true(flag: Expression) -> Expression:
    """A flag is a boolean for one engine, and a number for another."""
    return _made(CONDITION, f"(CAST({flag} AS INT) = 1)", bool, [flag])


def both(left: Expression, right: Expression) -> Expression:
    def meaning(a: bool | None, b: bool | None) -> bool | None:
        return False if a is False or b is False else None if a is None or b is None else True

    return _made(CONDITION, f"({left} AND {right})", meaning, [left, right], strict=False)


def either(left: Expression, right: Expression) -> Expression:
    def meaning(a: bool | None, b: bool | None) -> bool | None:
        return True if a is True or b is True else None if a is None or b is None else False

    return _made(CONDITION, f"({left} OR {right})", meaning, [left, right], strict=False)


def negation(of: Expression) -> Expression:
    return _made(CONDITION, f"(NOT {of})", operator.not_, [of])


def among(of: Expression, values: Sequence[Expression]) -> Expression:
    def meaning(value: Any, *others: Any) -> bool | None:
        if value is None:
            return None
        return True if value in [other for other in others if other is not None] else None if None in others else False

    listed = ", ".join(map(str, values))
    return _made(CONDITION, f"({of} IN ({listed}))", meaning, [of, *values], strict=False)


_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
ARITHMETIC = tuple(_ARITHMETIC)


def calculated(sign: str, left: Expression, right: Expression) -> Expression:
    kind = DECIMAL if DECIMAL in (left.kind, right.kind) else INT
    return _made(kind, f"({left} {sign} {right})", _ARITHMETIC[sign], [left, right])


def remainder(of: Expression, by: int) -> Expression:
    """It has the sign of what is divided, as in SQL."""
    return _made(INT, f"({of} % {by})", lambda a: abs(a) % by * (1 if a >= 0 else -1), [of])


def divided(of: Expression, by: int) -> Expression:
    return _made(INT, f"({of} div {by})", lambda a: abs(a) // by * (1 if a >= 0 else -1), [of])


def without_digits(of: Expression) -> Expression:
    return _made(INT, f"CAST({of} AS BIGINT)", int, [of])


def case(condition: Expression, then: Expression, otherwise: Expression | None) -> Expression:
    parts = [condition, then, *([otherwise] if otherwise else [])]
    tail = f" ELSE {otherwise}" if otherwise else ""

    def meaning(row: Values) -> Any:
        if condition.of(row) is True:
            return then.of(row)
        return otherwise.of(row) if otherwise else None

    return Expression(then.kind, f"CASE WHEN {condition} THEN {then}{tail} END", meaning, _names(parts))


def coalesced(parts: Sequence[Expression]) -> Expression:
    def meaning(*values: Any) -> Any:
        return next((value for value in values if value is not None), None)

    return _made(parts[0].kind, f"coalesce({', '.join(map(str, parts))})", meaning, parts, strict=False)


def upper(of: Expression) -> Expression:
    return _made(TEXT, f"upper({of})", str.upper, [of])


def lower(of: Expression) -> Expression:
    return _made(TEXT, f"lower({of})", str.lower, [of])


def concatenated(parts: Sequence[Expression]) -> Expression:
    return _made(TEXT, f"concat({', '.join(map(str, parts))})", lambda *texts: "".join(texts), parts)


def part_of(of: Expression, start: int, count: int | None = None) -> Expression:
    """From the first letter, which is 1."""
    end = None if count is None else start - 1 + count
    more = "" if count is None else f", {count}"
    return _made(TEXT, f"substring({of}, {start}{more})", lambda text: text[start - 1 : end], [of])


def length(of: Expression) -> Expression:
    return _made(INT, f"length({of})", len, [of])


def as_text(of: Expression) -> Expression:
    return _made(TEXT, f"CAST({of} AS STRING)", str, [of])


def _made(
    kind: str, sql: str, meaning: Callable[..., Any], parts: Sequence[Expression], *, strict: bool = True
) -> Expression:
    """`strict`: NULL if a part is NULL."""

    def of(row: Values) -> Any:
        values = [part.of(row) for part in parts]
        return None if strict and None in values else meaning(*values)

    return Expression(kind, sql, of, _names(parts))


def _names(parts: Sequence[Expression]) -> frozenset[str]:
    return frozenset[str]().union(*(part.names for part in parts))
