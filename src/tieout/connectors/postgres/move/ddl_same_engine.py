"""A PostgreSQL table as it would be made in another database: from the catalog."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.move.own_types import needed_types, own_types
from tieout.connectors.postgres.move.sequences import Sequence, sequences
from tieout.connectors.sql.ddl import PARENT, TABLE, ForeignKey, Part, Structure
from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
  a.attgenerated <> '', nullif(a.attcollation, t.typcollation)::regcollation::text,
  col_description(a.attrelid, a.attnum)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""

_CONSTRAINTS = """
SELECT c.conname, c.contype::text, pg_get_constraintdef(c.oid), NOT c.convalidated, n.nspname, p.relname
FROM pg_constraint c LEFT JOIN pg_class p ON p.oid = c.confrelid LEFT JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE c.conrelid = %s::regclass AND c.contype IN ('p', 'u', 'c', 'f', 'x') AND c.conparentid = 0 ORDER BY c.conname"""

_INDEXES = """
SELECT c.relname, i.indisunique, pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass AND i.indisvalid
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
ORDER BY c.relname"""

# As the server writes definitions: what is quoted in them may say anything.
_PLACE = r'(?:"(?:[^"]|"")*"|[^"( ])+'
_REFERENCE = re.compile(rf'(FOREIGN KEY \((?:"(?:[^"]|"")*"|[^")])*\) REFERENCES )(?:{_PLACE})(\(.*)', re.DOTALL)
_INDEX = re.compile(rf"CREATE (?:UNIQUE )?INDEX {_PLACE} ON (?:ONLY )?{_PLACE} (USING .*)", re.DOTALL)


class _Column(NamedTuple):
    name: str
    kind: str
    required: bool
    given: str | None
    generated: bool
    collation: str | None
    remark: str | None


@dataclass(frozen=True)
class _Constraints:
    """In the table's own definition; with an index or unproven, so that they come later; and to other tables."""

    inside: list[str]
    primary: list[Part]
    later: list[Part]
    references: list[ForeignKey]


def own_structure(connection: Any, quoted: str, key_index: str | None) -> Structure:
    """From the catalog, through a connection to it. `key_index` tells rows apart if no primary key does."""
    columns = [_Column(*row) for row in connection.execute(_COLUMNS, [quoted]).fetchall()]
    counted = {sequence.column: sequence for sequence in sequences(connection, quoted)}
    constraints = _constraints(connection, quoted)
    indexes, unique = _indexes(connection, quoted)
    unique += constraints.later
    key = [] if constraints.primary else [part for part in unique if part.name == key_index]
    declared = {column.name: _declared(column, counted) for column in columns}
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
        counters=tuple(sequence.go_on() for sequence in counted.values()),
        needs=needed_types(connection, quoted),
        columns=declared,
    )


def _declared(column: _Column, counted: Mapping[str, Sequence]) -> str:
    line = f"{quoting.name(column.name)} {column.kind}" + (f" COLLATE {column.collation}" if column.collation else "")
    sequence = counted.get(column.name)
    if column.generated:
        line += f" GENERATED ALWAYS AS ({column.given}) STORED"
    elif sequence is not None and sequence.is_identity:
        line += sequence.identity()
    elif column.given is not None:
        line += f" DEFAULT {column.given}"
    return line + (" NOT NULL" if column.required else "")


def _constraints(connection: Any, quoted: str) -> _Constraints:
    found = _Constraints([], [], [], [])
    for name, kind, text, unproven, schema, parent in connection.execute(_CONSTRAINTS, [quoted]).fetchall():
        line = f"CONSTRAINT {quoting.name(name)} {text}"
        if kind == "f":
            before, behind = _parts(_REFERENCE, text)
            statement = f"ALTER TABLE {TABLE} ADD CONSTRAINT {quoting.name(name)} {before}{PARENT}{behind}"
            found.references.append(ForeignKey(Part(name, statement), TableName(schema, parent)))
        elif kind == "p":
            # Rows of different chunks have different keys: in an index that is there already each would be looked for.
            found.primary.append(Part(name, f"ALTER TABLE {TABLE} ADD {line}"))
        elif kind in "ux" or unproven:
            # What is not proven does not hold for all rows, and would stop those.
            found.later.append(Part(name, f"ALTER TABLE {TABLE} ADD {line}"))
        else:
            found.inside.append(line)
    return found


def _indexes(connection: Any, quoted: str) -> tuple[list[Part], list[Part]]:
    plain: list[Part] = []
    unique: list[Part] = []
    for name, is_unique, text in connection.execute(_INDEXES, [quoted]).fetchall():
        head = f"CREATE {'UNIQUE ' if is_unique else ''}INDEX {quoting.name(name)} ON {TABLE}"
        (of_what,) = _parts(_INDEX, text)
        (unique if is_unique else plain).append(Part(name, f"{head} {of_what}"))
    return plain, unique


def _parts(form: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = form.fullmatch(text)
    if found is None:
        raise UnsupportedError(f"the server writes a definition in a form that is not known: {text}")
    return found.groups()


def _remarks(connection: Any, quoted: str, columns: list[_Column]) -> list[str]:
    (own,) = connection.execute("SELECT obj_description(%s::regclass, 'pg_class')", [quoted]).fetchone()
    statements = [f"COMMENT ON TABLE {TABLE} IS {quoting.text(own)}"] if own else []
    return statements + [
        f"COMMENT ON COLUMN {TABLE}.{quoting.name(column.name)} IS {quoting.text(column.remark)}"
        for column in columns
        if column.remark
    ]
