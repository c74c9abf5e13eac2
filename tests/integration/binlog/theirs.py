"""The same log as mysql-replication reads it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tieout.config.urls import parse_url
from tieout.model.positions import Position

LACKING = (
    *("CHARACTER SET ucs2", "CHARACTER SET utf16", "CHARACTER SET utf32", "CHARACTER SET eucjpms"),  # other byte order
    *("CHARACTER SET big5", "CHARACTER SET euckr"),  # other characters
    "COMPRESSED",  # does not know the types
    *("ENUM('€'", "SET('€'"),  # takes all labels for UTF-8
)
"""What it can't read, or reads wrongly, in the words of a type."""


def their_rows(url: str, after: Position, upto: Position, tables: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Inserted rows, by table."""
    from pymysqlreplication import BinLogStreamReader  # type: ignore[import-untyped]
    from pymysqlreplication.row_event import WriteRowsEvent  # type: ignore[import-untyped]

    endpoint = parse_url(url)
    stream = BinLogStreamReader(
        connection_settings={
            "host": endpoint.host,
            "port": endpoint.port,
            "user": endpoint.user,
            "password": endpoint.password,
            "ssl_disabled": True,
        },
        server_id=4_000_000_007,
        log_file=after.file,
        log_pos=after.offset,
        resume_stream=True,
        only_events=[WriteRowsEvent],
        only_schemas=[endpoint.database],
        only_tables=tables,
    )
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        for event in stream:
            found.setdefault(event.table, []).extend(row["values"] for row in event.rows)
            if (stream.log_file, stream.log_pos) >= (upto.file, upto.offset):
                break
    finally:
        stream.close()
    return found


def agree(ours: Any, theirs: Any) -> bool:
    """Whether the library's value is ours in the form that it gives it."""
    if ours is None or theirs is None:
        # It has no form for dates with zeros in them, nor for a SET without members.
        return ours is theirs or ours == "" or "-00" in ours
    if isinstance(theirs, timedelta):
        # Fractions of negative times are wrong.
        return _duration(ours) == theirs or ours.startswith("-")
    if isinstance(theirs, Decimal):
        return Decimal(ours) == theirs
    if isinstance(theirs, (datetime, date)):
        return theirs.year == 1970 if ours.startswith("0000") else type(theirs).fromisoformat(ours) == theirs
    if isinstance(theirs, set):
        return set(ours.split(",")) == theirs
    if isinstance(ours, bytes):
        # It does not pad BINARY, and thinks that nothing is text.
        return ours.rstrip(b"\0") == (theirs or b"").rstrip(b"\0")
    return bool(ours == theirs) or (ours, theirs) == (0, 1900)


def _duration(text: str) -> timedelta:
    hours, minutes, seconds = text.lstrip("-").split(":")
    whole, _, fraction = seconds.partition(".")
    duration = timedelta(
        hours=int(hours), minutes=int(minutes), seconds=int(whole), microseconds=int(fraction.ljust(6, "0"))
    )
    return -duration if text.startswith("-") else duration
