"""Where a slot stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.wal.faults import START_ANEW
from tieout.connectors.postgres.wal.write_ahead_log import IDENTITY
from tieout.errors import LogLostError
from tieout.model.positions import Position

_STATE = f"""SELECT confirmed_flush_lsn::text, restart_lsn::text, wal_status, active, pg_wal_lsn_diff(
  CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END, restart_lsn)::int8,
  {IDENTITY}
FROM pg_replication_slots WHERE slot_name = %s AND slot_type = 'logical'"""


@dataclass(frozen=True, slots=True)
class SlotState:
    """What lies before `confirmed` is forgotten. The server keeps `retained` bytes of log, from `restart` on.

    `wal_status` is the server's word: reserved, extended, unreserved, or lost (then `restart` is None).
    """

    confirmed: Position
    restart: Position | None
    retained: int
    wal_status: str
    active: bool


def slot_state(connection: Any, url: EndpointUrl, slot: str) -> SlotState:
    """LogLostError if there is no such slot."""
    row = connection.execute(_STATE, [slot]).fetchone()
    if row is None or row[0] is None:
        raise LogLostError(f'{url.redacted()}: replication slot "{slot}" does not exist', START_ANEW)
    confirmed, restart, wal_status, active, retained, log = row
    return SlotState(
        Position(confirmed).of_log(log),
        restart and Position(restart).of_log(log),
        retained or 0,
        wal_status or "lost",
        active,
    )
