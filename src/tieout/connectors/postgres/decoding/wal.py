"""The end of the write-ahead log."""

from __future__ import annotations

from typing import Any

from tieout.model.positions import Position

# A standby decodes what it has replayed.
_ENDS = """SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END,
CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END"""


def end(connection: Any) -> Position:
    """Behind whatever was committed before this call, between two records, and flushed: decoding reaches it.

    A commit with synchronous_commit = off is visible before it is flushed, so it is the insert position that lies
    behind all commits. The flush position may even lie inside of a record.
    """
    inserted, flushed = (Position(text) for text in connection.execute(_ENDS).fetchone())
    if not flushed.reaches(inserted):
        _flush(connection)
    return inserted


def last_record(connection: Any) -> Position:
    """The end as it is, flushed or not."""
    inserted, _ = connection.execute(_ENDS).fetchone()
    return Position(inserted)


def _flush(connection: Any) -> None:
    # There is no function that only flushes. A commit does, if its transaction wrote something. The WAL writer would
    # flush the commits of others, but leaves what an open transaction has written so far.
    with connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = local")
        connection.execute("SELECT pg_logical_emit_message(true, 'tieout', '')")
