"""A cursor of pymysql whose statements may have names of any content beside their %s."""

from __future__ import annotations

from typing import Any

from pymysql.cursors import Cursor

from tieout.connectors.sql.placeholders import with_names


class NamesCursor(Cursor):
    def execute(self, query: str, args: Any = None) -> int:
        # An empty list, too, has the driver look for %.
        return super().execute(query if args is None else with_names(query), args)
