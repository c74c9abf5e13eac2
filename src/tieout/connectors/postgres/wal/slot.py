"""Replication slots: the server keeps its log for them from the moment they are created until they are dropped.

One connection at a time can use a slot; others wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import stamina

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.errors import (
    DUPLICATE_OBJECT,
    OF_SLOTS,
    SLOT_IN_USE,
    START_OVER,
    UNDEFINED_OBJECT,
    translated,
)
from tieout.connectors.postgres.wal import write_ahead_log
from tieout.connectors.postgres.wal.publication import note_as_in, publish, publish_more, unpublish
from tieout.connectors.postgres.wal.write_ahead_log import IDENTITY
from tieout.errors import LogLostError, UsageError
from tieout.model.positions import Position
from tieout.model.tables import TableName

_STATE = f"""SELECT confirmed_flush_lsn::text, restart_lsn::text, wal_status, active, pg_wal_lsn_diff(
  CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END, restart_lsn)::int8,
  {IDENTITY}
FROM pg_replication_slots WHERE slot_name = %s AND slot_type = 'logical'"""


@dataclass(frozen=True, slots=True)
class SlotState:
    """The server may forget what lies before `confirmed`. It keeps `retained` bytes of log, from `restart` on.

    `wal_status` comes from the server: reserved, extended, unreserved, or lost (then `restart` is None).
    """

    confirmed: Position
    restart: Position | None
    retained: int
    wal_status: str
    active: bool


def slot_state(connection: Any, url: EndpointUrl, slot: str) -> SlotState:
    """Raises LogLostError if the slot does not exist."""
    row = connection.execute(_STATE, [slot]).fetchone()
    if row is None or row[0] is None:
        raise LogLostError(f'{url.redacted()}: replication slot "{slot}" does not exist', START_OVER)
    confirmed, restart, wal_status, active, retained, log = row
    return SlotState(
        Position(confirmed).of_log(log),
        restart and Position(restart).of_log(log),
        retained or 0,
        wal_status or "lost",
        active,
    )


T = TypeVar("T")

_SECONDS = 30.0


def when_free(use: Callable[[], T]) -> T:
    """Returns what `use` returns. Calls it repeatedly while another connection uses the slot, for half a minute."""
    retries = stamina.retry_context(
        on=_in_use, attempts=None, timeout=_SECONDS, wait_initial=0.02, wait_max=0.2, wait_jitter=0.02
    )
    for attempt in retries:
        with attempt:
            return use()
    raise AssertionError("the last attempt returns or raises")


def _in_use(error: Exception) -> bool:
    return getattr(error, "sqlstate", None) == SLOT_IN_USE


_IS_OURS = "SELECT database = current_database() AND plugin = 'pgoutput' FROM pg_replication_slots WHERE slot_name = %s"


def create(url: EndpointUrl, slot: str, publication: str, tables: Sequence[TableName]) -> Position:
    """Creates slot and publication, with exactly these tables, and returns the position where the changes begin.

    Uses a slot or publication that exists. Waits for open transactions.
    """
    with _session(url) as connection:
        # Decoding looks up publications as of the time of a change, so the publication must exist first.
        publish(connection, publication, tables)
        _create_slot(connection, slot)
        begin = slot_state(connection, url, slot).confirmed
        write_ahead_log.marked(connection)  # a first transaction, which identifies the log later
        return begin


def add_tables(url: EndpointUrl, publication: str, tables: Sequence[TableName]) -> None:
    """Publishes these tables, too, and records their present definitions."""
    with _session(url) as connection:
        publish_more(connection, publication, tables)


def hand_over(url: EndpointUrl, joining: str, publication: str, tables: Sequence[TableName]) -> None:
    """Records the definitions of these tables that the publication `joining` has: those are followed so far."""
    with _session(url) as connection:
        note_as_in(connection, joining, publication, tables)


def drop(url: EndpointUrl, slot: str, publication: str) -> None:
    """Drops slot and publication, if they exist. Waits while another connection uses the slot."""
    with _session(url) as connection:
        when_free(lambda: _drop_slot(connection, slot))
        unpublish(connection, publication)


def lag(url: EndpointUrl, slot: str) -> SlotState:
    """The slot's position and what it costs the server. Raises LogLostError if the slot does not exist."""
    with _session(url) as connection:
        return slot_state(connection, url, slot)


def _create_slot(connection: Any, slot: str) -> None:
    import psycopg

    try:
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
    except psycopg.Error as error:
        if error.sqlstate != DUPLICATE_OBJECT:
            raise
        if connection.execute(_IS_OURS, [slot]).fetchone() != (True,):
            hint = "choose another name for the slot"
            raise UsageError(
                f'replication slot "{slot}" exists, and belongs to another database or is of another kind', hint
            ) from None


def _drop_slot(connection: Any, slot: str) -> None:
    import psycopg

    try:
        connection.execute("SELECT pg_drop_replication_slot(%s)", [slot])
    except psycopg.Error as error:
        if error.sqlstate != UNDEFINED_OBJECT:
            raise


@contextmanager
def _session(url: EndpointUrl) -> Iterator[Any]:
    with translated(url, OF_SLOTS), connect(url, "tieout log") as connection:
        yield connection
