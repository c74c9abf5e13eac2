"""Reads indexes and constraints from a MySQL server's catalog."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.endpoint import MySQLEndpoint
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.show_create import keys_of, parts_of
from tieout.connectors.protocols.check import IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.canonical_kinds import Incomparable, common_kind
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Enforcement, Reference
from tieout.model.tables import Table, TableName

_INDEXES = """
SELECT s.index_name, s.non_unique, s.index_type, s.column_name, s.sub_part, s.collation, c.extra
FROM information_schema.statistics s LEFT JOIN information_schema.columns c
ON c.table_schema = s.table_schema AND c.table_name = s.table_name AND c.column_name = s.column_name
WHERE s.table_schema = %s AND s.table_name = %s ORDER BY s.index_name, s.seq_in_index"""

_PRIMARY = """
SELECT IF(sub_part IS NULL, collation, 'D') FROM information_schema.statistics
WHERE table_schema = %s AND table_name = %s AND index_name = 'PRIMARY'"""

_PARTITIONS = """
SELECT COALESCE(subpartition_name, partition_name) FROM information_schema.partitions
WHERE table_schema = %s AND table_name = %s AND partition_name IS NOT NULL
ORDER BY partition_ordinal_position, subpartition_ordinal_position"""


def indexes_of(endpoint: MySQLEndpoint, table: Table) -> list[IndexInfo]:
    """The indexes of a table, in the order of their names. Without InnoDB's primary key, which is the table itself."""
    rows = endpoint.all(_INDEXES, [table.name.schema, table.name.name])
    found = [_info(str(name), list(parts), table) for name, parts in groupby(rows, key=itemgetter(0))]
    return [info for info in found if not (info.primary and is_clustered(table))]


def partitions_of(endpoint: MySQLEndpoint, table: Table) -> tuple[str, ...]:
    """The smallest partitions, each with indexes of its own; none if the table has no partitions."""
    return tuple(str(name) for (name,) in endpoint.all(_PARTITIONS, [table.name.schema, table.name.name]))


def has_ascending_key(endpoint: MySQLEndpoint, table: Table) -> bool:
    """Whether rows are in ascending order of a primary key, and so are index entries that are otherwise equal."""
    ways = [way for (way,) in endpoint.all(_PRIMARY, [table.name.schema, table.name.name])]
    return is_clustered(table) and bool(ways) and set(ways) == {"A"}


def is_clustered(table: Table) -> bool:
    """Whether rows are stored in the order of their key, and index entries use that key as the row's address."""
    return (table.engine or "").casefold() == "innodb"


def _info(name: str, parts: Sequence[tuple[Any, ...]], table: Table) -> IndexInfo:
    columns: list[IndexColumn] = []
    shortened: list[tuple[str, int]] = []
    unchecked = None
    for _, _, method, column_name, prefix, collation, extra in parts:
        reason, column = _column(table, method, column_name, prefix)
        if prefix is not None and "VIRTUAL" in str(extra).upper():
            # Seen on MariaDB 10.11: while somebody writes, the server does not find all rows by such an index.
            reason = (
                reason or f"it has only the first {prefix} of {column_name}, which the server computes on every read"
            )
        unchecked = unchecked or reason
        if column is not None and prefix is not None:
            shortened.append((column.name, int(prefix)))
        elif column is not None:
            columns.append(IndexColumn(column.name, column, descending=collation == "D"))
    definition = ", ".join(f"{part[3]}({part[4]:d})" if part[4] else str(part[3]) for part in parts)
    return IndexInfo(
        name,
        table,
        tuple(columns),
        not parts[0][1],
        name == "PRIMARY",
        None,
        f"({definition})",
        unchecked,
        tuple(shortened),
    )


def _column(table: Table, method: str, name: str | None, prefix: int | None) -> tuple[str | None, ScanColumn | None]:
    """Why the index cannot be checked, if so; and the column."""
    if method != "BTREE":
        return f"it is a {method} index; only B-trees are checked", None
    if name is None:
        return "the server cannot read an expression from an index alone", None
    column = table.column(name)
    kind = common_kind(column.type, column.type)
    if isinstance(kind, Incomparable):
        return f"{name}: {kind.reason}", None
    if prefix is not None and not is_clustered(table):
        return (
            f"it has only the first {prefix} of {name}, and {table.engine} does not show which rows it leads to",
            None,
        )
    if prefix is not None and not table.key:
        return f"it has only the first {prefix} of {name}, and rows have no key to look them up by", None
    return None, ScanColumn(column, kind)


_MARIADB_CHECKS = """
SELECT constraint_name, check_clause, 'YES' FROM information_schema.check_constraints
WHERE constraint_schema = %s AND table_name = %s ORDER BY 1, 2"""

_MYSQL_CHECKS = """
SELECT t.constraint_name, c.check_clause, t.enforced
FROM information_schema.table_constraints t JOIN information_schema.check_constraints c
  ON c.constraint_schema = t.constraint_schema AND c.constraint_name = t.constraint_name
WHERE t.table_schema = %s AND t.table_name = %s AND t.constraint_type = 'CHECK' ORDER BY 1"""

_HAS_CHECKS = """
SELECT COUNT(*) FROM information_schema.tables
WHERE table_schema = 'information_schema' AND table_name = 'CHECK_CONSTRAINTS'"""

_KEYS = """
SELECT index_name, column_name, sub_part, {expression}
FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s AND non_unique = 0
ORDER BY index_name, seq_in_index"""

_REFERENCES = """
SELECT constraint_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage
WHERE table_schema = %s AND table_name = %s AND referenced_table_name IS NOT NULL ORDER BY 1, ordinal_position"""

_NAME = re.compile(r"`((?:[^`]|``)+)`")
_OVERLAPS = "a key WITHOUT OVERLAPS is not checked"


def constraints_of(endpoint: MySQLEndpoint, table: Table) -> list[ConstraintInfo]:
    """CHECKs (those that make a column JSON among them), NOT NULLs, keys and foreign keys."""
    return [
        *_checks(endpoint, table),
        *_not_nulls(table),
        *sorted(_keys(endpoint, table), key=lambda key: key.kind is not ConstraintKind.PRIMARY_KEY),
        *_references(endpoint, table),
    ]


def _checks(endpoint: MySQLEndpoint, table: Table) -> Iterator[ConstraintInfo]:
    if endpoint.all(_HAS_CHECKS, []) == [(0,)]:
        return
    ours = endpoint.server_kind is ServerKind.MARIADB
    enforced = not ours or endpoint.all("SELECT @@GLOBAL.check_constraint_checks", []) == [(1,)]
    for name, clause, state in _rows(endpoint, _MARIADB_CHECKS if ours else _MYSQL_CHECKS, table):
        # MySQL's catalog escapes the quotes of texts once more.
        expression = clause if ours else clause.replace("\\'", "'")
        named = {found.replace("``", "`") for found in _NAME.findall(expression)}
        yield ConstraintInfo(
            name,
            ConstraintKind.CHECK,
            table,
            tuple(column for column in table.column_names if column in named),
            expression,
            enforcement=Enforcement.ENFORCED if enforced and state == "YES" else Enforcement.DISABLED,
            definition=f"CHECK ({expression})",
        )


def _not_nulls(table: Table) -> Iterator[ConstraintInfo]:
    for column in table.columns:
        if not column.nullable:
            yield ConstraintInfo(
                f"{column.name}_not_null", ConstraintKind.NOT_NULL, table, (column.name,), definition="NOT NULL"
            )


def _keys(endpoint: MySQLEndpoint, table: Table) -> Iterator[ConstraintInfo]:
    dialect = MySQLDialect(endpoint.server_kind)
    statement = _KEYS.format(expression="NULL" if endpoint.server_kind is ServerKind.MARIADB else "expression")
    overlapping = _overlapping(endpoint, table)
    for name, parts in groupby(_rows(endpoint, statement, table), key=itemgetter(0)):
        columns, compared = [], []
        for _, column, prefix, expression in parts:
            reference = dialect.quote(column) if column else "(" + expression.replace("\\'", "'") + ")"
            columns.append(column or expression)
            compared.append(reference if prefix is None else f"LEFT({reference}, {prefix:d})")
        yield ConstraintInfo(
            name,
            ConstraintKind.PRIMARY_KEY if name == "PRIMARY" else ConstraintKind.UNIQUE,
            table,
            tuple(columns),
            compared=tuple(compared),
            index=name,
            definition=f"UNIQUE ({', '.join(compared)})",
            unchecked=_OVERLAPS if name in overlapping else None,
        )


def _overlapping(endpoint: MySQLEndpoint, table: Table) -> set[str]:
    """Keys that forbid overlapping periods; only SHOW CREATE TABLE shows that."""
    if endpoint.server_kind is not ServerKind.MARIADB:
        return set()
    ((_, statement),) = endpoint.all(f"SHOW CREATE TABLE {MySQLDialect(endpoint.server_kind).table(table.name)}", [])
    parts, _ = parts_of(str(statement))
    return {name for name, part in keys_of(parts).items() if "WITHOUT OVERLAPS" in _NAME.sub("", part)}


def _references(endpoint: MySQLEndpoint, table: Table) -> Iterator[ConstraintInfo]:
    enforced = endpoint.all("SELECT @@GLOBAL.foreign_key_checks", []) == [(1,)]
    dialect = MySQLDialect(endpoint.server_kind)
    for name, parts in groupby(_rows(endpoint, _REFERENCES, table), key=itemgetter(0)):
        listed = list(parts)
        reference = Reference(TableName(listed[0][2], listed[0][3]), tuple(part[4] for part in listed))
        own = tuple(part[1] for part in listed)
        pairs = zip(reference.columns, own, strict=True)
        yield ConstraintInfo(
            name,
            ConstraintKind.FOREIGN_KEY,
            table,
            own,
            compared=tuple(f"p.{dialect.quote(theirs)} = c.{dialect.quote(mine)}" for theirs, mine in pairs),
            reference=reference,
            enforcement=Enforcement.ENFORCED if enforced else Enforcement.DISABLED,
            definition=f"FOREIGN KEY ({', '.join(own)}) REFERENCES {reference.parent} ({', '.join(reference.columns)})",
        )


def _rows(endpoint: MySQLEndpoint, statement: str, table: Table) -> list[tuple[Any, ...]]:
    return endpoint.all(statement, [table.name.schema, table.name.name])
