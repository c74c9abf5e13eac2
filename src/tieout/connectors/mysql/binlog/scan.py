"""Ends of transactions, found without decoding a row."""

from __future__ import annotations

from tieout.connectors.mysql.binlog.events import EventStream
from tieout.connectors.mysql.binlog.gtids import GtidState
from tieout.connectors.mysql.binlog.server import position
from tieout.connectors.mysql.binlog.transactions import Groups
from tieout.model.positions import Position


def transaction_ends(events: EventStream, gtids: str | None, most_bytes: int, most: int) -> list[Position]:
    """Up to `most` ends, each so many bytes behind the last or a little more; the very last may be nearer.

    `gtids` are those reached where the events begin; None if nobody knows.
    """
    groups, reached = Groups(), GtidState.of(gtids or "")

    def at(file: str, end: int) -> Position:
        return position(file, end, "" if gtids is None else str(reached)).of_log(logs[file])

    logs: dict[str, str] = {}
    ends: list[Position] = []
    size, before, last = 0, events.offset, None
    for event in events:
        end = event[3]
        size += max(end - before, 0) if before else 0  # nothing, where a file begins
        before = end
        if not groups.ends_with(event):
            continue
        reached.add(groups.gtid.text or groups.mysql_gtid)
        logs[events.file] = events.log
        if size < most_bytes:
            last = events.file, end
            continue
        ends.append(at(events.file, end))
        size, last = 0, None
        if len(ends) == most:
            return ends
    if last:
        ends.append(at(*last))
    return ends
