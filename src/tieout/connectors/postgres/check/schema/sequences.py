"""Sequences that will hand out what their column has already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tieout.connectors.postgres.check.schema.columns import Default
from tieout.connectors.postgres.check.schema.objects import Relation
from tieout.connectors.postgres.check.schema.session import TABLE_SCANS, SchemaSession
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.protocols.check import Defect, Trouble
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_NEXTVAL = re.compile(r"nextval\('((?:[^']|'')*)'::regclass\)(?:::\w+)?")

_IDENTITIES = """
SELECT a.attrelid, a.attname, d.objid FROM pg_attribute a
JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
  AND d.classid = 'pg_class'::regclass AND d.deptype = 'i'
WHERE a.attrelid = ANY(%s::oid[]) AND a.attidentity <> '' AND NOT a.attisdropped"""

_BY_NAME = "SELECT name, to_regclass(name)::oid FROM unnest(%s::text[]) AS name"

_SEQUENCES = """
SELECT s.oid, n.nspname, s.relname, q.seqincrement, q.seqmin, q.seqmax, q.seqcycle
FROM pg_class s JOIN pg_namespace n ON n.oid = s.relnamespace JOIN pg_sequence q ON q.seqrelid = s.oid
WHERE s.oid = ANY(%s::oid[])"""

_NUMBERED = """
SELECT a.attrelid, a.attname, i.inhparent FROM pg_attribute a LEFT JOIN pg_inherits i ON i.inhrelid = a.attrelid
WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
  AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype)"""

_DIALECT = PostgresDialect()


@dataclass(frozen=True)
class _Numbering:
    """A column, and the sequence that gives it numbers."""

    relation: Relation
    column: str
    name: TableName
    increment: int
    least: int
    most: int

    @property
    def following(self) -> str:
        """The number that is handed out next."""
        step = f"CASE WHEN is_called THEN {self.increment} ELSE 0 END"
        return f"SELECT last_value::numeric + {step} FROM {_DIALECT.table(self.name)}"

    def furthest(self, following: int) -> str:
        """The last number of the rows that the sequence could still come to: it passes by those between its steps."""
        column, step = _DIALECT.quote(self.column), abs(self.increment)
        last = "max" if self.increment > 0 else "min"
        steps = "" if step == 1 else f" AND ({column}::numeric - {following}) % {step} = 0"
        return (
            f"SELECT {last}({column})::numeric FROM {self.relation.quoted}"
            f" WHERE {column} BETWEEN {self.least} AND {self.most}{steps}"
        )

    def reaches(self, following: int, furthest: int) -> bool:
        return following <= furthest if self.increment > 0 else following >= furthest


def look_at_sequences(session: SchemaSession, relations: Mapping[int, Relation], defaults: Sequence[Default]) -> None:
    """Of identities, and of defaults that take from a sequence, whoever that belongs to; `relations` can be read."""
    numberings = list(_numberings(session, relations, defaults))
    with session.setting(**TABLE_SCANS):
        for numbering in numberings:
            inspection = numbering.relation.inspection
            inspection.looked_at["sequences"] += 1
            found = _behind(session, numbering)
            if isinstance(found, Trouble):
                inspection.left_out.append(f"sequence {numbering.name}: {found.message}")
            elif found is not None:
                inspection.defects.append(found)


def _numberings(
    session: SchemaSession, relations: Mapping[int, Relation], defaults: Sequence[Default]
) -> Iterator[_Numbering]:
    taken: dict[tuple[int, str], int] = {}
    for default, oid in _taken(session, defaults):
        if oid is None:
            details = {"expression": default.text, "reason": "the sequence that it takes from is gone"}
            default.relation.inspection.defects.append(
                Defect(FailureKind.INVALID_DEFAULT, details, (default.column,), place=f"column {default.column}")
            )
        else:
            taken[default.relation.oid, default.column] = oid
    for owner, column, oid in session.rows(_IDENTITIES, [list(relations)]):
        taken[owner, column] = oid
    sequences = {row[0]: row[1:] for row in session.rows(_SEQUENCES, [sorted(set(taken.values()))])}
    for owner, column, parent in session.rows(_NUMBERED, [sorted({owner for owner, _ in taken})]):
        oid = taken.get((owner, column))
        # The rows of a partition are read with its parent's; those of some tables can't be read.
        if oid not in sequences or (parent, column) in taken or owner not in relations:
            continue
        schema, name, *limits, cycles = sequences[oid]
        # One that begins again at its end is meant to meet its own numbers.
        if not cycles:
            yield _Numbering(relations[owner], column, TableName(schema, name), *limits)


def _taken(session: SchemaSession, defaults: Sequence[Default]) -> Iterator[tuple[Default, int | None]]:
    """Defaults that are the next number of a sequence, with that; None: it is gone, and only its number is left."""
    named = [(each, match[1].replace("''", "'")) for each in defaults if (match := _NEXTVAL.fullmatch(each.text))]
    known = dict(session.rows(_BY_NAME, [sorted({name for _, name in named if not name.isdigit()})]))
    for default, name in named:
        yield default, known.get(name)


def _behind(session: SchemaSession, numbering: _Numbering) -> Defect | Trouble | None:
    """The rows are read before the sequence: what a writer takes from it meanwhile puts it further, never back."""
    before = session.attempt(numbering.following)
    if isinstance(before, Trouble):
        return before
    largest = session.attempt(numbering.furthest(_number(before)))
    if isinstance(largest, Trouble):
        return largest
    after = session.attempt(numbering.following)
    if isinstance(after, Trouble):
        return after
    if largest[0][0] is None or not numbering.reaches(_number(after), _number(largest)):
        return None
    details = {
        "next": str(_number(after)),
        "column_has": str(_number(largest)),
        "sequence": str(numbering.name),
    }
    return Defect(FailureKind.SEQUENCE_BEHIND, details, (numbering.column,), place=f"sequence {numbering.name}")


def _number(rows: list[tuple[Any, ...]]) -> int:
    return int(rows[0][0])
