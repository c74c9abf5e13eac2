"""A log that a test follows from where it began."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.log_items import only_told
from tests.servers.server import Database
from tieout.config.urls import parse_url
from tieout.connectors.mysql.binlog import BinlogLog
from tieout.model.positions import Position
from tieout.model.row_changes import KEPT, ChangeKind, Commit, Image, LogItem, Rows
from tieout.model.tables import TableName

Change = tuple[str, Image | None, Image]
"""INSERT, UPDATE or DELETE; the old row of an update; the row."""


@dataclass
class Followed:
    """`begin` is the log's end when the test began."""

    database: Database
    log: BinlogLog = field(init=False)
    begin: Position = field(init=False)

    def __post_init__(self) -> None:
        self.log = BinlogLog(parse_url(self.database.url))
        self.begin = self.log.now()

    def start(self) -> None:
        """Follows from here on."""
        self.begin = self.log.now()

    def table(self, name: str) -> TableName:
        return TableName(self.database.name, name)

    def items(self, *tables: str, after: Position | None = None, upto: Position | None = None) -> list[LogItem]:
        wanted = frozenset(map(self.table, tables))
        return only_told(self.log.read(after or self.begin, upto or self.log.now(), wanted))

    def changes(self, *tables: str) -> list[Change]:
        return changes_in(self.items(*tables))

    def commits(self, *tables: str) -> list[Commit]:
        return [item for item in self.items(*tables) if isinstance(item, Commit)]


def changes_in(items: Iterable[LogItem]) -> list[Change]:
    found: list[Change] = []
    for item in items:
        if isinstance(item, Rows):
            before = item.before or [None] * len(item.rows)
            kind = ChangeKind(item.kind).name
            assert item.whole == (not any(KEPT in row for row in item.rows))
            found += [(kind, old, new) for old, new in zip(before, item.rows, strict=True)]
    return found
