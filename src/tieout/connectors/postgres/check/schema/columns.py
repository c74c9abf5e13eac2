"""Defaults, generated columns and CHECK constraints that fail; tables that the server can't even plan to read; and
sequences that will hand out numbers that their column has already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tieout.connectors.postgres.check.schema.objects import TABLE_SCANS, Relation, SchemaSession
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.protocols.check import SchemaFailure, StatementError, statement_errors
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_CHECKS = """
SELECT c.oid, c.conrelid, c.conname FROM pg_constraint c
WHERE c.contype = 'c' AND c.conrelid = ANY(%s::oid[]) ORDER BY c.conname"""

_CHECK_TEXTS = "SELECT c.oid, pg_get_expr(c.conbin, c.conrelid) FROM pg_constraint c WHERE c.oid = ANY(%s::oid[])"


def check_constraints(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    """Compiles CHECK constraints. Another check finds rows that violate them."""
    rows = session.rows(_CHECKS, [list(relations)])
    oids = [row[0] for row in rows]
    failed = statement_errors(oids, lambda some: session.error_of(_CHECK_TEXTS, [list(some)]))
    texts = dict(session.rows(_CHECK_TEXTS, [[oid for place, oid in enumerate(oids) if place not in failed]]))
    for place, (oid, owner, name) in enumerate(rows):
        table = relations[owner]
        table.inspection.looked_at["check constraints"] += 1
        trouble = failed.get(place)
        if trouble is None and oid in texts:
            trouble = session.fails_to_compile(f"SELECT ({texts[oid]}) FROM ONLY {table.quoted}")
        if trouble is not None:
            defect = SchemaFailure(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}, constraint=name)
            table.inspection.record(trouble, defect)


_AT_ONCE = 50
"""How many tables one statement locks while it is planned."""


def readable(session: SchemaSession, relations: Mapping[int, Relation]) -> dict[int, Relation]:
    """The tables whose rows can be read. Runs after the check of indexes: a broken index makes a table unreadable."""
    tables = [relation for relation in relations.values() if relation.has_rows and not relation.is_view]
    found: dict[int, StatementError] = {}
    for start in range(0, len(tables), _AT_ONCE):
        some = tables[start : start + _AT_ONCE]
        found |= {
            some[place].oid: t for place, t in statement_errors(some, lambda part: _trouble(session, part)).items()
        }
    for oid, trouble in found.items():
        inspection = relations[oid].inspection
        if trouble.conclusive and inspection.failures:
            inspection.left_out.append(f"its rows could not be read: {trouble.message}")
        elif trouble.conclusive:
            inspection.failures.append(SchemaFailure(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}))
    return {table.oid: table for table in tables if not (table.oid in found and found[table.oid].conclusive)}


def _trouble(session: SchemaSession, tables: Sequence[Relation]) -> StatementError | None:
    return session.error_of("EXPLAIN " + " UNION ALL ".join(f"SELECT 1 FROM ONLY {table.quoted}" for table in tables))


_EXPRESSIONS = """
SELECT d.oid, d.adrelid, a.attname, a.attgenerated <> '', d.adbin::text
FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum AND NOT a.attisdropped
WHERE d.adrelid = ANY(%s::oid[]) ORDER BY d.adrelid, d.adnum"""

_TEXTS = "SELECT d.oid, pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.oid = ANY(%s::oid[])"

_VARYING = "SELECT p.oid FROM pg_proc p WHERE p.oid = ANY(%s::oid[]) AND p.provolatile <> 'i'"

# In the catalog's form of expressions: the functions that they call, and values that depend on the session.
_CALLED = re.compile(r":(?:funcid|opfuncid) (\d+)")
_OF_SESSION = re.compile(r"\{(?:SQLVALUEFUNCTION|NEXTVALUEEXPR|COERCETODOMAIN) ")

ROWS = 1000
"""For how many rows a generated column is computed. Another check compares its values in all rows."""


@dataclass(frozen=True)
class Default:
    relation: Relation
    column: str
    text: str


@dataclass(frozen=True)
class _Expression:
    oid: int
    relation: Relation
    column: str
    generated: bool
    tree: str

    @property
    def called(self) -> frozenset[int]:
        return frozenset(int(oid) for oid in _CALLED.findall(self.tree))

    def defect(self, text: str | None, trouble: StatementError) -> SchemaFailure:
        kind = FailureKind.INVALID_GENERATED_COLUMN if self.generated else FailureKind.INVALID_DEFAULT
        details = {"expression": text, "reason": trouble.message}
        return SchemaFailure(kind, details, (self.column,), place=f"column {self.column}")


def check_expressions(
    session: SchemaSession, relations: Mapping[int, Relation], readable: Mapping[int, Relation]
) -> list[Default]:
    """Compiles all expressions. Computes defaults that are constant, and generated columns for some rows.

    Computes nothing for a table that is not readable. Returns the defaults that are sound.
    """
    found = [
        _Expression(oid, relations[owner], column, generated, tree)
        for oid, owner, column, generated, tree in session.rows(_EXPRESSIONS, [list(relations)])
    ]
    for each in found:
        each.relation.inspection.looked_at["generated columns" if each.generated else "defaults"] += 1
    known = _texts(session, found)
    texts = {oid: text for oid, text in known.items() if isinstance(text, str)}
    compiled = [each for each in found if each.oid in texts]
    wrong = {oid: trouble for oid, trouble in known.items() if isinstance(trouble, StatementError)}
    wrong |= _not_compiled(session, compiled, texts)
    sound = [each for each in compiled if each.oid not in wrong]
    wrong |= _not_computed(session, sound, texts)
    wrong |= _not_generated(session, [each for each in sound if each.relation.oid in readable], texts)
    for each in found:
        if each.oid in wrong:
            each.relation.inspection.record(wrong[each.oid], each.defect(texts.get(each.oid), wrong[each.oid]))
    return [
        Default(each.relation, each.column, texts[each.oid])
        for each in found
        if not each.generated and each.oid not in wrong
    ]


def _texts(session: SchemaSession, found: list[_Expression]) -> dict[int, str | StatementError]:
    oids = [each.oid for each in found]
    failed = statement_errors(oids, lambda some: session.error_of(_TEXTS, [list(some)]))
    known: dict[int, str | StatementError] = {oids[place]: trouble for place, trouble in failed.items()}
    known.update(session.rows(_TEXTS, [[oid for oid in oids if oid not in known]]))
    return known


def _not_compiled(
    session: SchemaSession, expressions: list[_Expression], texts: Mapping[int, str]
) -> dict[int, StatementError]:
    defaults = [each for each in expressions if not each.generated]
    failed = statement_errors(
        defaults,
        lambda some: session.fails_to_compile(f"SELECT {', '.join(f'({texts[each.oid]})' for each in some)}"),
    )
    return {defaults[place].oid: trouble for place, trouble in failed.items()}


def _not_computed(
    session: SchemaSession, expressions: list[_Expression], texts: Mapping[int, str]
) -> dict[int, StatementError]:
    called = sorted({oid for each in expressions for oid in each.called})
    varying = {row[0] for row in session.rows(_VARYING, [called])}
    defaults = [
        each
        for each in expressions
        if not each.generated and not each.called & varying and not _OF_SESSION.search(each.tree)
    ]
    failed = statement_errors(
        # Whether it is NULL: Python has no value for infinity, and for years before 1 and after 9999.
        defaults,
        lambda some: session.error_of(f"SELECT {', '.join(f'({texts[each.oid]}) IS NULL' for each in some)}"),
    )
    return {defaults[place].oid: trouble for place, trouble in failed.items()}


def _not_generated(
    session: SchemaSession, expressions: list[_Expression], texts: Mapping[int, str]
) -> dict[int, StatementError]:
    wrong = {}
    with session.setting(**TABLE_SCANS):
        for each in expressions:
            if each.generated:
                rows = f"FROM ONLY {each.relation.quoted} LIMIT {ROWS}"
                trouble = session.error_of(f"SELECT ({texts[each.oid]}) IS NULL {rows}")
                if trouble is not None:
                    wrong[each.oid] = trouble
    return wrong


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
    """A column and the sequence that numbers it."""

    relation: Relation
    column: str
    name: TableName
    increment: int
    least: int
    most: int

    @property
    def following(self) -> str:
        """SQL for the next number of the sequence."""
        step = f"CASE WHEN is_called THEN {self.increment} ELSE 0 END"
        return f"SELECT last_value::numeric + {step} FROM {_DIALECT.table(self.name)}"

    def furthest(self, following: int) -> str:
        """SQL for the furthest number in rows that the sequence can still reach: it skips those between its steps."""
        column, step = _DIALECT.quote(self.column), abs(self.increment)
        last = "max" if self.increment > 0 else "min"
        steps = "" if step == 1 else f" AND ({column}::numeric - {following}) % {step} = 0"
        return (
            f"SELECT {last}({column})::numeric FROM {self.relation.quoted}"
            f" WHERE {column} BETWEEN {self.least} AND {self.most}{steps}"
        )

    def reaches(self, following: int, furthest: int) -> bool:
        return following <= furthest if self.increment > 0 else following >= furthest


def check_sequences(session: SchemaSession, relations: Mapping[int, Relation], defaults: Sequence[Default]) -> None:
    """Checks sequences of identities and those that defaults use, whoever owns them; `relations` are readable."""
    numberings = list(_numberings(session, relations, defaults))
    with session.setting(**TABLE_SCANS):
        for numbering in numberings:
            inspection = numbering.relation.inspection
            inspection.looked_at["sequences"] += 1
            found = _check_sequence(session, numbering)
            if isinstance(found, StatementError):
                inspection.left_out.append(f"sequence {numbering.name}: {found.message}")
            elif found is not None:
                inspection.failures.append(found)


def _numberings(
    session: SchemaSession, relations: Mapping[int, Relation], defaults: Sequence[Default]
) -> Iterator[_Numbering]:
    taken: dict[tuple[int, str], int] = {}
    for default, oid in _taken(session, defaults):
        if oid is None:
            details = {"expression": default.text, "reason": "its sequence does not exist"}
            default.relation.inspection.failures.append(
                SchemaFailure(FailureKind.INVALID_DEFAULT, details, (default.column,), place=f"column {default.column}")
            )
        else:
            taken[default.relation.oid, default.column] = oid
    for owner, column, oid in session.rows(_IDENTITIES, [list(relations)]):
        taken[owner, column] = oid
    sequences = {row[0]: row[1:] for row in session.rows(_SEQUENCES, [sorted(set(taken.values()))])}
    for owner, column, parent in session.rows(_NUMBERED, [sorted({owner for owner, _ in taken})]):
        oid = taken.get((owner, column))
        # A partition's rows are read with its parent's; rows of some tables can't be read.
        if oid not in sequences or (parent, column) in taken or owner not in relations:
            continue
        schema, name, *limits, cycles = sequences[oid]
        # A sequence with CYCLE is meant to repeat its numbers.
        if not cycles:
            yield _Numbering(relations[owner], column, TableName(schema, name), *limits)


def _taken(session: SchemaSession, defaults: Sequence[Default]) -> Iterator[tuple[Default, int | None]]:
    """Defaults that call nextval, with the sequence's OID; None if the sequence does not exist."""
    named = [(each, match[1].replace("''", "'")) for each in defaults if (match := _NEXTVAL.fullmatch(each.text))]
    known = dict(session.rows(_BY_NAME, [sorted({name for _, name in named if not name.isdigit()})]))
    for default, name in named:
        yield default, known.get(name)


def _check_sequence(session: SchemaSession, numbering: _Numbering) -> SchemaFailure | StatementError | None:
    """Reads the rows before the sequence: writers only move the sequence forward meanwhile."""
    before = session.attempt(numbering.following)
    if isinstance(before, StatementError):
        return before
    largest = session.attempt(numbering.furthest(_number(before)))
    if isinstance(largest, StatementError):
        return largest
    after = session.attempt(numbering.following)
    if isinstance(after, StatementError):
        return after
    if largest[0][0] is None or not numbering.reaches(_number(after), _number(largest)):
        return None
    details = {
        "next": str(_number(after)),
        "column_has": str(_number(largest)),
        "sequence": str(numbering.name),
    }
    return SchemaFailure(FailureKind.SEQUENCE_BEHIND, details, (numbering.column,), place=f"sequence {numbering.name}")


def _number(rows: list[tuple[Any, ...]]) -> int:
    return int(rows[0][0])
