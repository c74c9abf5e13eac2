"""Defaults, generated columns and CHECK constraints that fail; tables that the server can't even plan to read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tieout.connectors.postgres.check.schema.objects import Relation
from tieout.connectors.postgres.check.schema.session import TABLE_SCANS, SchemaSession
from tieout.connectors.protocols.check import Defect, Trouble, troubles
from tieout.model.failures import FailureKind

_CHECKS = """
SELECT c.oid, c.conrelid, c.conname FROM pg_constraint c
WHERE c.contype = 'c' AND c.conrelid = ANY(%s::oid[]) ORDER BY c.conname"""

_CHECK_TEXTS = "SELECT c.oid, pg_get_expr(c.conbin, c.conrelid) FROM pg_constraint c WHERE c.oid = ANY(%s::oid[])"


def look_at_checks(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    """Whether rows obey them is another check."""
    rows = session.rows(_CHECKS, [list(relations)])
    oids = [row[0] for row in rows]
    failed = troubles(oids, lambda some: session.trouble(_CHECK_TEXTS, [list(some)]))
    texts = dict(session.rows(_CHECK_TEXTS, [[oid for place, oid in enumerate(oids) if place not in failed]]))
    for place, (oid, owner, name) in enumerate(rows):
        table = relations[owner]
        table.inspection.looked_at["check constraints"] += 1
        trouble = failed.get(place)
        if trouble is None and oid in texts:
            trouble = session.fails_to_compile(f"SELECT ({texts[oid]}) FROM ONLY {table.quoted}")
        if trouble is not None:
            defect = Defect(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}, constraint=name)
            table.inspection.met(trouble, defect)


_AT_ONCE = 50
"""Each is locked while it is planned."""


def readable(session: SchemaSession, relations: Mapping[int, Relation]) -> dict[int, Relation]:
    """The tables that rows can be read of. After indexes: what is wrong with one of them keeps its table from that."""
    tables = [relation for relation in relations.values() if relation.has_rows and not relation.is_view]
    found: dict[int, Trouble] = {}
    for start in range(0, len(tables), _AT_ONCE):
        some = tables[start : start + _AT_ONCE]
        found |= {some[place].oid: t for place, t in troubles(some, lambda part: _trouble(session, part)).items()}
    for oid, trouble in found.items():
        inspection = relations[oid].inspection
        if trouble.telling and inspection.defects:
            inspection.left_out.append(f"nothing could be computed of its rows: {trouble.message}")
        elif trouble.telling:
            inspection.defects.append(Defect(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}))
    return {table.oid: table for table in tables if not (table.oid in found and found[table.oid].telling)}


def _trouble(session: SchemaSession, tables: Sequence[Relation]) -> Trouble | None:
    return session.trouble("EXPLAIN " + " UNION ALL ".join(f"SELECT 1 FROM ONLY {table.quoted}" for table in tables))


_EXPRESSIONS = """
SELECT d.oid, d.adrelid, a.attname, a.attgenerated <> '', d.adbin::text
FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum AND NOT a.attisdropped
WHERE d.adrelid = ANY(%s::oid[]) ORDER BY d.adrelid, d.adnum"""

_TEXTS = "SELECT d.oid, pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.oid = ANY(%s::oid[])"

_VARYING = "SELECT p.oid FROM pg_proc p WHERE p.oid = ANY(%s::oid[]) AND p.provolatile <> 'i'"

# As the catalog keeps expressions: the functions that they call, and values that are of the session.
_CALLED = re.compile(r":(?:funcid|opfuncid) (\d+)")
_OF_SESSION = re.compile(r"\{(?:SQLVALUEFUNCTION|NEXTVALUEEXPR|COERCETODOMAIN) ")

ROWS = 1000
"""Of so many rows a generated column is computed: whether it has the right value in all of them is another check."""


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

    def defect(self, text: str | None, trouble: Trouble) -> Defect:
        kind = FailureKind.INVALID_GENERATED_COLUMN if self.generated else FailureKind.INVALID_DEFAULT
        details = {"expression": text, "reason": trouble.message}
        return Defect(kind, details, (self.column,), place=f"column {self.column}")


def look_at_expressions(
    session: SchemaSession, relations: Mapping[int, Relation], readable: Mapping[int, Relation]
) -> list[Default]:
    """All are compiled. A default is computed if it gives the same at any time, a generated column of some rows.

    Nothing is computed of a table that is not readable. The defaults that are sound are handed back.
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
    wrong = {oid: trouble for oid, trouble in known.items() if isinstance(trouble, Trouble)}
    wrong |= _not_compiled(session, compiled, texts)
    sound = [each for each in compiled if each.oid not in wrong]
    wrong |= _not_computed(session, sound, texts)
    wrong |= _not_generated(session, [each for each in sound if each.relation.oid in readable], texts)
    for each in found:
        if each.oid in wrong:
            each.relation.inspection.met(wrong[each.oid], each.defect(texts.get(each.oid), wrong[each.oid]))
    return [
        Default(each.relation, each.column, texts[each.oid])
        for each in found
        if not each.generated and each.oid not in wrong
    ]


def _texts(session: SchemaSession, found: list[_Expression]) -> dict[int, str | Trouble]:
    oids = [each.oid for each in found]
    failed = troubles(oids, lambda some: session.trouble(_TEXTS, [list(some)]))
    known: dict[int, str | Trouble] = {oids[place]: trouble for place, trouble in failed.items()}
    known.update(session.rows(_TEXTS, [[oid for oid in oids if oid not in known]]))
    return known


def _not_compiled(
    session: SchemaSession, expressions: list[_Expression], texts: Mapping[int, str]
) -> dict[int, Trouble]:
    defaults = [each for each in expressions if not each.generated]
    failed = troubles(
        defaults,
        lambda some: session.fails_to_compile(f"SELECT {', '.join(f'({texts[each.oid]})' for each in some)}"),
    )
    return {defaults[place].oid: trouble for place, trouble in failed.items()}


def _not_computed(
    session: SchemaSession, expressions: list[_Expression], texts: Mapping[int, str]
) -> dict[int, Trouble]:
    called = sorted({oid for each in expressions for oid in each.called})
    varying = {row[0] for row in session.rows(_VARYING, [called])}
    defaults = [
        each
        for each in expressions
        if not each.generated and not each.called & varying and not _OF_SESSION.search(each.tree)
    ]
    failed = troubles(
        # Whether it is NULL: Python has no value for infinity, and for years before 1 and after 9999.
        defaults,
        lambda some: session.trouble(f"SELECT {', '.join(f'({texts[each.oid]}) IS NULL' for each in some)}"),
    )
    return {defaults[place].oid: trouble for place, trouble in failed.items()}


def _not_generated(
    session: SchemaSession, expressions: list[_Expression], texts: Mapping[int, str]
) -> dict[int, Trouble]:
    wrong = {}
    with session.setting(**TABLE_SCANS):
        for each in expressions:
            if each.generated:
                rows = f"FROM ONLY {each.relation.quoted} LIMIT {ROWS}"
                trouble = session.trouble(f"SELECT ({texts[each.oid]}) IS NULL {rows}")
                if trouble is not None:
                    wrong[each.oid] = trouble
    return wrong
