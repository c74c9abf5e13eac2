"""The status of a mover, in the meta store, where `tieout status` reads it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tieout.connectors.protocols.change_log import LogLag
from tieout.meta.positions import Moves
from tieout.model.documents import move_status_document
from tieout.model.finish import Finish
from tieout.model.levels import Levels
from tieout.model.move_status import MoveStatus, RowNotFound, TableMoveStatus
from tieout.model.moves import Chunk, StoppedTable, Transfer, Version
from tieout.model.positions import Position
from tieout.model.preflight import Retention
from tieout.model.redaction import without_values
from tieout.model.requests import MoveRequest
from tieout.model.tables import TableName
from tieout.move.staging import StagedLogBatch
from tieout.wording import plural

_EVERY = 1.0
_LAGS = 10
_LISTED = 100


@dataclass
class TableStatus:
    source: str
    target: str | None
    chunks: int = 0
    chunks_done: int = 0
    rows_copied: int = 0
    rows_estimated: int | None = None
    transaction: str | None = None
    committed_at: int | None = None
    stopped: str | None = None


@dataclass
class StatusKeeper:
    """Counts what happens, and writes the status to the store, once a second at most."""

    moves: Moves
    job_id: str
    request: MoveRequest
    levels: Levels
    state: str = "starting"
    message: str | None = None
    tables: dict[str, TableStatus] = field(default_factory=dict)
    position: str | None = None
    consistent_from: str | None = None
    levelled: Position | None = None
    changes: int = 0
    newest: int | None = None
    lag: LogLag | None = None
    retention: Retention | None = None
    remarks: list[str] = field(default_factory=list)
    finish: Finish | None = None
    _not_found: list[RowNotFound] = field(default_factory=list)
    _more: dict[str, RowNotFound] = field(default_factory=dict)
    _versions: Mapping[str, Version] = field(default_factory=dict)
    _stored_at: float = 0.0
    _rates: list[tuple[float, int]] = field(default_factory=list)
    _caught_up_at: float | None = None
    _lags: list[tuple[float, int]] = field(default_factory=list)

    def become(self, state: str, message: str | None = None) -> None:
        self.state, self.message = state, message
        if state == "waiting":  # nobody reads the log meanwhile
            self.lag, self._lags = None, []
        self.store(now=True)

    def changed_before(self, versions: Mapping[str, Version]) -> None:
        """What earlier movers applied last to each target table: valid until the next change."""
        self._versions = versions

    def planned(self, transfers: Sequence[Transfer], chunks: Sequence[Chunk]) -> None:
        for transfer in transfers:
            own = [chunk for chunk in chunks if chunk.table == transfer.source.name]
            table = self._table(str(transfer.source.name), str(transfer.target.name), own)
            table.rows_estimated = transfer.source.estimated_rows
            self.tables[table.source] = table

    def stopped_before(self, tables: Sequence[StoppedTable]) -> None:
        """Tables that earlier movers stopped: the status lists them as long as the task exists."""
        for each in tables:
            self.tables[each.source] = self._table(each.source, each.target, each.chunks)
            self.tables[each.source].stopped = self._shown(each.reason)

    def _table(self, source: str, target: str | None, chunks: Sequence[Chunk]) -> TableStatus:
        done = [chunk for chunk in chunks if chunk.held is not None]
        table = TableStatus(source, target, len(chunks), len(done), sum(chunk.rows for chunk in done))
        if target is not None and (version := self._versions.get(target)) is not None:
            table.transaction, table.committed_at = version.transaction, version.at
        return table

    def copied(self, chunk: Chunk, rows: int) -> None:
        table = self.tables[str(chunk.table)]
        table.chunks_done += 1
        table.rows_copied += rows
        self._count(rows)
        self.store()

    def stopped(self, table: TableName, reason: str) -> None:
        self.tables[str(table)].stopped = self._shown(reason)
        self.store(now=True)

    def _shown(self, reason: str) -> str:
        return without_values(reason) if self.request.redact_values else reason

    @property
    def stopped_tables(self) -> list[TableStatus]:
        return [table for table in self.tables.values() if table.stopped is not None]

    def not_found_before(self, rows: Sequence[RowNotFound]) -> None:
        """Changes whose rows earlier merges did not find."""
        self._not_found, self._more = [], {}
        self._add_not_found(rows)

    def applied(self, staged: StagedLogBatch, not_found: Sequence[RowNotFound]) -> None:
        self.position = str(staged.upto)
        self.changes += staged.rows
        self._count(staged.rows)
        if staged.newest is not None:
            self.newest = staged.newest.at
        for table in self.tables.values():
            for name, version in staged.versions.items():
                if table.target == str(name) and table.stopped is None:
                    table.transaction, table.committed_at = version.transaction, version.at
        self._add_not_found(not_found)
        self.store()

    def _add_not_found(self, rows: Sequence[RowNotFound]) -> None:
        """Lists the first ones, and counts the rest."""
        for row in rows:
            if len(self._not_found) < _LISTED and row.kind is not None:
                self._not_found.append(replace(row, key=None) if self.request.redact_values else row)
            else:
                known = self._more.get(row.table)
                count = row.rows + (known.rows if known else 0)
                self._more[row.table] = RowNotFound(row.table, None, None, row.position, count)

    def set_lag(self, lag: LogLag) -> None:
        """How far the target is behind the log at this moment."""
        self.lag = lag
        self._lags = [*self._lags, (time.monotonic(), lag.behind)][-_LAGS:]
        if not lag.behind:
            self._caught_up_at = time.time()
        self.store()

    def set_retention(self, retention: Retention) -> None:
        """What the task keeps at its source, and how long the source keeps its log."""
        self.retention = retention
        self.store()

    @property
    def log_kept_bytes(self) -> int | None:
        if self.lag is not None and self.lag.kept is not None:
            return self.lag.kept
        return None if self.retention is None else self.retention.kept

    @property
    def lag_seconds(self) -> float | None:
        """How long ago the target was as the source is now; None before that is known."""
        if self.lag is None:
            return None
        if not self.lag.behind:
            return 0.0
        known = [at for at in (self._caught_up_at, self.newest and self.newest / 1e6) if at is not None]
        return max(0.0, time.time() - max(known)) if known else None

    @property
    def seconds_left(self) -> float | None:
        """Until all is copied, or the mover has caught up; None if unknown."""
        if self.state == "copying":
            wanted = [table.rows_estimated for table in self.tables.values() if table.chunks_done < table.chunks]
            if None in wanted or not self.rows_per_second:
                return None
            done = sum(table.rows_copied for table in self.tables.values() if table.chunks_done < table.chunks)
            return max(0.0, sum(rows for rows in wanted if rows is not None) - done) / self.rows_per_second
        if self.state != "following" or self.lag is None:
            return None
        if not self.lag.behind:
            return 0.0
        (first, then), (last, now) = self._lags[0], self._lags[-1]
        shrinks = (then - now) / (last - first) if last > first else 0.0
        return now / shrinks if shrinks > 0 else None

    @property
    def rows_per_second(self) -> float:
        """Over the last ten seconds or so."""
        if len(self._rates) < 2:
            return 0.0
        span = self._rates[-1][0] - self._rates[0][0]
        return sum(rows for _, rows in self._rates[1:]) / span if span > 0 else 0.0

    def status(self) -> MoveStatus:
        lag, kept = self.lag, self.retention
        return MoveStatus(
            task=self.request.task,
            state=self.state,
            message=self._words(),
            delivery=self.levels.delivery.value,
            consistency=self.levels.consistency.value,
            chosen=self.levels.reasons,
            position=self.position,
            consistent_from=self.consistent_from,
            changes=self.changes,
            rows_per_second=round(self.rows_per_second, 1),
            newest_commit=self.newest,
            lag_seconds=_rounded(self.lag_seconds),
            lag_bytes=None if lag is None else lag.behind,
            log_kept_bytes=self.log_kept_bytes,
            log_limit=None if kept is None else kept.limit,
            log_warning=None if kept is None else kept.warning_words(self.lag_seconds or 0.0),
            left_behind=None if kept is None else kept.left,
            seconds_left=_rounded(self.seconds_left),
            tables=tuple(TableMoveStatus(**vars(table)) for table in self.tables.values()),
            remarks=tuple(self.remarks),
            updated_at=datetime.fromtimestamp(time.time(), UTC),
            finish=self.finish,
            not_found=(*self._not_found, *self._more.values()),
        )

    def _words(self) -> str | None:
        """The reason for the state, and stopped tables: one line shows both."""
        stopped = self.stopped_tables
        if not stopped:
            return self.message
        share = f"{len(stopped)} of {plural(len(self.tables), 'table')} stopped"
        return f"{share}: {stopped[0].stopped}" if self.message is None else f"{self.message}; {share}"

    def _count(self, rows: int) -> None:
        at = time.monotonic()
        self._rates = [rate for rate in self._rates if at - rate[0] < 10.0]
        self._rates.append((at, rows))

    def store(self, *, now: bool = False) -> None:
        if now or time.monotonic() - self._stored_at > _EVERY:
            self.moves.set_status(self.job_id, self.request.task, move_status_document(self.status()))
            self._stored_at = time.monotonic()


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
