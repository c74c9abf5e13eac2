"""What the catalog of a MySQL server says of a table's numbers and references."""

from __future__ import annotations

from typing import Any

from tieout.connectors.sql.ddl import Reference, Wiring
from tieout.model.tables import TableName

_NUMBERS = """
SELECT c.column_name, t.auto_increment FROM information_schema.columns c
JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = %s AND c.table_name = %s AND c.extra LIKE '%%auto_increment%%'"""

_REFERENCES = """
SELECT k.constraint_name, k.column_name, k.referenced_table_schema, k.referenced_table_name, k.referenced_column_name,
  r.delete_rule, r.update_rule
FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r
  ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name
  AND r.table_name = k.table_name
WHERE k.table_schema = %s AND k.table_name = %s AND k.referenced_table_name IS NOT NULL
ORDER BY k.constraint_name, k.ordinal_position"""


def wiring(cursor: Any, table: TableName) -> Wiring:
    cursor.execute(_NUMBERS, [table.schema, table.name])
    numbers = {column: int(following or 1) for column, following in cursor.fetchall()}
    cursor.execute(_REFERENCES, [table.schema, table.name])
    grouped: dict[str, list[tuple[Any, ...]]] = {}
    for name, *rest in cursor.fetchall():
        grouped.setdefault(name, []).append(tuple(rest))
    return Wiring(numbers, tuple(_reference(name, rows) for name, rows in grouped.items()))


def _reference(name: str, rows: list[tuple[Any, ...]]) -> Reference:
    _, schema, parent, _, on_delete, on_update = rows[0]
    columns, parent_columns = tuple(row[0] for row in rows), tuple(row[3] for row in rows)
    return Reference(name, columns, TableName(schema, parent), parent_columns, on_delete, on_update)
