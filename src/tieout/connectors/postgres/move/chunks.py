"""Reads chunks of PostgreSQL tables without locks: each in a snapshot that tells which transactions it saw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.copy_lines import copied_lines
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.faults import translated
from tieout.connectors.postgres.move.texts import rendered, texts_of
from tieout.connectors.postgres.session import connect
from tieout.connectors.postgres.wal import write_ahead_log
from tieout.connectors.protocols.move import TextOf, canonical_keys, key_scan
from tieout.connectors.sql import select
from tieout.model.keys import Key, KeyRange
from tieout.model.moving import Held, Transfer
from tieout.model.positions import Position

_DIALECT = PostgresDialect()
_MOMENT = f"""SELECT pg_current_snapshot()::text, CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  ELSE pg_current_wal_insert_lsn() END::text, {write_ahead_log.IDENTITY}"""
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_OWN = {b"\\f": b"\f", b"\\v": b"\v"}


@dataclass(frozen=True)
class PostgresChunkSource:
    url: EndpointUrl

    @contextmanager
    def reading(self) -> Iterator[PostgresChunkReader]:
        with translated(self.url), closing(connect(self.url, "tieout mover")) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # The place is read behind the snapshot: what the snapshot saw was committed before it.
            snapshot, place, log = connection.execute(_MOMENT).fetchone()
            held = Held(Position(place).of_log(log, tail=self._marked()), snapshot)
            yield PostgresChunkReader(self.url, connection, held)

    def _marked(self) -> str:
        with closing(connect(self.url, "tieout mover")) as connection:
            return write_ahead_log.marked(connection)

    def texts(self, transfer: Transfer, *, alike: bool) -> Sequence[TextOf]:
        return texts_of(transfer, alike=alike)

    def chunks_of(self, transfer: Transfer, bounds: Sequence[Key], keys: Sequence[Key]) -> list[int]:
        statement = select.places_among(_DIALECT, key_scan(transfer), bounds, canonical_keys(transfer, keys))
        with translated(self.url), connect(self.url, "tieout mover") as connection:
            return [int(count) for _, count in connection.execute(statement).fetchall()]


@dataclass(frozen=True)
class PostgresChunkReader:
    url: EndpointUrl
    connection: Any
    held: Held

    def lines(self, transfer: Transfer, keys: KeyRange, *, alike: bool) -> Iterator[bytes]:
        columns = rendered(_DIALECT, transfer, alike=alike)
        statement = f"SELECT {columns} FROM {_DIALECT.table(transfer.source.name)}"
        if condition := select.within(_DIALECT, key_scan(transfer), keys):
            statement += f" WHERE {condition}"
        # Here: whoever takes the lines would take an error for its own.
        with translated(self.url):
            blocks = copied_lines(self.connection, f"COPY ({statement}) TO STDOUT".encode())
            yield from blocks if alike else map(_in_tab_form, blocks)


def _in_tab_form(block: bytes) -> bytes:
    """Without the escapes that PostgreSQL alone writes: MySQL takes \\f for an f."""
    if b"\\f" not in block and b"\\v" not in block:
        return block
    return _ESCAPED.sub(lambda found: _OWN.get(found[0], found[0]), block)
