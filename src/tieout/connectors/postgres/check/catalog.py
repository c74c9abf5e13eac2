"""Indexes and constraints, from PostgreSQL's catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.endpoint import PostgresEndpoint
from tieout.connectors.protocols.check import IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.canonical_kinds import Form, Incomparable, Kind, common_kind
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Enforcement, Match, Reference
from tieout.model.tables import Column, Table, TableName

_INDEXES = """
SELECT c.oid, c.relname, m.amname, i.indisunique, i.indisprimary, i.indisvalid, i.indisready, i.indnkeyatts,
  pg_get_expr(i.indpred, i.indrelid), pg_get_indexdef(i.indexrelid), i.indoption::int2[],
  (SELECT array_agg(k.attnum = 0 ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)),
  (SELECT array_agg(pg_get_indexdef(i.indexrelid, k.place::int, false) ORDER BY k.place)
   FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)),
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
   LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum <> 0)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s ORDER BY c.relname"""

_DESCENDING, _NULLS_FIRST = 1, 2


def indexes_of(endpoint: PostgresEndpoint, table: Table) -> list[IndexInfo]:
    """The indexes of a table, in the order of their names."""
    rows = endpoint.all(_INDEXES, [table.name.schema, table.name.name])
    attributes = endpoint.columns_of([row[0] for row in rows])
    return [_info(row, attributes[row[0]], table) for row in rows]


def _info(row: tuple[Any, ...], attributes: Sequence[Column], table: Table) -> IndexInfo:
    _, name, method, unique, primary, valid, ready, keys, where, definition, options, computed, texts, names = row
    columns = []
    unchecked = _unchecked(method, valid=valid, ready=ready)
    for place, column in enumerate(attributes):
        kind = common_kind(column.type, column.type, exact_scale=True)
        # An entry holds the text of a JSON value, not its canonical form.
        if isinstance(kind, Kind) and kind.form is Form.JSON and column.type.native == "json":
            kind = Kind(Form.TEXT)
        if isinstance(kind, Kind) and kind.form is Form.JSON_ARRAY:
            kind = Kind(Form.ARRAY)
        if isinstance(kind, Incomparable):
            unchecked = unchecked or f"{texts[place]}: {kind.reason}"
            continue
        columns.append(
            IndexColumn(
                names[place] or texts[place],
                ScanColumn(column, kind, texts[place] if computed[place] else None),
                included=place >= keys,
                descending=place < keys and bool(options[place] & _DESCENDING),
                nulls_first=place < keys and bool(options[place] & _NULLS_FIRST),
            )
        )
    return IndexInfo(name, table, tuple(columns), unique, primary, where, definition, unchecked)


def _unchecked(method: str, *, valid: bool, ready: bool) -> str | None:
    if method != "btree":
        return f"it is a {method} index: only B-trees are checked"
    if not ready:
        return "it is not ready (it is being built, or a build was interrupted): writers do not maintain it"
    if not valid:
        return "it is invalid: its build did not finish, and readers do not use it"
    return None


_DIALECT = PostgresDialect()

# A foreign key to a partitioned table has another row for each partition; only the first is the constraint itself.
_CONSTRAINTS = """
SELECT c.conname, c.contype::text, pg_get_expr(c.conbin, c.conrelid), pg_get_constraintdef(c.oid), c.convalidated,
  coalesce((to_jsonb(c) ->> 'conenforced')::bool, true)
    AND NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgconstraint = c.oid AND t.tgenabled IN ('D', 'R')),
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum),
  c.confmatchtype = 'f', pn.nspname, p.relname,
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum),
  (SELECT array_agg(format('p."%%s"%%s OPERATOR(%%I.%%s) c."%%s"', replace(pa.attname, '"', '""'),
     CASE WHEN pa.attcollation <> ca.attcollation THEN format(' COLLATE %%I.%%I', ln.nspname, l.collname) END,
     opn.nspname, o.oprname, replace(ca.attname, '"', '""')) ORDER BY k.place)
   FROM unnest(c.conkey, c.confkey, c.conpfeqop) WITH ORDINALITY AS k(child, parent, equal, place)
   JOIN pg_attribute ca ON ca.attrelid = c.conrelid AND ca.attnum = k.child
   JOIN pg_attribute pa ON pa.attrelid = c.confrelid AND pa.attnum = k.parent
   JOIN pg_operator o ON o.oid = k.equal JOIN pg_namespace opn ON opn.oid = o.oprnamespace
   LEFT JOIN pg_collation l ON l.oid = pa.attcollation LEFT JOIN pg_namespace ln ON ln.oid = l.collnamespace),
  coalesce((to_jsonb(c) ->> 'conperiod')::bool, false)
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_class p ON p.oid = c.confrelid LEFT JOIN pg_namespace pn ON pn.oid = p.relnamespace
WHERE n.nspname = %s AND t.relname = %s AND c.contype NOT IN ('p', 'u')
  AND NOT EXISTS (SELECT 1 FROM pg_constraint u WHERE u.oid = c.conparentid AND u.conrelid = c.conrelid)
ORDER BY c.conname"""

_KEYS = """
SELECT c.relname, i.indisexclusion, coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::bool, false),
  (SELECT array_agg(pg_get_indexdef(i.indexrelid, k.place::int, false) || CASE WHEN l.oid IS NOT NULL
     THEN format(' COLLATE %%I.%%I', ln.nspname, l.collname) ELSE '' END ORDER BY k.place)
   FROM unnest(i.indcollation) WITH ORDINALITY AS k(sorted, place)
   LEFT JOIN pg_collation l ON l.oid = k.sorted LEFT JOIN pg_namespace ln ON ln.oid = l.collnamespace
   WHERE k.place <= i.indnkeyatts),
  i.indisvalid, i.indisready, coalesce((SELECT pg_get_constraintdef(u.oid) FROM pg_constraint u
    WHERE u.conindid = i.indexrelid AND u.contype IN ('p', 'u')), pg_get_indexdef(i.indexrelid)),
  (SELECT array_agg(format('OPERATOR(%%I.%%s)', s.nspname, o.oprname) ORDER BY k.place)
   FROM unnest(i.indclass) WITH ORDINALITY AS k(class, place) JOIN pg_opclass p ON p.oid = k.class
   JOIN pg_amop x ON x.amopfamily = p.opcfamily AND x.amoplefttype = p.opcintype AND x.amoprighttype = p.opcintype
     AND x.amopstrategy = 3
   JOIN pg_operator o ON o.oid = x.amopopr JOIN pg_namespace s ON s.oid = o.oprnamespace
   HAVING bool_or(s.nspname <> 'pg_catalog'))
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s AND i.indisunique ORDER BY c.relname"""

_NOT_NULL = """
SELECT a.attname FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull ORDER BY a.attnum"""

_DOMAINS = """
WITH RECURSIVE typed AS (
  SELECT a.attname, a.attnum, a.atttypid AS typid
  FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid JOIN pg_namespace n ON n.oid = t.relnamespace
  WHERE n.nspname = %s AND t.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT y.attname, y.attnum, d.typbasetype FROM typed y JOIN pg_type d ON d.oid = y.typid WHERE d.typtype = 'd')
SELECT y.attname, d.typname, d.typnotnull, c.conname, pg_get_expr(c.conbin, 0), coalesce(c.convalidated, true),
  (SELECT format_type(b.oid, NULL) FROM typed z JOIN pg_type b ON b.oid = z.typid AND b.typtype <> 'd'
   WHERE z.attnum = y.attnum)
FROM typed y JOIN pg_type d ON d.oid = y.typid AND d.typtype = 'd'
LEFT JOIN pg_constraint c ON c.contypid = d.oid AND c.contype = 'c' ORDER BY y.attnum, d.typname, c.conname"""

_PARTITION = """
SELECT pg_get_partition_constraintdef(t.oid)
FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s AND t.relispartition"""

_UNCHECKED = {
    "x": "EXCLUDE constraints are not checked",
    "t": "it is a constraint trigger: only its function knows what it enforces",
}
_OVERLAPS = "a key WITHOUT OVERLAPS and a reference to a PERIOD are not checked"


def constraints_of(endpoint: PostgresEndpoint, table: Table) -> list[ConstraintInfo]:
    """NOT NULLs, CHECKs (also those of domains and of the partition), keys, foreign keys, and all others."""
    found = [*_own(endpoint, table), *_of_domains(endpoint, table), *_keys(endpoint, table)]
    order = list(ConstraintKind)
    return sorted(found, key=lambda constraint: order.index(constraint.kind))


def _rows(endpoint: PostgresEndpoint, statement: str, table: Table) -> list[tuple[Any, ...]]:
    return endpoint.all(statement, [table.name.schema, table.name.name])


def _own(endpoint: PostgresEndpoint, table: Table) -> Iterator[ConstraintInfo]:
    named: set[str] = set()
    for row in _rows(endpoint, _CONSTRAINTS, table):
        info = _constraint(row, table)
        if info.kind is ConstraintKind.NOT_NULL:
            named.update(info.columns)
        yield info
    for (column,) in _rows(endpoint, _NOT_NULL, table):
        if column not in named:  # before PostgreSQL 18 these constraints have no names
            yield ConstraintInfo(f"{column}_not_null", ConstraintKind.NOT_NULL, table, (column,), definition="NOT NULL")
    for (bounds,) in _rows(endpoint, _PARTITION, table):
        if bounds is not None:
            yield ConstraintInfo(
                "partition_bounds", ConstraintKind.CHECK, table, (), bounds, definition=f"CHECK {bounds}"
            )


def _constraint(row: tuple[Any, ...], table: Table) -> ConstraintInfo:
    name, kind, expression, definition, valid, enforced, columns = row[:7]
    full, parent_schema, parent, parent_columns, compared, period = row[7:]
    enforcement = Enforcement.ENFORCED if valid else Enforcement.NOT_VALID
    enforcement = enforcement if enforced else Enforcement.DISABLED
    own = tuple(columns or ())
    if kind == "f":
        reference = Reference(
            TableName(parent_schema, parent), tuple(parent_columns), Match.FULL if full else Match.SIMPLE
        )
        return ConstraintInfo(
            name,
            ConstraintKind.FOREIGN_KEY,
            table,
            own,
            compared=tuple(compared),
            reference=reference,
            enforcement=enforcement,
            definition=definition,
            unchecked=_OVERLAPS if period else None,
        )
    kinds = {"c": ConstraintKind.CHECK, "n": ConstraintKind.NOT_NULL}
    return ConstraintInfo(
        name,
        kinds.get(kind, ConstraintKind.OTHER),
        table,
        own,
        expression,
        enforcement=enforcement,
        definition=definition,
        unchecked=None if kind in kinds else _UNCHECKED.get(kind, "this kind of constraint is unknown to Tieout"),
    )


def domain_check_name(column: str, constraint: str) -> str:
    """A name for each column: two columns may have the same domain."""
    return f"{column}_{constraint}"


def domain_not_null_name(column: str, domain: str) -> str:
    return f"{column}_{domain}_not_null"


def _of_domains(endpoint: PostgresEndpoint, table: Table) -> Iterator[ConstraintInfo]:
    not_null = set()
    for column, domain, never_null, name, expression, valid, base in _rows(endpoint, _DOMAINS, table):
        if never_null and (column, domain) not in not_null:
            not_null.add((column, domain))
            yield ConstraintInfo(
                domain_not_null_name(column, domain),
                ConstraintKind.NOT_NULL,
                table,
                (column,),
                definition=f"domain {domain}: NOT NULL",
            )
        if name is not None:
            # VALUE is not a reserved word: here it is the name of a column.
            value = f"(SELECT {expression} FROM (SELECT {_DIALECT.quote(column)}::{base} AS value) AS domain)"
            yield ConstraintInfo(
                domain_check_name(column, name),
                ConstraintKind.CHECK,
                table,
                (column,),
                value,
                enforcement=Enforcement.ENFORCED if valid else Enforcement.NOT_VALID,
                definition=f"domain {domain}: CHECK {expression}",
            )


def _keys(endpoint: PostgresEndpoint, table: Table) -> Iterator[ConstraintInfo]:
    indexes = {index.name: index for index in indexes_of(endpoint, table)}
    for name, overlaps, nulls_too, compared, valid, ready, definition, equal in _rows(endpoint, _KEYS, table):
        enforcement = Enforcement.ENFORCED if valid else Enforcement.NOT_VALID
        index = indexes[name]
        yield ConstraintInfo(
            name,
            ConstraintKind.PRIMARY_KEY if index.primary else ConstraintKind.UNIQUE,
            table,
            key_names(index),
            condition=index.where,
            compared=tuple(compared),
            nulls_distinct=not nulls_too,
            index=name,
            enforcement=enforcement if ready else Enforcement.DISABLED,
            definition=definition,
            unchecked=_OVERLAPS if overlaps else None,
            equal=tuple(equal or ()),
        )


def key_names(index: IndexInfo) -> tuple[str, ...]:
    return tuple(column.name for column in index.columns if not column.included)
