"""What a MySQL server's catalog says of indexes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from tieout.connectors.mysql.endpoint import MySQLEndpoint
from tieout.connectors.protocols.check import IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.kinds import Incomparable, common_kind
from tieout.model.tables import Table

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
    """The indexes of a table, in the order of their names. InnoDB's primary key is the table itself: none of them."""
    rows = endpoint.all(_INDEXES, [table.name.schema, table.name.name])
    found = [_info(str(name), list(parts), table) for name, parts in groupby(rows, key=itemgetter(0))]
    return [info for info in found if not (info.primary and is_clustered(table))]


def partitions_of(endpoint: MySQLEndpoint, table: Table) -> tuple[str, ...]:
    """The smallest ones, each with indexes of its own; none if the table is in one piece."""
    return tuple(str(name) for (name,) in endpoint.all(_PARTITIONS, [table.name.schema, table.name.name]))


def has_ascending_key(endpoint: MySQLEndpoint, table: Table) -> bool:
    """Whether rows are in the order of a primary key, and so are entries that are otherwise equal."""
    ways = [way for (way,) in endpoint.all(_PRIMARY, [table.name.schema, table.name.name])]
    return is_clustered(table) and bool(ways) and set(ways) == {"A"}


def is_clustered(table: Table) -> bool:
    """Whether rows lie in the order of their key, and entries have that key for an address."""
    return (table.engine or "").casefold() == "innodb"


def _info(name: str, parts: Sequence[tuple[Any, ...]], table: Table) -> IndexInfo:
    columns: list[IndexColumn] = []
    shortened: list[tuple[str, int]] = []
    unchecked = None
    for _, _, method, column_name, prefix, collation, extra in parts:
        reason, column = _column(table, method, column_name, prefix)
        if prefix is not None and "VIRTUAL" in str(extra).upper():
            # Seen on MariaDB 10.11: beside a writer, the server does not find all rows by such an index.
            reason = reason or f"it has only the first {prefix} of {column_name}, which is computed when it is read"
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
    """Why the index can't be checked, if that is so; and the column."""
    if method != "BTREE":
        return f"it is a {method} index: only B-trees are checked", None
    if name is None:
        return "the server has no way to read an expression from an index alone", None
    column = table.column(name)
    kind = common_kind(column.type, column.type)
    if isinstance(kind, Incomparable):
        return f"{name}: {kind.reason}", None
    if prefix is not None and not is_clustered(table):
        return (
            f"it has only the first {prefix} of {name}, and {table.engine} does not tell which rows it leads to",
            None,
        )
    if prefix is not None and not table.key:
        return f"it has only the first {prefix} of {name}, and rows have no key to be looked up with", None
    return None, ScanColumn(column, kind)
