"""How a MySQL server would go about a statement."""

from __future__ import annotations

from typing import Any


def plan_of(cursor: Any, statement: str) -> list[dict[str, Any]]:
    """Its steps, a table each, by the names that EXPLAIN has for what it tells."""
    cursor.execute(f"EXPLAIN {statement}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
