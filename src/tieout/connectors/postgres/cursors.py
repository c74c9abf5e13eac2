"""A cursor of psycopg whose statements may have names of any content beside their %s."""

from __future__ import annotations

from typing import Any, Self

from psycopg import Cursor

from tieout.connectors.sql.placeholders import with_names


class NamesCursor(Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        if params is not None and isinstance(query, str):
            query = with_names(query)
        return super().execute(query, params, **options)
