"""The write-ahead log: its end, and what distinguishes it from the logs of other servers."""

from __future__ import annotations

from secrets import token_hex
from typing import Any

from tieout.model.positions import Position

# A standby decodes what it has replayed. The control file has a new timeline only after its first checkpoint.
IDENTITY = """(SELECT concat_ws('.', system_identifier,
  CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int END,
  (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8) FROM pg_control_system())"""
"""System identifier, timeline and start time of the server: while it runs, nobody can restore an earlier copy."""

_ENDS = f"""SELECT
CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text,
CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END::text, {IDENTITY}"""
PREFIX = "tieout"
"""The prefix of our own messages in the log."""


def identity(connection: Any) -> str:
    return str(connection.execute(f"SELECT {IDENTITY}").fetchone()[0])


def end(connection: Any) -> Position:
    """A position after everything that was committed before this call, between two records, and flushed: decoding
    reaches it.

    A commit with synchronous_commit = off is visible before it is flushed, so the insert position, not the flush
    position, is after all commits. The flush position may even be inside a record.
    """
    inserted, flushed, log = connection.execute(_ENDS).fetchone()
    found = Position(inserted)
    if not Position(flushed).reaches(found):
        emit(connection, "")
    return found.of_log(log)


def last_record(connection: Any) -> Position:
    """The end of the log, flushed or not."""
    inserted, _, log = connection.execute(_ENDS).fetchone()
    return Position(inserted).of_log(log)


def is_standby(connection: Any) -> bool:
    """A standby has no log of its own to write to."""
    return bool(connection.execute("SELECT pg_is_in_recovery()").fetchone()[0])


def marked(connection: Any) -> str:
    """Writes a message to the log and returns its position and text; "" on a standby.

    A log that has this message at this position is the same log up to there.
    """
    if is_standby(connection):
        return ""
    text = token_hex(8)
    return f"{emit(connection, text)}.{text}"


def emit(connection: Any, text: str) -> str:
    """Writes a message to the log, flushes it, and returns the position of its end.

    No function only flushes. A commit does, if its transaction wrote something. The WAL writer would flush the commits
    of others, but not what an open transaction has written so far.
    """
    with connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = local")
        row = connection.execute("SELECT pg_logical_emit_message(true, %s, %s)::text", [PREFIX, text]).fetchone()
        return str(row[0])
