"""Checks foreign keys: their parent, or its key, may have been dropped while they were disabled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tieout.connectors.mysql.check.schema.objects import Relation, SchemaSession
from tieout.connectors.protocols.check import SchemaFailure
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_FOREIGN_KEYS = """
SELECT table_schema, table_name, constraint_name, column_name, referenced_table_schema, referenced_table_name,
  referenced_column_name
FROM information_schema.key_column_usage
WHERE table_schema IN ({}) AND referenced_table_name IS NOT NULL ORDER BY 1, 2, 3, ordinal_position"""

_COLUMNS = """
SELECT table_schema, table_name, column_name, data_type, column_type LIKE '%%unsigned%%', collation_name
FROM information_schema.columns WHERE table_schema IN ({})"""

_INDEXES = """
SELECT table_schema, table_name, index_name, column_name
FROM information_schema.statistics WHERE table_schema IN ({}) ORDER BY 1, 2, 3, seq_in_index"""

_INTEGERS = {"tinyint", "smallint", "mediumint", "int", "bigint"}


@dataclass
class _Tables:
    """The types of columns, and the columns of indexes, of the tables in question; names in lower case."""

    columns: dict[TableName, dict[str, tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(dict))
    indexes: dict[TableName, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))


@dataclass
class _ForeignKey:
    table: TableName
    name: str
    parent: TableName
    columns: list[str] = field(default_factory=list)
    theirs: list[str] = field(default_factory=list)


def check_foreign_keys(session: SchemaSession, schemas: Sequence[str], relations: Mapping[TableName, Relation]) -> None:
    keys: dict[tuple[TableName, str], _ForeignKey] = {}
    for schema, table, name, column, *parent, theirs in session.about(_FOREIGN_KEYS, schemas):
        child = TableName(schema, table)
        if child in relations:
            key = keys.setdefault((child, name), _ForeignKey(child, name, TableName(*parent)))
            key.columns.append(column)
            key.theirs.append(theirs)
    known = _tables(session, sorted({each.schema for key in keys.values() for each in (key.table, key.parent)}))
    for key in keys.values():
        inspection = relations[key.table].inspection
        inspection.looked_at["foreign keys"] += 1
        reason = _reason(key, known)
        if reason is not None:
            details = {"reason": reason, "refers_to": f"{key.parent} ({', '.join(key.theirs)})"}
            inspection.failures.append(
                SchemaFailure(FailureKind.INVALID_FOREIGN_KEY, details, tuple(key.columns), constraint=key.name)
            )


def _tables(session: SchemaSession, schemas: Sequence[str]) -> _Tables:
    found = _Tables()
    for schema, table, column, *kind in session.about(_COLUMNS, schemas):
        found.columns[_folded(TableName(schema, table))][column.casefold()] = tuple(kind)
    for schema, table, index, column in session.about(_INDEXES, schemas):
        parts = found.indexes[_folded(TableName(schema, table))].setdefault(index, [])
        parts.append((column or "").casefold())
    return found


def _reason(key: _ForeignKey, known: _Tables) -> str | None:
    parent = _folded(key.parent)
    if parent not in known.columns:
        return f"table {key.parent} does not exist"
    theirs = [column.casefold() for column in key.theirs]
    missing = [name for name, column in zip(key.theirs, theirs, strict=True) if column not in known.columns[parent]]
    if missing:
        return f"{key.parent} has no column {', '.join(missing)}"
    if not any(parts[: len(theirs)] == theirs for parts in known.indexes[parent].values()):
        return f"no index of {key.parent} begins with ({', '.join(key.theirs)})"
    own = known.columns[_folded(key.table)]
    for name, column in zip(key.columns, theirs, strict=True):
        ours, other = own.get(name.casefold()), known.columns[parent][column]
        if ours is not None and not _compare(ours, other):
            return f"{name} and {column} of {key.parent} have types that cannot be compared"
    return None


def _compare(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """Whether InnoDB compares them: integers need the same size and sign, texts the same collation; others pass."""
    if ours[0] in _INTEGERS or theirs[0] in _INTEGERS:
        return ours[:2] == theirs[:2]
    return ours[2] is None or theirs[2] is None or ours[2] == theirs[2]


def _folded(name: TableName) -> TableName:
    return TableName(name.schema.casefold(), name.name.casefold())
