"""The tables that a log's rows belong to, while it is being read."""

from __future__ import annotations

from tieout.connectors.mysql.binlog.layout import Layouts
from tieout.connectors.mysql.binlog.rows_event import rows_of
from tieout.connectors.mysql.binlog.table_map import table_id, table_name
from tieout.connectors.mysql.binlog.wanted import Wanted
from tieout.errors import ReadError
from tieout.model.changes import Rows

_NO_TABLE = 0xFFFFFF
"""The number in an event that only ends a statement."""


class Tables:
    """Remembers what the log said of tables; the numbers it gives them are good until it gives them again."""

    def __init__(self, wanted: Wanted, layouts: Layouts) -> None:
        self._wanted = wanted
        self._layouts = layouts
        self._bodies: dict[int, bytes | None] = {}
        self._judged: dict[bytes, bool] = {}

    def add(self, body: bytes) -> None:
        """Takes a table map in."""
        wanted = self._judged.get(body)
        if wanted is None:
            wanted = self._judged[body] = self._wanted.named(table_name(body)) is not None
        self._bodies[table_id(body)] = body if wanted else None

    def rows(self, kind: int, body: bytes) -> Rows | None:
        """The rows of an event; None if nobody wants them."""
        described = self.described(body)
        return None if described is None else self.decoded(described, kind, body)

    def described(self, body: bytes) -> bytes | None:
        """The table map of an event with rows; None if nobody wants them."""
        number = table_id(body)
        if number not in self._bodies:
            if number == _NO_TABLE:
                return None
            raise ReadError("the log has rows of a table that it did not describe", "is this the end of a transaction?")
        return self._bodies[number]

    def decoded(self, described: bytes, kind: int, body: bytes) -> Rows:
        return rows_of(self._layouts.of(described), kind, body)
