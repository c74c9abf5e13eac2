"""DDL that recreates a PostgreSQL table in another PostgreSQL database, with its enums, domains and collations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.move.sequences import Sequence, sequences
from tieout.connectors.sql.ddl import PARENT, TABLE, ForeignKey, Part, Structure
from tieout.connectors.sql.selection import Selection
from tieout.errors import UnsupportedError
from tieout.model.tables import Table, TableName

# Follows domains and arrays to the types that they consist of.
_USED = """
WITH RECURSIVE used AS (
  SELECT a.attname, a.atttypid AS oid, 0 AS depth
  FROM pg_attribute a WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT u.attname, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END, u.depth + 1
  FROM used u JOIN pg_type t ON t.oid = u.oid WHERE t.typtype = 'd' OR (t.typelem <> 0 AND t.typcategory = 'A'))
"""
_OWN = "n.nspname NOT IN ('pg_catalog', 'information_schema')"

_MADE = f"""{_USED}
SELECT n.nspname, format_type(t.oid, NULL),
  (SELECT array_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = t.oid),
  CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod)
    || coalesce(' COLLATE ' || nullif(t.typcollation, b.typcollation)::regcollation::text, '')
    || coalesce(' DEFAULT ' || t.typdefault, '') || CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END
    || coalesce((SELECT string_agg(format(' CONSTRAINT %%I ', c.conname) || pg_get_constraintdef(c.oid), '')
                 FROM pg_constraint c WHERE c.contypid = t.oid AND c.contype = 'c'), '') END
FROM (SELECT oid, max(depth) AS depth FROM used GROUP BY oid) AS u JOIN pg_type t ON t.oid = u.oid
JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_type b ON b.oid = t.typbasetype
WHERE t.typtype IN ('e', 'd') AND {_OWN} ORDER BY u.depth DESC, 2"""

_NEEDED = f"""{_USED}
SELECT u.attname, format_type(t.oid, NULL) FROM used u JOIN pg_type t ON t.oid = u.oid
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype NOT IN ('e', 'd') AND t.typcategory <> 'A' AND {_OWN}"""

_COLLATIONS = f"""{_USED}
SELECT DISTINCT n.nspname, o.oid::regcollation::text, o.collprovider::text, o.collisdeterministic,
  o.collcollate, o.collctype, coalesce(to_jsonb(o) ->> 'colllocale', to_jsonb(o) ->> 'colliculocale'),
  to_jsonb(o) ->> 'collicurules'
FROM (SELECT a.attcollation AS oid FROM pg_attribute a WHERE a.attrelid = %s::regclass AND NOT a.attisdropped
      UNION SELECT t.typcollation FROM used u JOIN pg_type t ON t.oid = u.oid) AS c
JOIN pg_collation o ON o.oid = c.oid JOIN pg_namespace n ON n.oid = o.collnamespace WHERE {_OWN} ORDER BY 2"""


def own_types(connection: Any, quoted: str) -> list[str]:
    """Statements that create the types and collations of a table. Those that exist stay as they are."""
    statements: list[str] = []
    for schema, name, *facts in connection.execute(_COLLATIONS, [quoted, quoted]).fetchall():
        statements += [_schema(schema), _unless_there(f"CREATE COLLATION {name} ({_collation(*facts)})")]
    for schema, name, labels, domain in connection.execute(_MADE, [quoted]).fetchall():
        enum = f"CREATE TYPE {name} AS ENUM ({', '.join(map(quoting.text, labels or ()))})"
        statements += [_schema(schema), _unless_there(f"CREATE DOMAIN {name} AS {domain}" if domain else enum)]
    return list(dict.fromkeys(statements))


def needed_types(connection: Any, quoted: str) -> dict[str, str]:
    """The types that can't be created from the catalog alone (those of extensions, for example), by column."""
    return dict(connection.execute(_NEEDED, [quoted]).fetchall())


def _schema(name: str) -> str:
    return f"CREATE SCHEMA IF NOT EXISTS {quoting.name(name)}"


def _unless_there(statement: str) -> str:
    return "DO " + quoting.text(f"BEGIN {statement}; EXCEPTION WHEN duplicate_object THEN NULL; END")


def _collation(
    provider: str, deterministic: bool, collate: str | None, ctype: str | None, locale: str | None, rules: str | None
) -> str:
    if provider == "c":
        return f"provider = libc, lc_collate = {quoting.text(collate or '')}, lc_ctype = {quoting.text(ctype or '')}"
    name = "icu" if provider == "i" else "builtin"
    extra = f", rules = {quoting.text(rules)}" if rules else ""
    return (
        f"provider = {name}, locale = {quoting.text(locale or '')}, deterministic = {str(deterministic).lower()}{extra}"
    )


_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
  a.attgenerated <> '', nullif(a.attcollation, t.typcollation)::regcollation::text,
  col_description(a.attrelid, a.attnum)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""

_CONSTRAINTS = """
SELECT c.conname, c.contype::text, pg_get_constraintdef(c.oid), NOT c.convalidated, n.nspname, p.relname,
  (SELECT coalesce(array_agg(a.attname::text), '{}') FROM pg_attribute a
   WHERE a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey))
FROM pg_constraint c LEFT JOIN pg_class p ON p.oid = c.confrelid LEFT JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE c.conrelid = %s::regclass AND c.contype IN ('p', 'u', 'c', 'f', 'x') AND c.conparentid = 0 ORDER BY c.conname"""

_INDEXES = """
SELECT c.relname, i.indisunique, pg_get_indexdef(i.indexrelid),
  (SELECT coalesce(array_agg(a.attname::text), '{}') FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum > 0
   AND (a.attnum = ANY(i.indkey) OR EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
     AND d.objid = i.indexrelid AND d.refobjid = i.indrelid AND d.refobjsubid = a.attnum)))
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass AND i.indisvalid
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
ORDER BY c.relname"""

# Definitions as the server writes them; quoted names may contain anything.
_PLACE = r'(?:"(?:[^"]|"")*"|[^"( ])+'
_REFERENCE = re.compile(rf'(FOREIGN KEY \((?:"(?:[^"]|"")*"|[^")])*\) REFERENCES )(?:{_PLACE})(\(.*)', re.DOTALL)
_INDEX = re.compile(rf"CREATE (?:UNIQUE )?INDEX {_PLACE} ON (?:ONLY )?{_PLACE} (USING .*)", re.DOTALL)


class _Column(NamedTuple):
    name: str
    kind: str
    required: bool
    expression: str | None
    generated: bool
    collation: str | None
    remark: str | None


@dataclass(frozen=True)
class _Constraints:
    """Constraints within the CREATE TABLE; those that come later, with an index or not validated; and foreign keys."""

    inside: list[str] = field(default_factory=list)
    primary: list[Part] = field(default_factory=list)
    later: list[Part] = field(default_factory=list)
    references: list[ForeignKey] = field(default_factory=list)


def own_structure(
    connection: Any, quoted: str, table: Table, key_index: str | None, selection: Selection | None = None
) -> Structure:
    """Reads the catalog. `key_index` identifies rows if there is no primary key."""
    columns = [_Column(*row) for row in connection.execute(_COLUMNS, [quoted]).fetchall()]
    counted = {sequence.column: sequence for sequence in sequences(connection, quoted)}
    left_out: list[str] = []
    constraints = _constraints(connection, quoted, selection, left_out)
    indexes, unique = _indexes(connection, quoted, selection, left_out)
    unique += constraints.later
    if selection is not None and selection.own_key:
        constraints.primary[:] = _own_key(table, selection)
    key = [] if constraints.primary else [part for part in unique if part.name == key_index]
    declared = {column.name: _declared(column, counted) for column in columns}
    needs = needed_types(connection, quoted)
    if selection is not None:
        counted = {name: sequence for name, sequence in counted.items() if name in selection.origins}
        declared = _selected(columns, counted, selection)
        columns = [
            column._replace(name=selection.origins[column.name])
            for column in columns
            if column.name in selection.origins
        ]
        needs = {selection.origins[name]: kind for name, kind in needs.items() if name in selection.origins}
    lines = [*declared.values(), *constraints.inside]
    return Structure(
        create=(
            *own_types(connection, quoted),
            *(sequence.create() for sequence in counted.values() if not sequence.is_identity),
            f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join(lines) + "\n)",
            *(part.statement for part in key),
            *_remarks(connection, quoted, columns),
        ),
        indexes=(*constraints.primary, *indexes),
        unique=tuple(part for part in unique if part not in key),
        references=tuple(constraints.references),
        counters=tuple(_renamed(sequence, selection).go_on() for sequence in counted.values()),
        needs=needs,
        columns=declared,
        left_out=tuple(left_out),
    )


def _renamed(sequence: Sequence, selection: Selection | None) -> Sequence:
    return sequence if selection is None else replace(sequence, column=selection.origins[sequence.column])


def _selected(columns: list[_Column], counted: Mapping[str, Sequence], selection: Selection) -> dict[str, str]:
    known = {column.name: column for column in columns}
    lines = {}
    for name, origin in selection.columns:
        if origin is None:
            lines[name] = selection.lines.get(name, "")
        else:
            own = {name: counted[origin]} if origin in counted else {}
            lines[name] = _declared(known[origin]._replace(name=name), own)
    return lines


def _own_key(table: Table, selection: Selection) -> list[Part]:
    if not selection.key:
        return []
    name = f"{table.name.name}_pkey"
    constraint = f"CONSTRAINT {quoting.name(name)} PRIMARY KEY ({quoting.names(selection.key)})"
    return [Part(name, f"ALTER TABLE {TABLE} ADD {constraint}")]


def _declared(column: _Column, counted: Mapping[str, Sequence]) -> str:
    line = f"{quoting.name(column.name)} {column.kind}" + (f" COLLATE {column.collation}" if column.collation else "")
    sequence = counted.get(column.name)
    if column.generated:
        line += f" GENERATED ALWAYS AS ({column.expression}) STORED"
    elif sequence is not None and sequence.is_identity:
        line += sequence.identity()
    elif column.expression is not None:
        line += f" DEFAULT {column.expression}"
    return line + (" NOT NULL" if column.required else "")


_KINDS = {"p": "primary key", "u": "unique index", "f": "foreign key", "c": "check", "x": "exclusion constraint"}


def _constraints(connection: Any, quoted: str, selection: Selection | None, left_out: list[str]) -> _Constraints:
    found = _Constraints()
    for name, kind, text, unproven, schema, parent, columns in connection.execute(_CONSTRAINTS, [quoted]).fetchall():
        reason = selection.reason_without(columns, between_tables=kind in "ufx") if selection is not None else None
        if reason is not None:
            left_out.append(f"{_KINDS[kind]} {name}, {reason}")
            continue
        line = f"CONSTRAINT {quoting.name(name)} {text}"
        if kind == "f":
            before, after = _parts(_REFERENCE, text)
            statement = f"ALTER TABLE {TABLE} ADD CONSTRAINT {quoting.name(name)} {before}{PARENT}{after}"
            found.references.append(ForeignKey(Part(name, statement), TableName(schema, parent)))
        elif kind == "p":
            # Created after the copy: with an index in place, the server would look up the key of every row.
            found.primary.append(Part(name, f"ALTER TABLE {TABLE} ADD {line}"))
        elif kind in "ux" or unproven:
            # A constraint that is not validated may not hold for all rows, and would stop those.
            found.later.append(Part(name, f"ALTER TABLE {TABLE} ADD {line}"))
        else:
            found.inside.append(line)
    return found


def _indexes(
    connection: Any, quoted: str, selection: Selection | None, left_out: list[str]
) -> tuple[list[Part], list[Part]]:
    plain: list[Part] = []
    unique: list[Part] = []
    for name, is_unique, text, columns in connection.execute(_INDEXES, [quoted]).fetchall():
        reason = selection.reason_without(columns, between_tables=is_unique) if selection is not None else None
        if reason is not None:
            left_out.append(f"{'unique ' if is_unique else ''}index {name}, {reason}")
            continue
        head = f"CREATE {'UNIQUE ' if is_unique else ''}INDEX {quoting.name(name)} ON {TABLE}"
        (of_what,) = _parts(_INDEX, text)
        (unique if is_unique else plain).append(Part(name, f"{head} {of_what}"))
    return plain, unique


def _parts(form: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = form.fullmatch(text)
    if found is None:
        raise UnsupportedError(f"the server wrote a definition in an unknown form: {text}")
    return found.groups()


def _remarks(connection: Any, quoted: str, columns: list[_Column]) -> list[str]:
    (own,) = connection.execute("SELECT obj_description(%s::regclass, 'pg_class')", [quoted]).fetchone()
    statements = [f"COMMENT ON TABLE {TABLE} IS {quoting.text(own)}"] if own else []
    return statements + [
        f"COMMENT ON COLUMN {TABLE}.{quoting.name(column.name)} IS {quoting.text(column.remark)}"
        for column in columns
        if column.remark
    ]
