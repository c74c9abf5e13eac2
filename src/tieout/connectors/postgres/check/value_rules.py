"""Checks the values of a table: the rules for each column, and the statements that apply them to the heap.

A rule is SQL that is true for an invalid value. The only way to find out whether PostgreSQL can read a value is to read
it, so some rules are never true, and fail. The heap is read by blocks, and where that fails, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.codecs.postgres_pages.heap_versions import OFFSETS
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.catalog import domain_check_name, domain_not_null_name
from tieout.connectors.postgres.check.heap import HEAP_ONLY, block_parts
from tieout.connectors.postgres.connection import connect, libpq_url
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.endpoint import PostgresEndpoint
from tieout.connectors.postgres.errors import (
    DATETIME_OUT_OF_RANGE,
    ENDED_FROM_OUTSIDE,
    INVALID_ENCODING,
    MADE_BY_A_VALUE,
    first_line,
    translated,
)
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import (
    SHOWN_BYTES,
    BrokenValue,
    NotCheckable,
    RuleCounts,
    UnreadableValue,
    ValueRule,
    shown_text,
)
from tieout.connectors.sql.connection_cache import lease
from tieout.connectors.sql.select import wires
from tieout.errors import ReadError
from tieout.model.failures import FailureKind
from tieout.model.tables import Table, TableName
from tieout.model.truncated import LONGEST_IN_FAILURE

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
        yield _rule(column, FailureKind.INVALID_VALUE, f"of its domain: {expression}", f"NOT ({of_value})", reported_as)
    for domain, native in column.not_null:
        reported_as = domain_not_null_name(column.name, domain)
        yield _rule(column, FailureKind.INVALID_VALUE, f"{native} has no NULL", f"{name} IS NULL", reported_as)


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


_PIECE = 512
"""How many blocks one statement reads: some megabytes."""
_MOST_ITEMS = 2048
"""The most rows in a page: one of 32 kB has room for 1,200."""
# Otherwise the server could scan the whole table for a few blocks.
_SETTINGS = {**HEAP_ONLY, "enable_seqscan": "off"}
_BY_STATE = {
    INVALID_ENCODING: FailureKind.INVALID_ENCODING,
    DATETIME_OUT_OF_RANGE: FailureKind.VALUE_OUT_OF_RANGE,
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows at addresses low <= … < high; None: to the end. An address is block * OFFSETS + item."""

    low: int
    high: int | None


_ALL = Rows(0, None)


@dataclass(frozen=True)
class HeapValues:
    """`blocks` is how many there were when the check began."""

    url: EndpointUrl
    table: TableName
    rules: tuple[ValueRule, ...]
    key_columns: tuple[ScanColumn, ...]
    blocks: int
    evidence: str = ""
    unchecked_columns: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.key_columns)

    def parts(self, most: int) -> list[Rows]:
        parts = block_parts(self.blocks, most)
        return [Rows(part.low * OFFSETS, None if part.high is None else part.high * OFFSETS) for part in parts]

    @property
    def by_range(self) -> bool:
        """False before PostgreSQL 14, which reads the whole table for some blocks."""
        return self.evidence.startswith("Tid Range Scan")

    def pieces(self, part: Rows) -> Iterator[Rows]:
        if not self.by_range:
            yield part
            return
        low, step = part.low, _PIECE * OFFSETS
        end = part.high if part.high is not None else self.blocks * OFFSETS
        while low + step < end:
            yield Rows(low, low + step)
            low += step
        yield Rows(low, part.high)

    def count_broken(self, piece: Rows, rules: Sequence[int]) -> RuleCounts:
        ((rows, broken),) = self._rows(self.statement(piece, rules))
        return RuleCounts(int(rows), tuple(broken))

    def statement(self, piece: Rows, rules: Sequence[int]) -> str:
        counts = ", ".join(f"count(*) FILTER (WHERE {self.rules[number].broken})" for number in rules)
        return f"SELECT count(*), ARRAY[{counts}]::int8[] FROM {self._source(piece)}"

    def broken(self, piece: Rows, rules: Sequence[int]) -> list[BrokenValue]:
        conditions = [f"coalesce({self.rules[number].broken}, false)" for number in rules]
        shown = [expression for number in rules for _, expression in self.rules[number].shown]
        wanted = ", ".join(["ctid::text", *conditions, *shown])
        found = self._rows(f"SELECT {wanted} FROM {self._source(piece)} AND ({' OR '.join(conditions)})")
        keys = self._keys([row[0] for row in found])
        return [each for row, key in zip(found, keys, strict=True) for each in self._broken_values(rules, row, key)]

    def _broken_values(self, rules: Sequence[int], row: Sequence[Any], key: Any) -> Iterator[BrokenValue]:
        values = iter(row[1 + len(rules) :])
        for number, is_broken in zip(rules, row[1:], strict=False):
            rule = self.rules[number]
            shown = tuple((name, shown_text(next(values))) for name, _ in rule.shown)
            if is_broken:
                yield BrokenValue(number, rule.kind, row[0], key, shown)

    def halves(self, piece: Rows) -> list[Rows]:
        low, high = piece.low, piece.high
        if high is None:
            high = max(self._end(), low)
            if high - low <= OFFSETS:
                # The second one checks that the end itself can be read.
                return [Rows(low, high), Rows(high, None)] if high > low else []
            middle = (low + high) // 2 // OFFSETS * OFFSETS
            return [Rows(low, middle), Rows(middle, None)]
        if high - low > OFFSETS:
            middle = max((low + high) // 2 // OFFSETS * OFFSETS, low + OFFSETS)
            return [Rows(low, middle), Rows(middle, high)]
        high = min(high, low // OFFSETS * OFFSETS + _MOST_ITEMS)
        middle = (low + high) // 2
        return [Rows(low, middle), Rows(middle, high)] if low < middle < high else []

    def row_of(self, piece: Rows) -> tuple[str | None, tuple[str | None, ...] | None]:
        place = f"({piece.low // OFFSETS},{piece.low % OFFSETS})"
        return place, self._keys([place])[0]

    def _keys(self, places: Sequence[str]) -> list[tuple[str | None, ...] | None]:
        """The keys of the rows at these addresses; None for a row that is gone or whose key can't be read."""
        if not self.key_columns or not places:
            return [None] * len(places)
        wanted = ", ".join(f"{quoting.text(place)}::pg_catalog.tid" for place in places)
        source = f"FROM ONLY {_DIALECT.table(self.table)} WHERE ctid = ANY (ARRAY[{wanted}])"
        statement = f"SELECT ctid::text AS place, {wires(_DIALECT, self.key_columns)} {source}"
        try:
            with translated(self.url), lease(("values", self._url), self._connect_arrow) as connection:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    found = cursor.fetch_arrow_table().combine_chunks()
        except ReadError:
            # One of the keys can't be read, and we don't know which.
            return [None] if len(places) == 1 else [self._keys([place])[0] for place in places]
        return self._read_keys(places, found)

    def _read_keys(self, places: Sequence[str], found: pa.Table) -> list[tuple[str | None, ...] | None]:
        arrays = [found.column(number).combine_chunks() for number in range(1, found.num_columns)]
        fields = [decode(column.kind, array) for column, array in zip(self.key_columns, arrays, strict=True)]
        keys = {
            place: tuple(field.kept(row, LONGEST_IN_FAILURE) for field in fields)
            for row, place in enumerate(found.column(0).to_pylist())
        }
        return [keys.get(place) for place in places]

    def _source(self, piece: Rows) -> str:
        within = f"ctid >= {quoting.row_place(*divmod(piece.low, OFFSETS))}"
        if piece.high is not None:
            within = f"{within} AND ctid < {quoting.row_place(*divmod(piece.high, OFFSETS))}"
        return f"ONLY {_DIALECT.table(self.table)} WHERE {within}"

    def _end(self) -> int:
        size = f"pg_relation_size({quoting.relation(self.table)})"
        ((blocks,),) = self._rows(f"SELECT {size} / current_setting('block_size')::int8")
        return int(blocks) * OFFSETS

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        import psycopg

        with translated(self.url), lease(("values", "rows", self._url), self._connect) as connection:
            # Raised inside the block, it would close the connection.
            try:
                return list(connection.execute(statement).fetchall())
            except psycopg.Error as error:
                state = error.sqlstate or ""
                if not state.startswith(MADE_BY_A_VALUE):
                    raise
                failed = UnreadableValue(_BY_STATE.get(state), first_line(str(error), error.sqlstate))
        raise failed

    @property
    def _url(self) -> str:
        return libpq_url(self.url, "tieout executor", _SETTINGS)

    def _connect(self) -> Any:
        return connect(self.url, "tieout executor", _SETTINGS)

    def _connect_arrow(self) -> Any:
        from tieout.connectors.postgres.arrow import ArrowConnection

        return ArrowConnection(self._url)


def heap_values(path: HeapValues) -> HeapValues | NotCheckable:
    """The path with the planner's evidence, and without the rules that the server rejects."""
    with translated(path.url), connect(path.url, "tieout driver", _SETTINGS) as connection:
        rules, unchecked_columns = [], []
        for number, rule in enumerate(path.rules):
            reason = _refused(connection, path.statement(_ALL, [number]))
            if reason is None:
                rules.append(rule)
            else:
                unchecked_columns.append((rule.column, f"{rule.says}: {reason}"))
        judged = replace(path, rules=tuple(rules), unchecked_columns=tuple(unchecked_columns))
        everything = judged.statement(_ALL, range(len(rules)))
        (plan,) = connection.execute(f"EXPLAIN (FORMAT JSON) {everything}").fetchone()
    node = plan[0]["Plan"]["Plans"][0]
    if node["Node Type"] not in ("Seq Scan", "Tid Range Scan"):
        return NotCheckable("the planner does not read the table from its heap")
    return replace(judged, evidence=f"{node['Node Type']} on {node['Relation Name']}")


def _refused(connection: Any, statement: str) -> str | None:
    import psycopg

    try:
        connection.execute(f"EXPLAIN {statement}")
    except psycopg.Error as error:
        if (error.sqlstate or "").startswith(ENDED_FROM_OUTSIDE):
            raise
        return first_line(str(error), error.sqlstate)
    return None
