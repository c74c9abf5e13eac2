"""Undoes changes in the log that their own transaction rolled back.

A server leaves such changes out of its log, except when the transaction also did what cannot be rolled back (it changed
a table without transactions, or created a temporary one): then the log has SAVEPOINT, ROLLBACK TO and ROLLBACK, too. By
then the reader has passed the changes on, so it sends their opposites, last ones first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import pairwise

from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.dump import Dump
from tieout.connectors.mysql.binlog.tables import Tables
from tieout.errors import UnsupportedError
from tieout.model.positions import Position
from tieout.model.row_changes import KEPT, ChangeKind, Redefined, Rows, Statement

_PART = 4 << 20
"""Bytes of the log to hold in memory at a time."""

OpenLog = Callable[[Position], AbstractContextManager[Dump]]


class Rollbacks:
    """Tracks the savepoints of one transaction after another."""

    def __init__(self, open_log: OpenLog, tables: Tables) -> None:
        self._open = open_log
        self._tables = tables
        self._begin = 0
        self._savepoints: dict[str, int] = {}
        self._void: list[tuple[int, int]] = []

    def begin(self, end: int) -> None:
        """A transaction starts after the event that ends here."""
        self._begin = end
        self._savepoints.clear()
        self._void.clear()

    def savepoint(self, name: str | None, end: int) -> None:
        if name is not None:
            self._savepoints[name] = end

    def undo(self, file: str, end: int) -> Iterator[Rows]:
        """The opposites of the changes between the start of the transaction and this offset."""
        yield from self._undone(file, self._begin, end)

    def undo_to(self, name: str | None, file: str, end: int) -> Iterator[Rows | Statement]:
        """The opposites of the changes between a savepoint and this offset."""
        begin = None if name is None else self._savepoints.get(name)
        if begin is not None:
            yield from self._undone(file, begin, end)
            return
        tables = {rows.table.name for rows in self._rows(file, self._begin, end)}
        reason = "a transaction rolled changes of it back to a savepoint that the log does not have"
        stopped = (Redefined(table, reason=reason) for table in sorted(tables, key=str))
        yield Statement("", "ROLLBACK TO SAVEPOINT", tuple(stopped))

    def _undone(self, file: str, begin: int, end: int) -> Iterator[Rows]:
        for part_begin, part_end in reversed([*pairwise(self._cuts(file, begin, end))]):
            for rows in reversed([*self._rows(file, part_begin, part_end)]):
                yield _opposite(rows)
        self._void.append((begin, end))

    def _cuts(self, file: str, begin: int, end: int) -> list[int]:
        cuts, size = [begin], 0
        with self._open(Position(f"{file}:{begin}")) as dump:
            for *_, offset, body in dump.events:
                size += len(body)
                if offset >= end:
                    break
                if size >= _PART:
                    cuts.append(offset)
                    size = 0
        return [*cuts, end]

    def _rows(self, file: str, begin: int, end: int) -> Iterator[Rows]:
        """Rows in between, without those that were rolled back before."""
        with self._open(Position(f"{file}:{begin}")) as dump:
            for kind, _, _, offset, body in dump.events:
                void = any(low < offset <= high for low, high in self._void)
                if kind in codes.ROWS and not void and (rows := self._tables.rows(kind, body)):
                    yield rows
                if offset >= end:
                    return


def _opposite(rows: Rows) -> Rows:
    images = [*rows.rows, *(rows.before or ())]
    if any(KEPT in image for image in images if image):
        raise UnsupportedError(
            f"{rows.table.name}: a transaction rolled back changes of rows that the log has only in part",
            "SET GLOBAL binlog_row_image = FULL",
        )
    if rows.before is not None:
        before = [image for image in rows.before if image is not None]
        return Rows(rows.table, rows.kind, before[::-1], [*rows.rows[::-1]], whole=True)
    kind = ChangeKind.DELETE if rows.kind is ChangeKind.INSERT else ChangeKind.INSERT
    return Rows(rows.table, kind, rows.rows[::-1], whole=True)
