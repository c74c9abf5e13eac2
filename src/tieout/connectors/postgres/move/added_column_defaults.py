"""What rows got in a column that was added: PostgreSQL keeps it apart from the column's default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.errors import UnsupportedError
from tieout.model.tables import Column, Table

# Of a partitioned table the partitions know. A table that was written anew since has forgotten.
_MISSING = """
WITH parts AS (SELECT %s::regclass AS oid UNION SELECT relid FROM pg_partition_tree(%s::regclass) WHERE isleaf)
SELECT DISTINCT CASE WHEN a.atttypid = 'bool'::regtype THEN (a.attmissingval::text::bool[])[1]::text
  ELSE quote_literal((a.attmissingval::text::text[])[1]) || '::' || format_type(a.atttypid, a.atttypmod) END
FROM pg_attribute a WHERE a.attrelid IN (SELECT oid FROM parts) AND a.attname = %s AND a.atthasmissing"""


def given(connection: Any, table: Table, quoted: str, columns: Sequence[Column]) -> dict[str, str | None]:
    return {column.name: _given(connection, table, quoted, column) for column in columns}


def _given(connection: Any, table: Table, quoted: str, column: Column) -> str | None:
    found = [value for (value,) in connection.execute(_MISSING, [quoted, quoted, column.name]).fetchall()]
    if len(found) == 1:
        return str(found[0])
    if found or (not column.generated and (column.default is not None or not column.nullable)):
        raise UnsupportedError(f"{table.name}: what rows got in its new column {column.name} is not known")
    return None
