"""A database whose changes are followed, as a test sees it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.log_items import only_told
from tieout.config.urls import parse_url
from tieout.connectors.postgres.wal import PostgresLog, slot
from tieout.connectors.sql.connection_cache import kept_open
from tieout.model.positions import Position
from tieout.model.row_changes import KEPT, Begin, ChangeKind, Commit, Emptied, LogItem, Rows
from tieout.model.tables import TableName

Told = tuple[Any, ...]
"""One change, in a shape that is easy to write down: what happened, the table's name, and images."""


def table(name: str) -> TableName:
    return TableName("public", name)


@dataclass
class Followed:
    """Begins at `at`, which moves on with each `told`."""

    database: Any
    log: PostgresLog
    tables: frozenset[TableName]
    at: Position
    items: list[LogItem] = field(default_factory=list)

    def told(self) -> list[list[Told]]:
        """The transactions since the last call, each as a list of its changes. `items` are what they were made of."""
        upto = self.log.now()
        self.items = only_told(self.log.read(self.at, upto, self.tables))
        self.at = upto
        return transactions(self.items)

    def between(self, after: Position, upto: Position) -> list[LogItem]:
        return only_told(self.log.read(after, upto, self.tables))


def transactions(items: Sequence[LogItem]) -> list[list[Told]]:
    found: list[list[Told]] = []
    begun: Begin | None = None
    for item in items:
        if isinstance(item, Begin):
            assert begun is None
            begun = item
            found.append([])
            continue
        assert begun is not None
        if isinstance(item, Commit):
            assert begun.transaction == item.transaction
            assert not begun.position.reaches(item.position)
            begun = None
        else:
            found[-1] += _changes(item)
    assert begun is None, "the last transaction has no end"
    return found


def _changes(item: LogItem) -> Iterator[Told]:
    if isinstance(item, Emptied):
        yield "emptied", item.table.name
        return
    assert isinstance(item, Rows)
    assert not item.whole or not any(KEPT in row for row in item.rows)
    word, name = item.kind.name.lower(), item.table.name.name
    if item.kind is ChangeKind.UPDATE:
        befores = item.before or [None] * len(item.rows)
        yield from ((word, name, before, row) for before, row in zip(befores, item.rows, strict=True))
    else:
        assert item.before is None
        yield from ((word, name, row) for row in item.rows)


Follow = Callable[..., Followed]


@contextmanager
def following(default: Any) -> Iterator[Follow]:
    """follow("t", "u") follows these tables; the slots are dropped when the block ends: they hold their databases."""
    made: list[PostgresLog] = []

    def follow(*names: str | TableName, database: Any = default, publication: str | None = None) -> Followed:
        tables = [name if isinstance(name, TableName) else table(name) for name in names]
        url, slot_name = parse_url(database.url), f"{database.name}_{len(made)}"
        # As it arrives on an executor.
        log = pickle.loads(pickle.dumps(PostgresLog(url, slot_name, publication or slot_name)))
        made.append(log)
        return Followed(database, log, frozenset(tables), slot.create(url, slot_name, log.publication, tables))

    with kept_open():
        yield follow
    for log in made:
        slot.drop(log.url, log.slot, log.publication)


@contextmanager
def in_use(followed: Followed) -> Iterator[Any]:
    """Another client reads from the slot until the block ends, or its connection is closed."""
    log = followed.log
    connection = psycopg.connect(followed.database.url, replication="database", autocommit=True)
    options = f"proto_version '1', publication_names '{log.publication}'"
    connection.pgconn.exec_(f'START_REPLICATION SLOT "{log.slot}" LOGICAL 0/0 ({options})'.encode())
    try:
        yield connection
    finally:
        connection.close()
