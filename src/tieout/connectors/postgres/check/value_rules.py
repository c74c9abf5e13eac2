"""Rules for the values of PostgreSQL columns, as SQL that is true for an invalid value.

The only way to find out whether PostgreSQL can read a value is to read it, so some rules are never true, and fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.catalog import domain_check_name, domain_not_null_name
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.endpoint import PostgresEndpoint
from tieout.connectors.protocols.paths import SHOWN_BYTES, ValueRule
from tieout.model.failures import FailureKind
from tieout.model.tables import Table

_COLUMNS = """
WITH RECURSIVE base AS (
  SELECT a.attnum, a.attname, a.atttypid AS typid, a.atttypmod AS modifier, 0 AS depth
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attnum, b.attname, t.typbasetype, CASE WHEN t.typtypmod >= 0 THEN t.typtypmod ELSE b.modifier END, depth + 1
  FROM base b JOIN pg_type t ON t.oid = b.typid WHERE t.typtype = 'd')
SELECT b.attnum, b.attname, t.typname, t.typtype::text, t.typlen, t.typcategory::text, b.modifier, t.typnotnull,
  format_type(b.typid, NULL),
  (SELECT array_agg(ARRAY[k.conname::text, pg_get_expr(k.conbin, 0)] ORDER BY k.conname)
   FROM pg_constraint k WHERE k.contypid = b.typid AND k.contype = 'c')
FROM base b JOIN pg_type t ON t.oid = b.typid ORDER BY b.attnum, b.depth"""

_GENERATED = """
SELECT a.attname, pg_get_expr(d.adbin, d.adrelid), format_type(a.atttypid, a.atttypmod),
  NOT t.typcategory IN ('S', 'A', 'C', 'G', 'U', 'X')
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = %s AND c.relname = %s AND a.attgenerated = 's' AND NOT a.attisdropped ORDER BY a.attnum"""

_DIALECT = PostgresDialect()
_VALUE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\bVALUE\b")
_RANGES = {
    "date": ("date", "4713-01-01 BC", "5874897-12-31"),
    "timestamp": ("timestamp", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999"),
    "timestamptz": ("timestamptz", "4713-01-01 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00"),
    "time": ("time", "00:00:00", "24:00:00"),
}
_HEADER = 4
"""PostgreSQL adds this to the modifiers of char(n), varchar(n) and numeric(p, s)."""


@dataclass
class _Column:
    """A column with the base type of its domains. `checks` are the domains' constraints and their names; `not_null`
    are the domains that forbid NULL, by their names in the catalog and in SQL.
    """

    name: str
    type: str = ""
    native: str = ""
    fixed: bool = False
    modifier: int = -1
    checks: list[tuple[str, str]] = field(default_factory=list)
    not_null: list[tuple[str, str]] = field(default_factory=list)


def rules_of(endpoint: PostgresEndpoint, table: Table) -> list[ValueRule]:
    named = [table.name.schema, table.name.name]
    rules = [rule for column in _columns(endpoint.all(_COLUMNS, named)) for rule in _rules(column)]
    return rules + [_generated(*row) for row in endpoint.all(_GENERATED, named)]


def _columns(rows: list[tuple[Any, ...]]) -> list[_Column]:
    columns: dict[int, _Column] = {}
    for number, name, type_name, category, length, _, modifier, not_null, native, checks in rows:
        column = columns.setdefault(number, _Column(name))
        if category == "d":
            column.checks += [(constraint, expression) for constraint, expression in checks or ()]
            column.not_null += [(type_name, native)] if not_null else []
        else:
            column.type, column.native, column.modifier = type_name, native, modifier
            column.fixed = length > 0 and category != "e"
    return list(columns.values())


def _rules(column: _Column) -> Iterator[ValueRule]:
    name = _DIALECT.quote(column.name)
    if not column.fixed:
        yield _rule(column, FailureKind.INVALID_VALUE, f"a {column.native} that can be read", _readable(column, name))
    if column.type == "json":
        yield _rule(column, FailureKind.INVALID_JSON, "JSON", f"{name}::text::json IS NULL AND {name} IS NOT NULL")
    yield from _lengths(column, name)
    if column.type in _RANGES:
        kind, low, high = _RANGES[column.type]
        finite = "" if kind == "time" else f"isfinite({name}) AND "
        least, most = (f"{kind} {quoting.text(end)}" for end in (low, high))
        broken = f"{finite}({name} < {least} OR {name} > {most})"
        yield _rule(column, FailureKind.VALUE_OUT_OF_RANGE, f"from {low} to {high}", broken)
    if column.type == "numeric" and column.modifier >= _HEADER:
        yield _digits(column, name)
    for constraint, expression in column.checks:
        of_value = _VALUE.sub(lambda found: name if found[0] == "VALUE" else found[0], expression)
        reported_as = domain_check_name(column.name, constraint)
        yield _rule(
            column, FailureKind.INVALID_VALUE, f"within its domain: {expression}", f"NOT ({of_value})", reported_as
        )
    for domain, native in column.not_null:
        reported_as = domain_not_null_name(column.name, domain)
        yield _rule(column, FailureKind.INVALID_VALUE, f"{native} is NOT NULL", f"{name} IS NULL", reported_as)


def _rule(column: _Column, kind: FailureKind, says: str, broken: str, constraint: str | None = None) -> ValueRule:
    return ValueRule(kind, column.name, says, broken, (("value", _shown(_DIALECT.quote(column.name))),), constraint)


def _shown(expression: str) -> str:
    return f"substring(textsend(({expression})::text) FROM 1 FOR {SHOWN_BYTES})"


def _readable(column: _Column, name: str) -> str:
    """Never true. Fails if the value is lost, invalid for its type, or not text in the database's encoding."""
    if column.type == "bytea":
        return f"octet_length({name} || ''::bytea) < 0"
    # Converts the text to the encoding that it has already: nothing changes, and the server validates every character.
    return f"octet_length(convert_to({name}::text, getdatabaseencoding())) < 0"


def _lengths(column: _Column, name: str) -> Iterator[ValueRule]:
    if column.modifier < 0:
        return
    invalid = FailureKind.INVALID_VALUE
    if column.type in ("varchar", "bpchar") and column.modifier >= _HEADER:
        most = column.modifier - _HEADER
        yield _rule(column, invalid, f"at most {most} characters", f"length({name}::text) > {most}")
    elif column.type == "bit":
        yield _rule(column, invalid, f"{column.modifier} bits", f"length({name}) <> {column.modifier}")
    elif column.type == "varbit":
        yield _rule(column, invalid, f"at most {column.modifier} bits", f"length({name}) > {column.modifier}")


def _digits(column: _Column, name: str) -> ValueRule:
    packed = column.modifier - _HEADER
    precision, scale = packed >> 16 & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024
    # NaN is larger than everything else, and has no digits.
    broken = f"{name} <> 'NaN' AND (scale({name}) > {max(scale, 0)} OR abs({name}) >= 1e{precision - scale}::numeric)"
    return _rule(column, FailureKind.VALUE_OUT_OF_RANGE, f"numeric({precision}, {scale})", broken)


def _generated(column: str, expression: str, native: str, has_order: bool) -> ValueRule:
    """Compares by the type's own equality where equal values have the same text, otherwise as text."""
    name = _DIALECT.quote(column)
    # The cast that an assignment to the column implies is missing from the catalog's text.
    computed = f"(({expression})::{native})"
    if has_order:
        broken = f"{name} IS DISTINCT FROM {computed}"
    else:
        broken = f'{name}::text COLLATE "C" IS DISTINCT FROM {computed}::text COLLATE "C"'
    shown = (("value", _shown(name)), ("expression_gives", _shown(computed)))
    return ValueRule(FailureKind.WRONG_GENERATED_VALUE, column, f"always {expression}", broken, shown)
