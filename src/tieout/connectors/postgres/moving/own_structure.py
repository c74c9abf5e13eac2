"""A PostgreSQL table as it would be made in another database: from the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.connectors.structure import TABLE, Structure

_COLUMNS = """
SELECT a.attname, format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END,
    CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END),
  a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attgenerated::text, a.attidentity::text,
  CASE WHEN a.attcollation <> t.typcollation THEN quote_ident(n.nspname) || '.' || quote_ident(o.collname) END,
  CASE WHEN e.typtype = 'e' THEN format_type(e.oid, NULL) END,
  (SELECT array_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = e.oid),
  pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type e ON e.oid = CASE WHEN t.typelem <> 0 AND t.typcategory = 'A' THEN t.typelem ELSE t.oid END
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_collation o ON o.oid = a.attcollation LEFT JOIN pg_namespace n ON n.oid = o.collnamespace
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""

_CONSTRAINTS = """
SELECT conname, contype::text, pg_get_constraintdef(oid), conindid FROM pg_constraint
WHERE conrelid = %s::regclass AND contype IN ('p', 'u', 'c', 'f', 'x') ORDER BY conname"""

_INDEXES = """
SELECT i.indexrelid, i.indisunique, pg_get_indexdef(i.indexrelid) FROM pg_index i
WHERE i.indrelid = %s::regclass AND i.indisvalid ORDER BY i.indexrelid"""


def own_structure(connection: Any, quoted: str, key: Sequence[str]) -> Structure:
    """From the catalog, through a connection to it. `key` tells rows apart if no primary key does.

    A domain becomes the type under it; what it checks was checked by the source.
    """
    types, lines, counters = [], [], []
    for name, kind, required, default, generated, identity, collation, enum, labels, sequence in connection.execute(
        _COLUMNS, [quoted]
    ).fetchall():
        if enum:
            types.append(_enum(enum, labels))
        line = f"{_quote(name)} {kind}" + (f" COLLATE {collation}" if collation else "")
        if generated:
            line += f" GENERATED ALWAYS AS ({default}) STORED"
        elif default is not None and sequence is None:
            line += f" DEFAULT {default}"
        lines.append(line + (" NOT NULL" if required else ""))
        if sequence is not None:
            counters += _counter(connection, name, identity, sequence)
    constraints = connection.execute(_CONSTRAINTS, [quoted]).fetchall()
    lines += [f"CONSTRAINT {_quote(name)} {text}" for name, kind, text, _ in constraints if kind == "c"]
    indexes, unique = _indexes(connection, quoted, {index for _, _, _, index in constraints})
    return Structure(
        create=(*dict.fromkeys(types), f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join(lines) + "\n)"),
        # Built over rows that are there, an index takes half the time.
        indexes=(*_key(constraints, key), *indexes),
        unique=(*unique, *_added(constraints, "ux")),
        references=_added(constraints, "f"),
        counters=tuple(counters),
    )


def _key(constraints: Sequence[tuple[Any, ...]], key: Sequence[str]) -> tuple[str, ...]:
    """What rows are told apart by: each key is in one chunk, so that this can't be violated by any race."""
    if primary := _added(constraints, "p"):
        return primary
    return (f"ALTER TABLE {TABLE} ADD UNIQUE ({', '.join(map(_quote, key))})",) if key else ()


def _added(constraints: Sequence[tuple[Any, ...]], kinds: str) -> tuple[str, ...]:
    return tuple(
        f"ALTER TABLE {TABLE} ADD CONSTRAINT {_quote(name)} {text}"
        for name, kind, text, _ in constraints
        if kind in kinds
    )


def _indexes(connection: Any, quoted: str, of_constraints: set[int]) -> tuple[list[str], list[str]]:
    plain: list[str] = []
    unique: list[str] = []
    for oid, is_unique, text in connection.execute(_INDEXES, [quoted]).fetchall():
        if oid not in of_constraints:
            head, _, rest = text.partition(" USING ")
            # The name of the table stands before it: the target's may be another one.
            (unique if is_unique else plain).append(f"{head.rpartition(' ON ')[0]} ON {TABLE} USING {rest}")
    return plain, unique


def _enum(name: str, labels: Sequence[str]) -> str:
    values = ", ".join("'" + label.replace("'", "''") + "'" for label in labels)
    return (
        f"DO $tieout$ BEGIN CREATE TYPE {name} AS ENUM ({values}); "
        "EXCEPTION WHEN duplicate_object THEN NULL; END $tieout$"
    )


def _counter(connection: Any, column: str, identity: str, sequence: str) -> list[str]:
    last, called = connection.execute(f"SELECT last_value, is_called FROM {sequence}").fetchone()
    kind = "ALWAYS" if identity == "a" else "BY DEFAULT"
    return [
        f"ALTER TABLE {TABLE} ALTER COLUMN {_quote(column)} ADD GENERATED {kind} AS IDENTITY",
        f"SELECT setval(pg_get_serial_sequence('{TABLE}', '{column.replace(chr(39), chr(39) * 2)}'), "
        f"{last:d}, {str(called).lower()})",
    ]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
