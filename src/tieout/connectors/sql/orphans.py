"""The rows that violate a foreign key, found with the engine's indexes, which a check would not trust."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tieout.connectors.protocols.finish import Orphans
from tieout.connectors.sql.constraints import ConstraintDialect
from tieout.model.constraints import ConstraintInfo, Match

_LONGEST = 60


def orphans(
    engine: ConstraintDialect, key: ConstraintInfo, rows: Callable[[str], Sequence[tuple[Any, ...]]]
) -> Orphans:
    """Counts the rows that violate the key, and shows one. `rows` runs a statement."""
    assert key.reference is not None
    quote = engine.dialect.quote
    if not key.compared:
        pairs = zip(key.reference.columns, key.columns, strict=True)
        key = replace(key, compared=tuple(f"p.{quote(theirs)} = c.{quote(mine)}" for theirs, mine in pairs))
    assert key.reference is not None
    nulls = [engine.is_null(f"c.{quote(name)}") for name in key.columns]
    complete = " AND ".join(f"NOT {null}" for null in nulls)
    broken = f"({complete} AND {engine.without_indexed_parent(key)})"
    if key.reference.match is Match.FULL and len(nulls) > 1:
        broken += f" OR (({' OR '.join(nulls)}) AND NOT ({' AND '.join(nulls)}))"
    source = engine.indexed_source(key.table.name, "c")
    ((count,),) = rows(f"SELECT COUNT(*) FROM {source} WHERE {broken}")
    if not count:
        return Orphans(0)
    names = list(dict.fromkeys([*key.columns, *key.table.key]))
    listed = ", ".join(f"c.{quote(name)}" for name in names)
    found = rows(f"SELECT {listed} FROM {source} WHERE {broken} LIMIT 1")
    return Orphans(int(count), _example(key, dict(zip(names, found[0], strict=True))) if found else None)


def _example(key: ConstraintInfo, row: dict[str, Any]) -> str:
    """Which row refers to what: customer_id = 99, in the row with id = 7."""
    refers = ", ".join(f"{name} = {_shown(row[name])}" for name in key.columns)
    where = ", ".join(f"{name} = {_shown(row[name])}" for name in key.table.key)
    return f"{refers}, in the row with {where}" if where else refers


def _shown(value: Any) -> str:
    text = "NULL" if value is None else f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
