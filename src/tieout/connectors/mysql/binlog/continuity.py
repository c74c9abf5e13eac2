"""Proves that a server's log goes on where another look at it ended: the same file, or the same transactions.

A file's name and an offset mean something in one log alone. After a failover, a RESET MASTER or a restored copy the
server may have a file of this name that is another one. So a position that is taken up again is looked for: first
in its file, if that was begun by the same server at the same moment and the same event lies before the place; then by
its GTIDs, whatever the files are called. The last transaction must then be of the same moment too: a server that was
put back to an earlier copy gives out numbers a second time.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog import kinds
from tieout.connectors.mysql.binlog.dump import NotThere, dumped
from tieout.connectors.mysql.binlog.groups import Groups
from tieout.connectors.mysql.binlog.gtids import GtidState
from tieout.connectors.mysql.binlog.server import file_sizes, position
from tieout.connectors.mysql.faults import translated
from tieout.connectors.mysql.session import connect
from tieout.errors import LogLostError
from tieout.model.positions import Position

_FIRST = 4
_BEGIN_ANEW = (
    "drop the task, empty its tables and begin anew; servers keep their logs for binlog_expire_logs_seconds, "
    "and on MySQL need GTIDs to be told apart"
)
_HEADS = frozenset({kinds.GTID_LIST, kinds.PREVIOUS_GTIDS})


@dataclass(frozen=True, slots=True)
class Head:
    """How a file begins: what tells it from others of its name, and the transactions that lie before it."""

    log: str
    gtids: GtidState | None


def resumed(url: EndpointUrl, after: Position) -> Position:
    """The place behind the same transactions in the log that the server has now. LogLostError if it can't be proven."""
    why = "it was kept by an older version, which did not tell logs apart"
    if after.log:
        try:
            with dumped(url, after):
                return after
        except NotThere as lost:
            why = str(lost)
    if not after.gtids:
        raise _lost(url, after, why)
    try:
        return _by_gtids(url, after)
    except NotThere as lost:
        raise _lost(url, after, str(lost)) from None


def _lost(url: EndpointUrl, after: Position, why: str) -> LogLostError:
    return LogLostError(f"{url.redacted()}: the log does not go on behind {after}: {why}", _BEGIN_ANEW)


def head_of(url: EndpointUrl, file: str) -> Head:
    """How a file of the log begins. NotThere if the server has none of this name."""
    with dumped(url, Position(f"{file}:{_FIRST}")) as dump:
        events, log = dump.events, dump.events.log
        for kind, *_, body in events:
            if kind in _HEADS:
                state = GtidState.listed(body) if kind == kinds.GTID_LIST else GtidState.previous(body)
                return Head(log, state)
            if kind not in kinds.SILENT:
                break
        return Head(log, None)


def identified(url: EndpointUrl, place: Position) -> Position:
    """A position of a server's log, as the server just told it, with the identity of its file."""
    try:
        return place.of_log(head_of(url, place.file).log)
    except NotThere as lost:
        raise LogLostError(f"{url.redacted()}: {place.file} is gone: {lost}", "the log was begun anew") from None


def _by_gtids(url: EndpointUrl, after: Position) -> Position:
    wanted = GtidState.of(after.gtids)
    with translated(url), closing(connect(url)) as connection:
        files = list(file_sizes(connection))
    begin = _first_file(url, files, wanted, whole=bool(after.commit))
    with dumped(url, Position(f"{begin}:{_FIRST}")) as dump:
        return _reached(dump.events, wanted, after)


def _first_file(url: EndpointUrl, files: list[str], wanted: GtidState, *, whole: bool) -> str:
    """The last file that begins before the end of these transactions; `whole`: and has the last one of them."""
    for file in reversed(files):
        found = head_of(url, file).gtids
        if found is None or not found.is_within(wanted):
            continue
        if whole and str(found) == str(wanted) and file != files[0]:
            continue
        return file
    raise NotThere(f"no file of it begins before {wanted}")


def _reached(events: Any, wanted: GtidState, after: Position) -> Position:
    groups, state, at, goal = Groups(), GtidState(), "", str(wanted)
    for event in events:
        kind, when, *_, end, body = event
        if kind in _HEADS:
            state = GtidState.listed(body) if kind == kinds.GTID_LIST else GtidState.previous(body)
        elif kind in (kinds.GTID, kinds.MYSQL_GTID):
            if str(state) == goal:
                break  # the file begins behind the last transaction, and has the next one
            at = str(when)
        if groups.ends_with(event):
            state.add(groups.gtid.text or groups.mysql_gtid)
            if str(state) == goal:
                return _proven(position(events.file, end, goal), events, after, at)
            if not state.is_within(wanted):
                raise NotThere(f"it comes to {state}, and never to {wanted} alone")
    if str(state) != goal:
        raise NotThere(f"it has come to {state or 'no transaction'}, and {wanted} was reached before")
    return _proven(position(events.file, _FIRST, goal), events, after, at)


def _proven(place: Position, events: Any, after: Position, at: str) -> Position:
    if after.commit and at and at != after.commit:
        raise NotThere("it has another transaction of the same GTID: it was put back to an earlier copy")
    return place.of_log(events.log, tail=events.tail if place.offset > _FIRST else "", commit=after.commit)
