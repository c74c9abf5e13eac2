"""The sequences that number the rows of a PostgreSQL table, and its foreign keys, from the catalog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.sql.ddl import TABLE, Reference, Wiring, as_text
from tieout.model.tables import TableName

# Sequences of identities (deptype i), sequences owned by a column (a), and those that a default only uses (n).
_SEQUENCES = """
SELECT DISTINCT ON (a.attnum) a.attname, s.oid::regclass::text, a.attidentity::text,
  a.attnotnull AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) AND o.objid IS NOT NULL
    AND pg_get_expr(d.adbin, d.adrelid) = format('nextval(%%L::regclass)', s.oid::regclass::text),
  q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcycle,
  CASE a.atttypid WHEN 'int2'::regtype THEN 32767 WHEN 'int4'::regtype THEN 2147483647
    ELSE 9223372036854775807 END
FROM pg_attribute a
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_depend o ON o.refclassid = 'pg_class'::regclass AND o.refobjid = a.attrelid AND o.refobjsubid = a.attnum
  AND o.classid = 'pg_class'::regclass AND o.deptype IN ('i', 'a')
LEFT JOIN pg_depend x ON x.classid = 'pg_attrdef'::regclass AND x.objid = d.oid AND x.refclassid = 'pg_class'::regclass
  AND EXISTS (SELECT FROM pg_class c WHERE c.oid = x.refobjid AND c.relkind = 'S')
JOIN pg_class s ON s.oid = CASE WHEN a.attidentity <> '' THEN o.objid ELSE x.refobjid END AND s.relkind = 'S'
JOIN pg_sequence q ON q.seqrelid = s.oid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum, o.objid = s.oid DESC NULLS LAST"""

_REFERENCES = """
SELECT c.conname, n.nspname, p.relname, c.confdeltype::text, c.confupdtype::text,
  (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum),
  (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum)
FROM pg_constraint c JOIN pg_class p ON p.oid = c.confrelid JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE c.conrelid = %s::regclass AND c.contype = 'f' AND c.conparentid = 0 ORDER BY c.conname"""

_ACTIONS = {"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence of a column. `kind` is the kind of identity: a (always) or d; a plain serial column becomes d.

    "" is a sequence that stays separate.
    """

    column: str
    name: str
    kind: str
    increment: int
    least: int
    most: int
    start: int
    cycle: bool
    last: int
    called: bool

    @property
    def is_identity(self) -> bool:
        return bool(self.kind)

    @property
    def following(self) -> int:
        return self.last + self.increment if self.called else self.last

    def identity(self) -> str:
        return f" GENERATED {'ALWAYS' if self.kind == 'a' else 'BY DEFAULT'} AS IDENTITY ({self._options()})"

    def create(self) -> str:
        return f"CREATE SEQUENCE IF NOT EXISTS {self.name} {self._options()}"

    def go_on(self) -> str:
        found = f"pg_get_serial_sequence({as_text(TABLE)}, {quoting.text(self.column)})"
        name = found if self.is_identity else quoting.text(self.name)
        return f"SELECT setval({name}, {self.last:d}, {str(self.called).lower()})"

    def _options(self) -> str:
        return (
            f"INCREMENT BY {self.increment:d} MINVALUE {self.least:d} MAXVALUE {self.most:d} "
            f"START WITH {self.start:d}{' CYCLE' if self.cycle else ''}"
        )


def sequences(connection: Any, quoted: str) -> list[Sequence]:
    found = []
    for row in connection.execute(_SEQUENCES, [quoted]).fetchall():
        column, name, identity, serial, increment, least, most, start, cycle, limit = row
        last, called = connection.execute(f"SELECT last_value, is_called FROM {name}").fetchone()
        kind = identity or ("d" if serial else "")
        # The sequence of an old serial column may exceed the range of the column.
        most, least = (min(most, limit), max(least, -limit - 1)) if kind else (most, least)
        found.append(Sequence(column, name, kind, increment, least, most, start, cycle, last, called))
    return found


def wiring(connection: Any, quoted: str) -> Wiring:
    found = sequences(connection, quoted)
    numbers = {sequence.column: sequence.following for sequence in found if sequence.is_identity}
    return Wiring(numbers, references_of(lambda *query: connection.execute(*query).fetchall(), quoted))


def references_of(rows: Callable[[str, list[Any]], list[tuple[Any, ...]]], quoted: str) -> tuple[Reference, ...]:
    """The foreign keys of a table. `rows` runs a statement with parameters."""
    return tuple(
        Reference(name, tuple(columns), TableName(schema, parent), tuple(theirs), _ACTIONS[delete], _ACTIONS[update])
        for name, schema, parent, delete, update, columns, theirs in rows(_REFERENCES, [quoted])
    )
