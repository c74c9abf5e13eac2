"""A part of the log, read and staged: on an executor, a stager for each table."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from secrets import token_hex

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.connectors.protocols.move import ChunkSource, Loader, StagedChanges
from tieout.errors import UnsupportedError, WriteError
from tieout.failpoints import reach
from tieout.model.moves import Version
from tieout.model.positions import Position
from tieout.model.row_changes import Begin, Commit, Emptied, Reached, Rows
from tieout.model.tables import TableName
from tieout.move import schema_changes
from tieout.move.schema_changes import ColumnsChanged, TableChanged, Trouble, TroubleFound
from tieout.move.staging import Behind, Stager, Staging
from tieout.spark.executor_work import Cells


@dataclass(frozen=True, slots=True)
class LogBatchStaged:
    """What came of a part of the log. Versions are by target table; `newest` is the last commit in it.

    `upto` is what was asked for, with what proves it later.
    """

    after: Position
    upto: Position
    changes: tuple[StagedChanges, ...]
    versions: Mapping[TableName, Version]
    rows: int
    newest: Commit | None = None


@dataclass
class StageLogBatch:
    """A piece of work: stages the changes of (after, upto], in stages that each try makes for itself."""

    log: ChangeLog
    source: ChunkSource
    loader: Loader
    tables: Mapping[TableName, Staging]
    alike: bool
    after: Position
    upto: Position
    _before: Position = field(init=False)

    def run(self) -> Iterator[LogBatchStaged | Trouble | Cells]:
        """May be called again if it raised: what went wrong once has left nothing here."""
        self._before = self.after
        try:
            with _no_cycles(), ThreadPoolExecutor(1, "tieout-stage") as pool:
                yield from self._staged(Behind(pool))
        except TroubleFound as found:
            yield found.trouble

    @contextmanager
    def _working_on(self, table: TableName) -> Iterator[TableName]:
        """What goes wrong inside is the table's trouble, and not that of the log."""
        try:
            yield table
        except ColumnsChanged as changed:
            told = changed.columns, changed.defaults
            raise TroubleFound(Trouble(table, changed.reason, self._before, *told, exact=True)) from None
        except TableChanged as changed:
            raise TroubleFound(Trouble(table, str(changed), self._before, exact=True)) from None
        except (UnsupportedError, WriteError) as error:
            raise TroubleFound(Trouble(table, str(error), self._before)) from None

    def _staged(self, behind: Behind) -> Iterator[LogBatchStaged | Cells]:
        reach("before-read")
        attempt = token_hex(4)
        stagers = {
            name: Stager(staging.of_attempt(attempt), number, self.source, behind, self.loader, self.alike)
            for number, (name, staging) in enumerate(self.tables.items())
        }
        transaction: Begin | None = None
        touched: set[TableName] = set()
        versions: dict[TableName, Version] = {}
        newest: Commit | None = None
        reached = self.upto
        for item in self.log.read(self.after, self.upto, frozenset(stagers)):
            if isinstance(item, Rows):
                assert transaction is not None
                with self._working_on(item.table.name) as name:
                    stagers[name].add(item, transaction)
                    touched.add(name)
                yield from stagers[name].handed_on()
            elif isinstance(item, Begin):
                transaction = item
            elif isinstance(item, Commit):
                for name in touched:
                    versions[self.tables[name].stage.transfer.target.name] = Version(item.transaction, item.at)
                touched.clear()
                self._before, newest = item.position, item
            elif isinstance(item, Reached):
                reached = item.position
            elif isinstance(item, Emptied):
                assert transaction is not None
                with self._working_on(item.table) as name:
                    stagers[name].empty(transaction)
                    touched.add(name)
            else:
                assert transaction is not None
                for change in item.redefined:
                    with self._working_on(change.table) as name:
                        staging = self.tables[name]
                        schema_changes.follow(change, transaction, staging.stage.transfer, staging.overlap)
        reach("after-read")
        changes = []
        for name, stager in stagers.items():
            with self._working_on(name):
                if (staged := stager.finish()) is not None:
                    changes.append(staged)
            yield from stager.handed_on()
        reach("after-stage")
        rows = sum(stager.seen for stager in stagers.values())
        yield LogBatchStaged(self.after, reached, tuple(changes), versions, rows, newest)


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Python does not look for cycles of garbage inside: millions of rows make none, and each look goes over them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
