"""SQL that finds invalid values of MySQL columns. A permissive sql_mode lets most of them in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.endpoint import MySQLEndpoint
from tieout.connectors.protocols.paths import SHOWN_BYTES, ValueRule
from tieout.model.failures import FailureKind
from tieout.model.tables import Column, Table
from tieout.model.types import TypeName

_COLUMNS = """
SELECT column_name, data_type, character_maximum_length, generation_expression, extra, column_type
FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position"""

_UNICODE = {"utf8mb4": "utf32", "utf8mb3": "utf32", "utf8": "utf32"}
"""The character set that a text is converted to and back, to see whether it survives."""
_JUDGED = {"ascii", "ucs2", "utf16", "utf16le", "utf32"}
_ANYTHING_GOES = {"latin1", "binary"}
"""In these, any bytes are valid text."""
_DATES = {TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT}
_MOST_BITS = 64


@dataclass(frozen=True)
class _Native:
    """A column as information_schema has it. `expression` is set for a stored generated column."""

    base: str
    length: int | None
    expression: str | None
    full: str


def rules_of(endpoint: MySQLEndpoint, table: Table) -> tuple[list[ValueRule], list[tuple[str, str]]]:
    """The rules; and the columns that cannot be checked completely, with the reason."""
    rows = endpoint.all(_COLUMNS, [table.name.schema, table.name.name])
    natives = {row[0]: _native(row[1:]) for row in rows}
    judge = _Rules(MySQLDialect(endpoint.server_kind))
    rules = [rule for column in table.columns for rule in judge.of(column, natives[column.name])]
    unchecked_columns = [
        (column.name, f"its encoding is not checked: no other character set holds all of {column.charset}")
        for column in table.columns
        if column.charset and column.charset not in {*_UNICODE, *_JUDGED, *_ANYTHING_GOES}
    ]
    return rules, unchecked_columns


def _native(row: tuple[Any, ...]) -> _Native:
    base, length, expression, extra, full = row
    stored = any(word in extra.upper() for word in ("STORED GENERATED", "PERSISTENT"))
    return _Native(base, length, expression.replace("\\'", "'") if stored and expression else None, full)


@dataclass(frozen=True)
class _Rules:
    dialect: MySQLDialect

    def of(self, column: Column, native: _Native) -> Iterator[ValueRule]:
        name, kind = self.dialect.quote(column.name), column.type.name
        if kind in _DATES:
            yield _rule(column, name, FailureKind.VALUE_OUT_OF_RANGE, "a day of the calendar", _no_day(name))
        elif kind is TypeName.ENUM:
            broken = f"{name} + 0 NOT BETWEEN 1 AND {len(column.type.values)}"
            yield _rule(column, name, FailureKind.INVALID_VALUE, "a member of the ENUM", broken, f"{name} + 0")
        elif kind is TypeName.SET and len(column.type.values) < _MOST_BITS:
            broken = f"CAST({name} AS UNSIGNED) >> {len(column.type.values)} <> 0"
            yield _rule(column, name, FailureKind.INVALID_VALUE, "members of the SET", broken, f"{name} + 0")
        elif kind is TypeName.BITS and (column.type.precision or 1) < _MOST_BITS:
            broken = f"CAST({name} AS UNSIGNED) >> {column.type.precision or 1} <> 0"
            yield _rule(column, name, FailureKind.INVALID_VALUE, f"{column.type.precision or 1} bits", broken)
        elif kind is TypeName.DECIMAL:
            yield _digits(column, name)
        elif kind is TypeName.JSON:
            yield _rule(column, name, FailureKind.INVALID_JSON, "JSON", f"NOT JSON_VALID({name})")
        if native.base in ("char", "varchar", "binary", "varbinary") and native.length is not None:
            length = "CHAR_LENGTH" if column.charset else "LENGTH"
            broken = f"{length}({name}) > {native.length}"
            yield _rule(column, name, FailureKind.INVALID_VALUE, f"no longer than {native.length}", broken)
        if column.charset in {*_UNICODE, *_JUDGED}:
            yield _encoding(column, name, native)
        if native.expression is not None:
            yield _generated(column, name, native)


def _rule(column: Column, name: str, kind: FailureKind, says: str, broken: str, shown: str | None = None) -> ValueRule:
    return ValueRule(kind, column.name, says, broken, (("value", _shown(shown or name)),))


def _shown(expression: str) -> str:
    return f"LEFT(CAST({expression} AS BINARY), {SHOWN_BYTES})"


def _no_day(name: str) -> str:
    """SQL: zero dates, whole or in part, and days like the 30th of February. The server's own functions return NULL."""
    year, month, day = f"YEAR({name})", f"MONTH({name})", f"DAYOFMONTH({name})"
    leap = f"({year} % 4 = 0 AND {year} % 100 <> 0 OR {year} % 400 = 0)"
    last = f"CASE WHEN {month} = 2 THEN 28 + {leap} WHEN {month} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
    return f"{month} = 0 OR {day} = 0 OR {day} > {last}"


def _digits(column: Column, name: str) -> ValueRule:
    precision, scale = column.type.precision or 10, column.type.scale or 0
    most = ("9" * (precision - scale) or "0") + (f".{'9' * scale}" if scale else "")
    broken = f"ABS({name}) > {most}" + (f" OR {name} < 0" if column.type.unsigned else "")
    return _rule(column, name, FailureKind.VALUE_OUT_OF_RANGE, f"no more than {most}", broken)


def _encoding(column: Column, name: str, native: _Native) -> ValueRule:
    """Invalid text becomes a question mark in another character set, and stays one on the way back."""
    there = f"CONVERT({name} USING {_UNICODE.get(column.charset or '', 'utf8mb4')})"
    back = f"CONVERT({there} USING {column.charset})"
    broken = f"NOT (CAST({name} AS BINARY) <=> CAST({back} AS BINARY))"
    return _rule(column, name, FailureKind.INVALID_ENCODING, f"text in {column.charset}", broken)


def _generated(column: Column, name: str, native: _Native) -> ValueRule:
    computed = _assigned(column, native)
    kind = column.type.name
    if kind is TypeName.CHAR:
        # Trailing spaces are never stored.
        broken = f"NOT (CAST(RTRIM({name}) AS BINARY) <=> CAST(RTRIM({computed}) AS BINARY))"
    elif kind in (TypeName.TEXT, TypeName.ENUM, TypeName.SET, TypeName.JSON, TypeName.UUID, TypeName.OPAQUE):
        broken = f"NOT (CAST({name} AS BINARY) <=> CAST({computed} AS BINARY))"
    elif kind in (TypeName.BITS, TypeName.YEAR):
        broken = f"NOT ({name} + 0 <=> CAST({computed} AS UNSIGNED))"
    else:
        broken = f"NOT ({name} <=> {computed})"
    shown = (("value", _shown(name)), ("expression_gives", _shown(computed)))
    says = f"always {native.expression}"
    return ValueRule(FailureKind.WRONG_GENERATED_VALUE, column.name, says, broken, shown)


def _assigned(column: Column, native: _Native) -> str:
    """The expression as the column stores it: rounded and truncated by its type."""
    expression, kind = f"({native.expression})", column.type.name
    fraction = column.type.precision or 0
    if kind in (TypeName.TEXT, TypeName.CHAR, TypeName.ENUM, TypeName.SET):
        length = f"({native.length})" if native.base in ("char", "varchar") else ""
        return f"CAST({expression} AS CHAR{length} CHARACTER SET {column.charset or 'utf8mb4'})"
    return {
        TypeName.INTEGER: f"CAST({expression} AS {'UNSIGNED' if column.type.unsigned else 'SIGNED'})",
        TypeName.YEAR: f"{expression} + CASE WHEN {expression} BETWEEN 1 AND 69 THEN 2000"
        f" WHEN {expression} BETWEEN 70 AND 99 THEN 1900 ELSE 0 END",
        TypeName.DECIMAL: f"CAST({expression} AS DECIMAL({column.type.precision or 10}, {column.type.scale or 0}))",
        TypeName.FLOAT32: f"CAST({expression} AS FLOAT)",
        TypeName.FLOAT64: f"CAST({expression} AS DOUBLE)",
        TypeName.DATE: f"CAST({expression} AS DATE)",
        TypeName.TIMESTAMP: f"CAST({expression} AS DATETIME({fraction}))",
        TypeName.INSTANT: f"CAST({expression} AS DATETIME({fraction}))",
        TypeName.TIME: f"CAST({expression} AS TIME({fraction}))",
    }.get(kind, expression)
