"""The change log of a PostgreSQL database: what a logical slot tells of a publication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.changelog import LogLag, Watched
from tieout.connectors.kept import lease
from tieout.connectors.postgres.decoding import noted, wal
from tieout.connectors.postgres.decoding.batch import Batch
from tieout.connectors.postgres.decoding.copying import copied
from tieout.connectors.postgres.decoding.decoder import Decoder
from tieout.connectors.postgres.decoding.faults import REFUSED, START_ANEW, log_faults
from tieout.connectors.postgres.decoding.state import slot_state
from tieout.connectors.postgres.decoding.waiting import when_free
from tieout.connectors.postgres.session import connect
from tieout.errors import LogLostError
from tieout.model.changes import LogItem
from tieout.model.positions import Position, lsn
from tieout.model.tables import TableName

# Tables are described once, before the first change of all.
_PEEK = """COPY (SELECT data FROM pg_logical_slot_peek_binary_changes({}, {}, NULL,
'proto_version', '1', 'publication_names', {}) WHERE lsn >= {} OR get_byte(data, 0) = ascii('R'))
TO STDOUT (FORMAT binary)"""

_REACH = 8 << 20
"""Few transactions are longer than so many bytes of log, those of others between them counted."""

_Batches = Iterable[list[memoryview]]


@dataclass(frozen=True)
class PostgresLog:
    """A ChangeLog. Any LSN is a position of it: a transaction lies before it if its commit record begins before it.

    A Commit's position is the end of its record. It lies behind `upto` if that is a place inside of this record.

    A slot tells again all that is not confirmed yet. What lies more than `reach` bytes before the position asked for
    is not sent at first; if a transaction turns out to have begun there, all is.
    """

    url: EndpointUrl
    slot: str
    publication: str
    reach: int = _REACH

    def now(self) -> Position:
        with self._connection() as connection:
            return wal.end(connection)

    def ends(self, after: Position, most_bytes: int, most: int) -> list[Position]:
        now = self.now()
        steps = range(after.offset + most_bytes, now.offset, most_bytes)[:most]
        found = [lsn(step) for step in steps]
        if len(found) < most and not after.reaches(now):
            found.append(now)
        return found

    def read(self, after: Position, upto: Position, tables: frozenset[TableName]) -> Iterator[LogItem]:
        if after.reaches(upto):
            return
        decoder = Decoder(after.offset, upto.offset, tables)
        yield from self._told(decoder, after, upto, after.offset - self.reach)
        if decoder.torn:
            decoder = Decoder(decoder.reached, upto.offset, tables)
            yield from self._told(decoder, after, upto, 0)
            assert not decoder.torn, "all that the slot tells begins with the beginning of a transaction"

    def _told(self, decoder: Decoder, after: Position, upto: Position, low: int) -> Iterator[LogItem]:
        """What the slot tells, as far as it was written at `low` or later."""
        with self._connection() as connection:
            self._require_end(connection, upto)
            for rows in chain(*when_free(lambda: self._peek(connection, after, upto, low))):
                if not decoder.torn:
                    yield from decoder.items(Batch(rows))

    def lag(self, applied: Position) -> LogLag:
        with self._connection() as connection:
            end = wal.last_record(connection)
            return LogLag(max(0, end.offset - applied.offset), slot_state(connection, self.url, self.slot).retained)

    def watched(self, tables: Sequence[TableName]) -> Watched:
        with self._connection() as connection:
            return noted.watched(connection, self.publication, tables)

    def confirm(self, position: Position) -> None:
        with self._connection() as connection:
            self._require_end(connection, position)
            when_free(lambda: self._advance(connection, position))

    def _advance(self, connection: Any, position: Position) -> None:
        import psycopg

        if self._is_confirmed(connection, position):
            return
        try:
            connection.execute("SELECT pg_replication_slot_advance(%s, %s)", [self.slot, str(position)])
        except psycopg.Error as error:
            # A slot never moves backwards: another connection may have moved it further.
            if error.sqlstate != REFUSED or not self._is_confirmed(connection, position):
                raise

    def _is_confirmed(self, connection: Any, position: Position) -> bool:
        return slot_state(connection, self.url, self.slot).confirmed.reaches(position)

    def _peek(self, connection: Any, after: Position, upto: Position, low: int) -> tuple[_Batches, _Batches]:
        """The first rows, and the others. The server decodes all, lets go of the slot, and then sends the first row."""
        self._require_kept(connection, after)
        rows = copied(connection, self._statement(connection, upto, low))
        return list(islice(rows, 1)), rows

    def _statement(self, connection: Any, upto: Position, low: int) -> bytes:
        """It tells from the slot's confirmed position on, and at most one transaction beyond `upto`."""
        from psycopg import sql

        # A list of identifiers as SQL writes them, inside of a text.
        publication = sql.Identifier(self.publication).as_string(connection)
        arguments = (sql.Literal(text) for text in (self.slot, str(upto), publication, str(lsn(max(0, low)))))
        return sql.SQL(_PEEK).format(*arguments).as_bytes(connection)

    def _require_end(self, connection: Any, position: Position) -> None:
        """What is not flushed yet is not read, so it would be missing without a word."""
        end = wal.end(connection)
        if not end.reaches(position):
            where = f"{self.url.redacted()}: the log ends at {end}, before {position}"
            raise LogLostError(where, f"this is another server, or one that was restored: {START_ANEW}")

    def _require_kept(self, connection: Any, after: Position) -> None:
        state = slot_state(connection, self.url, self.slot)
        if state.wal_status == "lost":
            where = f'{self.url.redacted()}: the log that replication slot "{self.slot}" needs was removed'
            raise LogLostError(where, f"{START_ANEW}; max_slot_wal_keep_size bounds what is kept")
        if not after.reaches(state.confirmed):
            where = f'{self.url.redacted()}: replication slot "{self.slot}" begins at {state.confirmed}, behind {after}'
            raise LogLostError(where, START_ANEW)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        with log_faults(self.url), lease(("decoding", self.url), lambda: connect(self.url, "tieout log")) as connection:
            yield connection
