"""Checks triggers, functions and procedures for tables that no longer exist, without running them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tieout.connectors.mysql.check.schema.objects import Relation, SchemaSession
from tieout.connectors.protocols.check import Inspection, SchemaFailure
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")
_BLOCK = re.compile(r"\s*BEGIN\b(?!\s+NOT\b)(?P<inside>.*)\bEND\s*;?\s*", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(r"\s*(?:RETURN|SET\s+[\w.`@]+\s*:?=)(?P<value>.*)", re.IGNORECASE | re.DOTALL)
_NO_TABLE = re.compile(r"\s*(?:DECLARE\s+[\w`, ]+\s+[a-z]+(?:\([^)]*\))?(?:\s+DEFAULT\s+[\w'.-]+)?)?\s*", re.IGNORECASE)
_REPLACE = re.compile(r"^REPLACE\b", re.IGNORECASE)
_TEMPORARY = re.compile(r"CREATE\s+TEMPORARY\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(\w+)`?", re.IGNORECASE)


@dataclass(frozen=True)
class NamedTables:
    """The tables that a body names; a missing schema is "". `complete`: every statement was understood."""

    tables: frozenset[tuple[str, str]]
    complete: bool


def named_tables(body: str) -> NamedTables:
    block = _BLOCK.fullmatch(body)
    pieces = _split(block["inside"]) if block else [body]
    if pieces is None:
        return NamedTables(frozenset(), complete=False)
    found: set[tuple[str, str]] = set()
    complete = True
    for piece in pieces:
        tables = _tables(piece)
        complete = complete and tables is not None
        found |= tables or set()
    temporary = {name.casefold() for name in _TEMPORARY.findall(body)}
    return NamedTables(frozenset(each for each in found if each[1].casefold() not in temporary), complete)


def _split(text: str) -> list[str] | None:
    try:
        tokens = sqlglot.tokenize(text, read="mysql")
    except SqlglotError:
        return None
    pieces, start = [], 0
    for token in tokens:
        if token.token_type.name == "SEMICOLON":
            pieces.append(text[start : token.start])
            start = token.end + 1
    return [*pieces, text[start:]]


def _tables(piece: str) -> set[tuple[str, str]] | None:
    """The tables of a statement; None if it is not understood."""
    if _NO_TABLE.fullmatch(piece):
        return set()
    value = _VALUE.fullmatch(piece)
    statement = f"SELECT {value['value']}" if value else piece.strip()
    if not statement.upper().startswith(_STATEMENTS):
        return None
    try:
        # sqlglot does not parse REPLACE.
        tree = sqlglot.parse_one(_REPLACE.sub("INSERT", statement), read="mysql")
    except (SqlglotError, ValueError):
        return None
    if isinstance(tree, exp.Command):
        return None
    # Without names that the statement defines itself, and without variables, which follow INTO.
    defined = {each.alias_or_name.casefold() for each in tree.find_all(exp.CTE)}
    defined |= {each.alias.casefold() for each in tree.find_all(exp.Table) if each.alias}
    return {
        (each.db, each.name)
        for each in tree.find_all(exp.Table)
        if isinstance(each.this, exp.Identifier)
        and each.find_ancestor(exp.Into) is None
        and not (each.db == "" and each.name.casefold() in defined | {"dual"})
    }


_TRIGGERS = """
SELECT event_object_schema, event_object_table, trigger_name, action_statement
FROM information_schema.triggers WHERE event_object_schema IN ({}) ORDER BY 1, 2, 3"""

_ROUTINES = """
SELECT routine_schema, routine_name, LOWER(routine_type), routine_definition
FROM information_schema.routines WHERE routine_schema IN ({}) ORDER BY 1, 2, 3"""

_TABLES = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ({})"

_NOT_RESOLVED = "only statements outside of conditions were checked: the server resolves the rest when it runs"


class _Known:
    """The tables and views of schemas, read when one is first named."""

    def __init__(self, session: SchemaSession) -> None:
        self._session = session
        self._names: dict[str, set[str]] = {}

    def has(self, schema: str, name: str) -> bool:
        if schema not in self._names:
            rows = self._session.about(_TABLES, [schema])
            self._names[schema] = {str(row[1]).casefold() for row in rows}
        return name.casefold() in self._names[schema]


def check_triggers(session: SchemaSession, schemas: Sequence[str], relations: Mapping[TableName, Relation]) -> None:
    known = _Known(session)
    for schema, table, name, body in session.about(_TRIGGERS, schemas):
        relation = relations.get(TableName(schema, table))
        if relation is not None:
            relation.inspection.looked_at["triggers"] += 1
            _check_body(known, relation.inspection, schema, body, f"trigger {name}")


def routines(session: SchemaSession, schemas: Sequence[str], names: Collection[TableName] | None) -> list[Inspection]:
    known = _Known(session)
    found = []
    for schema, name, what, body in session.about(_ROUTINES, schemas):
        inspection = Inspection(TableName(schema, name), what)
        if names is not None and inspection.name not in names:
            continue
        inspection.looked_at["definitions"] += 1
        if body is None:
            inspection.left_out.append("this user may not see its body: GRANT SHOW CREATE ROUTINE")
        else:
            _check_body(known, inspection, schema, body, None)
        found.append(inspection)
    return found


def _check_body(known: _Known, inspection: Inspection, schema: str, body: str, place: str | None) -> None:
    named = named_tables(body)
    missing = sorted(f"{db or schema}.{name}" for db, name in named.tables if not known.has(db or schema, name))
    if missing:
        details = {"refers_to": f"table {', '.join(missing)}, which is gone"}
        inspection.failures.append(SchemaFailure(FailureKind.MISSING_REFERENCE, details, place=place))
    if not named.complete:
        inspection.remarks.append(f"{place}: {_NOT_RESOLVED}" if place else _NOT_RESOLVED)
