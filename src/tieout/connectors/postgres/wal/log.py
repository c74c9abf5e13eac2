"""The change log of a PostgreSQL database: what a logical slot sends for a publication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.errors import OF_LOGS, SLOT_REFUSES, START_OVER, translated
from tieout.connectors.postgres.protocol.copy_out import copied_values
from tieout.connectors.postgres.wal import publication, write_ahead_log
from tieout.connectors.postgres.wal.decoder import Decoder, begins
from tieout.connectors.postgres.wal.pgoutput import Batch
from tieout.connectors.postgres.wal.slot import slot_state, when_free
from tieout.connectors.protocols.change_log import LogCoverage, LogLag
from tieout.connectors.sql.connection_cache import lease
from tieout.errors import LogLostError, UnreachableError
from tieout.model.positions import Position, lsn
from tieout.model.row_changes import LogItem, Reached
from tieout.model.tables import TableName

# A table is described once, before its first change.
_PEEK = """COPY (SELECT data FROM pg_logical_slot_peek_binary_changes({}, {}, NULL,
'proto_version', '1', 'publication_names', {}{}) WHERE lsn >= {} OR get_byte(data, 0) = ascii('R'))
TO STDOUT (FORMAT binary)"""
_MESSAGE = """SELECT count(*) FROM pg_logical_slot_peek_binary_changes(%s, %s, NULL, 'proto_version', '1',
'publication_names', %s, 'messages', 'true')
WHERE get_byte(data, 0) = ascii('M') AND lsn = %s AND position(convert_to(%s, 'UTF8') IN data) > 0"""

_REACH = 8 << 20
"""Few transactions span more bytes of log than this, including what others write meanwhile."""

_MARK_BYTES = 16 << 20
"""How much log the server may keep only for the transaction that identifies the log."""

# From this version on, the server skips empty transactions unless they contain a message.
_MESSAGES = 14_00_00, ", 'messages', 'true'"

_Batches = Iterable[list[memoryview]]


@dataclass(frozen=True)
class PostgresLog:
    """A ChangeLog. Any LSN is a position: a transaction lies before it if its commit record begins before it.

    A Commit's position is the end of its record. It is after `upto` if `upto` is inside this record.

    A slot sends everything that is not confirmed yet. At first, we leave out what lies more than `reach` bytes before
    the requested position; if a transaction turns out to have begun there, we read everything.
    """

    url: EndpointUrl
    slot: str
    publication: str
    reach: int = _REACH

    def now(self) -> Position:
        with self._connection() as connection:
            return write_ahead_log.end(connection)

    def resume(self, after: Position, held: Sequence[Position] = ()) -> Position:
        """While a server runs, nobody can restore an earlier copy, so its log continues. After a restart, the log must
        contain the last transaction that was read, with the same LSN, xid and time.

        `confirm` never moves the slot beyond that transaction. A slot that is beyond it was created by hand, perhaps
        after other changes.
        """
        with self._connection() as connection:
            log = write_ahead_log.identity(connection)
            self._require_system(after, log)
            self._require_kept(connection, after)
            if after.log == log:
                return after
            self._require_end(connection, after)
            confirmed = slot_state(connection, self.url, self.slot).confirmed
            found = confirmed.of_log(log, commit=after.commit)
            place = _commit_begins(after)
            if place is not None and confirmed.offset <= place.offset:
                self._require_commit(connection, after)
                found = lsn(place.offset + 1).of_log(log, commit=after.commit)
            elif not after.log and after.place != confirmed.place:
                raise self._lost(after, "an older version stored it, without the identity of the log")
            elif after.place != confirmed.place and not write_ahead_log.is_standby(connection):
                raise self._lost(after, "its slot starts after the last transaction that was read")
            self._require_held(connection, [place for place in held if place.place > found.place and place.log != log])
            return found

    def _require_system(self, after: Position, log: str) -> None:
        if after.log and after.log.partition(".")[0] != log.partition(".")[0]:
            raise self._lost(after, "this is another server")

    def _require_commit(self, connection: Any, after: Position) -> None:
        place = _commit_begins(after)
        assert place is not None
        upto = lsn(place.offset + 1)
        for rows in chain(*when_free(lambda: self._peek(connection, after, upto, 0))):
            if after.commit in begins(Batch(rows)):
                return
        raise self._lost(after, "it does not contain the last transaction that was applied")

    def _require_held(self, connection: Any, held: Sequence[Position]) -> None:
        """Rows were copied at these positions, so the log must contain what they hold, too."""
        if not held:
            return
        last = max(held, key=lambda position: position.place)
        where, _, text = last.tail.partition(".")
        if not where:
            raise self._lost(last, "nothing proves that rows were copied at a position of this log")
        upto = lsn(Position(where).offset + 1)
        self._require_end(connection, upto)
        arguments = [self.slot, str(upto), self._published, where, text]
        ((found,),) = when_free(lambda: connection.execute(_MESSAGE, arguments).fetchall())
        if not found:
            raise self._lost(last, "the message that was written there when rows were copied is missing")

    def _lost(self, after: Position, why: str) -> LogLostError:
        where = f"{self.url.redacted()}: the log does not continue after {after}: {why}"
        return LogLostError(where, f"the server was restored from an earlier copy, or failed over: {START_OVER}")

    def ends(self, after: Position, most_bytes: int, most: int) -> list[Position]:
        now = self.now()
        self._require_same(after, now.log)
        steps = range(after.offset + most_bytes, now.offset, most_bytes)[:most]
        found = [lsn(step, now.log) for step in steps]
        if len(found) < most and after.place < now.place:
            found.append(now)
        return found

    def read(self, after: Position, upto: Position, tables: frozenset[TableName]) -> Iterator[LogItem]:
        last = after.commit
        if after.place < upto.place:
            decoder = Decoder(after.offset, upto.offset, tables, upto.log)
            yield from self._decoded(decoder, after, upto, after.offset - self.reach)
            last = decoder.last or last
            if decoder.torn:
                decoder = Decoder(decoder.reached, upto.offset, tables, upto.log)
                yield from self._decoded(decoder, after, upto, 0)
                assert not decoder.torn, "what a slot sends starts with the beginning of a transaction"
                last = decoder.last or last
        yield Reached(upto.of_log(upto.log, commit=last))

    def _decoded(self, decoder: Decoder, after: Position, upto: Position, low: int) -> Iterator[LogItem]:
        """Decodes what the slot sends, as far as it was written at `low` or later."""
        with self._connection() as connection:
            self._require_end(connection, upto)
            self._require_same(after, write_ahead_log.identity(connection))
            for rows in chain(*when_free(lambda: self._peek(connection, after, upto, low))):
                if not decoder.torn:
                    yield from decoder.items(Batch(rows))

    def lag(self, applied: Position) -> LogLag:
        with self._connection() as connection:
            end = write_ahead_log.last_record(connection)
            return LogLag(max(0, end.offset - applied.offset), slot_state(connection, self.url, self.slot).retained)

    def coverage(self, tables: Sequence[TableName]) -> LogCoverage:
        with self._connection() as connection:
            return publication.coverage(connection, self.publication, tables)

    def confirm(self, position: Position) -> None:
        """Lets the server forget what lies before the position, except the last transaction that was read, which proves
        later that the log is the same. If the server keeps much log only for that, this writes a new transaction.
        """
        with self._connection() as connection:
            self._require_same(position, write_ahead_log.identity(connection))
            self._require_end(connection, position)
            proof = _commit_begins(position)
            if proof is None or write_ahead_log.is_standby(connection):
                when_free(lambda: self._advance(connection, position))
                return
            kept = position.offset - slot_state(connection, self.url, self.slot).confirmed.offset
            when_free(lambda: self._advance(connection, proof))
            if kept > _MARK_BYTES:
                write_ahead_log.emit(connection, "")

    def _advance(self, connection: Any, position: Position) -> None:
        import psycopg

        if self._is_confirmed(connection, position):
            return
        try:
            connection.execute("SELECT pg_replication_slot_advance(%s, %s)", [self.slot, str(position)])
        except psycopg.Error as error:
            # A slot never moves backwards; another connection may have moved it further.
            if error.sqlstate != SLOT_REFUSES or not self._is_confirmed(connection, position):
                raise

    def _is_confirmed(self, connection: Any, position: Position) -> bool:
        return slot_state(connection, self.url, self.slot).confirmed.place >= position.place

    def _peek(self, connection: Any, after: Position, upto: Position, low: int) -> tuple[_Batches, _Batches]:
        """The first rows, and the others. The server decodes everything and frees the slot before it sends a row."""
        self._require_kept(connection, after)
        rows = copied_values(connection, self._statement(connection, upto, low))
        return list(islice(rows, 1)), rows

    def _statement(self, connection: Any, upto: Position, low: int) -> bytes:
        """SQL that reads from the slot's confirmed position on, and at most one transaction beyond `upto`."""
        version, option = _MESSAGES
        messages = option if connection.info.server_version >= version else ""
        slot, end, published, begin = map(quoting.text, (self.slot, str(upto), self._published, str(lsn(max(0, low)))))
        return _PEEK.format(slot, end, published, messages, begin).encode()

    @property
    def _published(self) -> str:
        """A list of quoted identifiers, which pgoutput takes as a text."""
        return quoting.name(self.publication)

    def _require_same(self, position: Position, log: str) -> None:
        """Raises UnreachableError if the identity differs. It may still be the same log: `resume` finds out."""
        if position.log and position.log != log:
            raise UnreachableError(f"{self.url.redacted()}: the server was restarted, or is another one")

    def _require_end(self, connection: Any, position: Position) -> None:
        """Raises if the log ends before the position: decoding would silently leave out what is not flushed."""
        end = write_ahead_log.end(connection)
        if end.place < position.place:
            where = f"{self.url.redacted()}: the log ends at {end}, before {position}"
            raise LogLostError(where, f"this is another server, or one that was restored: {START_OVER}")

    def _require_kept(self, connection: Any, after: Position) -> None:
        state = slot_state(connection, self.url, self.slot)
        if state.wal_status == "lost":
            where = f'{self.url.redacted()}: the log that replication slot "{self.slot}" needs was removed'
            raise LogLostError(where, f"{START_OVER}; max_slot_wal_keep_size limits what the server keeps")
        if after.place < state.confirmed.place:
            where = f'{self.url.redacted()}: replication slot "{self.slot}" starts at {state.confirmed}, after {after}'
            raise LogLostError(where, START_OVER)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        with (
            translated(self.url, OF_LOGS),
            lease(("decoding", self.url), lambda: connect(self.url, "tieout log")) as connection,
        ):
            yield connection


def _commit_begins(position: Position) -> Position | None:
    """The position of the commit record of the last transaction that was read (decoder.evidence)."""
    return Position(position.commit.partition(".")[0]) if position.commit else None
