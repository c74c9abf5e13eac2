"""Indexes that no reader uses, and indexes on columns, operators or collations that do not exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tieout.connectors.postgres.check.schema.objects import Relation, SchemaSession
from tieout.connectors.protocols.check import SchemaFailure, StatementError, statement_errors
from tieout.model.failures import FailureKind

_INDEXES = """
SELECT i.indrelid, i.indexrelid, coalesce(c.relname, format('index %%s (gone)', i.indexrelid)),
  i.indisvalid, i.indisready, i.indislive, c.relkind::text
FROM pg_index i LEFT JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = ANY(%s::oid[]) ORDER BY 3"""

# REINDEX and DROP lock the index itself, CREATE INDEX only its table. A user who may not see which index is being built
# still sees which process builds one.
_AT_WORK = """
SELECT l.relation FROM pg_locks l WHERE l.locktype = 'relation' AND l.granted AND l.relation = ANY(%s::oid[])
  AND l.mode IN ('ShareUpdateExclusiveLock', 'AccessExclusiveLock')
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
UNION SELECT p.index_relid FROM pg_stat_progress_create_index p
UNION SELECT i.indexrelid FROM pg_stat_progress_create_index p
JOIN pg_locks l ON l.pid = p.pid AND l.locktype = 'relation' AND l.mode = 'ShareUpdateExclusiveLock'
JOIN pg_index i ON i.indrelid = l.relation WHERE p.index_relid IS NULL"""

# A key of a B-tree on a plain column has the column's type, unless its operator class stores another type.
_PARTS = """
SELECT i.indexrelid, k.place, k.attnum, a.attname, a.attisdropped, t.attname IS NOT NULL,
  k.place <= i.indnkeyatts AND o.oid IS NULL,
  k.place <= i.indnkeyatts AND coalesce(o.opckeytype, 0) = 0 AND k.attnum <> 0 AND NOT a.attisdropped
    AND t.atttypid <> a.atttypid AND m.amname = 'btree',
  k.place <= i.indnkeyatts AND i.indcollation[k.place - 1] <> 0 AND l.oid IS NULL,
  format_type(a.atttypid, NULL), format_type(t.atttypid, NULL)
FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
LEFT JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_am m ON m.oid = c.relam
LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum <> 0
LEFT JOIN pg_attribute t ON t.attrelid = i.indexrelid AND t.attnum = k.place
LEFT JOIN pg_opclass o ON o.oid = i.indclass[k.place - 1]
LEFT JOIN pg_collation l ON l.oid = i.indcollation[k.place - 1]
WHERE i.indexrelid = ANY(%s::oid[]) ORDER BY i.indexrelid, k.place"""

_DEFINITIONS = """
SELECT i.indexrelid, pg_get_expr(i.indpred, i.indrelid), i.indexprs IS NOT NULL, (
  SELECT array_agg(pg_get_indexdef(i.indexrelid, k.place::int, false) ORDER BY k.place)
  FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) WHERE k.attnum = 0 AND k.place <= i.indnkeyatts)
FROM pg_index i WHERE i.indexrelid = ANY(%s::oid[]) AND pg_get_indexdef(i.indexrelid) <> ''"""


def check_indexes(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    rows = session.rows(_INDEXES, [list(relations)])
    owners = {row[1]: (relations[row[0]], row[2]) for row in rows}
    _flags(session, owners, rows)
    wrong = _parts(session, owners)
    for oid, (relation, name) in owners.items():
        relation.inspection.looked_at["indexes"] += 1
        if oid in wrong:
            relation.inspection.failures.append(_wrong(name, wrong[oid]))
    _expressions(session, {oid: owner for oid, owner in owners.items() if oid not in wrong})


_Owners = Mapping[int, tuple[Relation, str]]


def _flags(session: SchemaSession, owners: _Owners, rows: list[tuple[Any, ...]]) -> None:
    at_work = {row[0] for row in session.rows(_AT_WORK, [list(owners)])}
    for _, oid, name, valid, ready, live, kind in rows:
        if valid and ready and live:
            continue
        inspection = owners[oid][0].inspection
        if oid in at_work:
            inspection.remarks.append(f"index {name} is being built or dropped right now")
            continue
        reason = "its build did not finish, and readers do not use it"
        if kind == "I":
            reason = "an index of a partition is not attached, and readers do not use it"
        elif not live:
            reason = "a DROP of it did not finish: it is neither used nor maintained"
        elif not ready:
            reason = "its build did not finish, and writers do not maintain it"
        inspection.failures.append(SchemaFailure(FailureKind.INVALID_INDEX, {"reason": reason}, index=name))


def _parts(session: SchemaSession, owners: _Owners) -> dict[int, str]:
    """The first problem with the columns of each index."""
    wrong: dict[int, str] = {}
    for row in session.rows(_PARTS, [list(owners)]):
        oid, place, number, column, dropped, stored, no_class, other_type, no_collation, wanted, found = row
        reason = None
        if number != 0 and column is None:
            reason = f"its part {place} is column {number} of the table, which does not exist"
        elif dropped:
            reason = f"its part {place} is column {number} of the table, which was dropped"
        elif not stored:
            reason = f"its definition has a part {place}, and the index does not"
        elif no_class:
            reason = f"the operator class of its part {place} does not exist"
        elif no_collation:
            reason = f"the collation of its part {place} does not exist"
        elif other_type:
            reason = f"its part {place} has type {found}, and {column} has type {wanted}"
        if reason:
            wrong.setdefault(oid, reason)
    return wrong


def _expressions(session: SchemaSession, owners: _Owners) -> None:
    """Finds indexes whose definitions the server can't print, or no longer understands."""
    oids = list(owners)
    failed = {
        oids[place]: trouble
        for place, trouble in statement_errors(oids, lambda some: session.error_of(_DEFINITIONS, [list(some)])).items()
    }
    sound = [oid for oid in oids if oid not in failed]
    queries = []
    for oid, condition, _, expressions in session.rows(_DEFINITIONS, [sound]) if sound else []:
        if condition or expressions:
            columns = ", ".join(f"({each})" for each in expressions or ["1"])
            where = f" WHERE {condition}" if condition else ""
            queries.append((oid, f"SELECT {columns} FROM ONLY {owners[oid][0].quoted}{where}"))
    for oid, query in queries:
        trouble = session.fails_to_compile(query)
        if trouble is not None:
            failed[oid] = trouble
    for oid, trouble in failed.items():
        relation, name = owners[oid]
        relation.inspection.record(trouble, _wrong(name, trouble))


def _wrong(name: str, reason: str | StatementError) -> SchemaFailure:
    text = reason.message if isinstance(reason, StatementError) else reason
    return SchemaFailure(FailureKind.INVALID_INDEX_DEFINITION, {"reason": text}, index=name)
