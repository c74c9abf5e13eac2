"""Replication slots: the server keeps its log for them, from the moment they are created until they are dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.session import connect
from tieout.connectors.postgres.wal import write_ahead_log
from tieout.connectors.postgres.wal.faults import DUPLICATE, UNDEFINED, slot_faults
from tieout.connectors.postgres.wal.publication import publish, unpublish
from tieout.connectors.postgres.wal.slot_lock import when_free
from tieout.connectors.postgres.wal.state import SlotState, slot_state
from tieout.errors import UsageError
from tieout.model.positions import Position
from tieout.model.tables import TableName

__all__ = ["SlotState", "create", "drop", "lag"]

_IS_OURS = "SELECT database = current_database() AND plugin = 'pgoutput' FROM pg_replication_slots WHERE slot_name = %s"


def create(url: EndpointUrl, slot: str, publication: str, tables: Sequence[TableName]) -> Position:
    """Where the slot's changes begin. What exists of slot and publication is used, with exactly these tables.

    Waits for the transactions that are open.
    """
    with _session(url) as connection:
        # Decoding looks publications up as they were at the time of a change: this one must be there first.
        publish(connection, publication, tables)
        _create_slot(connection, slot)
        begin = slot_state(connection, url, slot).confirmed
        write_ahead_log.marked(connection)  # a first transaction, by which the log is known again
        return begin


def drop(url: EndpointUrl, slot: str, publication: str) -> None:
    """Nothing happens if they are gone. Waits while the slot is in use."""
    with _session(url) as connection:
        when_free(lambda: _drop_slot(connection, slot))
        unpublish(connection, publication)


def lag(url: EndpointUrl, slot: str) -> SlotState:
    """Where the slot stands, and what it costs the server. LogLostError if it is gone."""
    with _session(url) as connection:
        return slot_state(connection, url, slot)


def _create_slot(connection: Any, slot: str) -> None:
    import psycopg

    try:
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
    except psycopg.Error as error:
        if error.sqlstate != DUPLICATE:
            raise
        if connection.execute(_IS_OURS, [slot]).fetchone() != (True,):
            hint = "choose another name for the slot"
            raise UsageError(f'replication slot "{slot}" exists, and is of another database or kind', hint) from None


def _drop_slot(connection: Any, slot: str) -> None:
    import psycopg

    try:
        connection.execute("SELECT pg_drop_replication_slot(%s)", [slot])
    except psycopg.Error as error:
        if error.sqlstate != UNDEFINED:
            raise


@contextmanager
def _session(url: EndpointUrl) -> Iterator[Any]:
    with slot_faults(url), connect(url, "tieout log") as connection:
        yield connection
