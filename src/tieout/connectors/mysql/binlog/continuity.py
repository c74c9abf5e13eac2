"""Proves that a server's log continues where an earlier read of it ended: the same file, or the same transactions.

A file's name and an offset mean something in one log only. After a failover, a RESET MASTER or a restored copy, the
server may have another file of this name. So a position is searched for before it is used again: first in its file, if
the same server started that file at the same moment and the same events lie before the position; then by its GTIDs,
whatever the files are called. The last transaction of each domain must then have the same timestamp too: a server that
was restored from an earlier copy hands out numbers a second time. It may do so within the same second: a transaction
that the same server has in a file of the same name, but not in the file that was read, is another one. And none may be
missing before it: somebody who recovers a server from its own log leaves out what was a mistake, and the target has it.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.dump import NotThere, dumped
from tieout.connectors.mysql.binlog.server import file_sizes, position
from tieout.connectors.mysql.binlog.transactions import Groups, GtidState, gtid_of, is_mixed, lineage_of, mysql_gtid
from tieout.connectors.mysql.session import MySQLSession
from tieout.errors import LogLostError
from tieout.model.positions import Position, commit_of, moments_of

_FIRST = 4
_START_OVER = (
    "drop the task, empty its tables and start over; servers keep their logs for binlog_expire_logs_seconds, "
    "and MySQL needs GTIDs to tell logs apart"
)
_RESTORED = "it has another transaction with the same GTID: it was restored from an earlier copy"
_HEADS = frozenset({codes.GTID_LIST, codes.PREVIOUS_GTIDS})
_NAMES = frozenset({codes.GTID, codes.MYSQL_GTID})


@dataclass(frozen=True, slots=True)
class Head:
    """How a file starts: what distinguishes it from others of its name, and the transactions that lie before it.

    `mixed`: several servers wrote to one domain, perhaps side by side: its last number does not say which are there.
    """

    log: str
    gtids: GtidState | None
    mixed: bool = False


def resumed(url: EndpointUrl, after: Position) -> Position:
    """The position after the same transactions in the server's present log. LogLostError if nothing proves it."""
    if not after.log:
        return _upgraded(url, after)
    try:
        with dumped(url, after):
            return after
    except NotThere as reason:
        why = str(reason)
    if not after.gtids:
        raise _lost(url, after, why)
    try:
        return _by_gtids(url, after)
    except NotThere as reason:
        raise _lost(url, after, str(reason)) from None


def _upgraded(url: EndpointUrl, after: Position) -> Position:
    """The position that an older version stored, if everything in it is true of this log."""
    found = None
    with suppress(NotThere):
        found = proven(url, after)
    if found is None or not after.gtids or found.gtids != after.gtids:
        raise _lost(url, after, "an older version stored it, which could not tell logs apart")
    return found


def proven(url: EndpointUrl, place: Position) -> Position:
    """The end of a transaction that the server has just reported, with what proves it later. Reads all of the file.

    NotThere if no event of the file ends there.
    """
    state, moments = GtidState(), dict[str, str]()
    with dumped(url, Position(f"{place.file}:{_FIRST}")) as dump:
        events = dump.events
        for event in events:
            kind, when, server, end, body = event
            if events.file != place.file or end > place.offset:
                break
            if kind in _HEADS:
                state = _head(kind, body)
            elif kind in _NAMES:
                moments[lineage_of(kind, body)] = str(when)
                state.add(gtid_of(server, body).text if kind == codes.GTID else mysql_gtid(body))
            if end == place.offset:
                found = position(place.file, end, str(state))
                return found.of_log(events.log, tail=events.tail, commit=commit_of(moments))
    raise NotThere("no event ends there")


def _lost(url: EndpointUrl, after: Position, why: str) -> LogLostError:
    return LogLostError(f"{url.redacted()}: the log does not continue after {after}: {why}", _START_OVER)


def head_of(url: EndpointUrl, file: str) -> Head:
    """How a file of the log starts. NotThere if the server has no file of this name."""
    with dumped(url, Position(f"{file}:{_FIRST}")) as dump:
        events, log = dump.events, dump.events.log
        for kind, *_, body in events:
            if kind in _HEADS:
                return Head(log, _head(kind, body), mixed=kind == codes.GTID_LIST and is_mixed(body))
            if kind not in codes.SILENT:
                break
        return Head(log, None)


def _head(kind: int, body: bytes) -> GtidState:
    return GtidState.listed(body) if kind == codes.GTID_LIST else GtidState.previous(body)


def identified(url: EndpointUrl, place: Position) -> Position:
    """A position that the server has just reported, with the identity of its file."""
    try:
        return place.of_log(head_of(url, place.file).log)
    except NotThere as reason:
        raise LogLostError(
            f"{url.redacted()}: {place.file} is gone: {reason}", "the server started a new log"
        ) from None


def _by_gtids(url: EndpointUrl, after: Position) -> Position:
    wanted = GtidState.of(after.gtids)
    with closing(MySQLSession(url)) as session:
        files = list(file_sizes(session))
    if (found := _next_file(url, files[0], after)) is not None:
        return found
    begin = _first_file(url, files, wanted)
    with dumped(url, Position(f"{begin}:{_FIRST}")) as dump:
        found = _reached(dump.events, wanted)
    _require_moments(url, files[: files.index(begin)], moments_of(after.commit), moments_of(found.commit))
    if found.file == after.file and found.server == after.server:
        raise NotThere(_RESTORED)  # it is another file, or it would have been found without GTIDs
    return found.with_commit_of(after)


def _next_file(url: EndpointUrl, file: str, after: Position) -> Position | None:
    """The start of the oldest file, if it follows the file that was read to its end and has gone since."""
    head = head_of(url, file)
    if head.gtids is None or head.mixed:
        return None
    found = position(file, _FIRST, str(head.gtids)).of_log(head.log, commit=after.commit)
    follows = found.place[0] == after.place[0] + 1 and found.is_same_log(after)
    return found if follows and found.gtids == after.gtids else None


def _first_file(url: EndpointUrl, files: list[str], wanted: GtidState) -> str:
    """The last file that starts before the end of these transactions, so that it has the last one of them."""
    for file in reversed(files):
        found = head_of(url, file).gtids
        if found is None or not found.is_within(wanted):
            continue
        if str(found) != str(wanted):
            return file
    raise NotThere(f"none of its files starts before {wanted}")


def _reached(events: Any, wanted: GtidState) -> Position:
    groups, state, moments, goal = Groups(), GtidState(), dict[str, str](), str(wanted)
    for event in events:
        kind, when, *_, end, body = event
        if kind in _HEADS:
            state = _head(kind, body)
        elif kind in _NAMES:
            moments[lineage_of(kind, body)] = str(when)
        if groups.ends_with(event):
            if not state.is_next(groups.gtid.text):
                raise NotThere(f"it lacks the transactions between {state} and {groups.gtid.text}")
            state.add(groups.gtid.text or groups.mysql_gtid)
            if str(state) == goal:
                found = position(events.file, end, goal)
                return found.of_log(events.log, tail=events.tail, commit=commit_of(moments))
            if not state.is_within(wanted):
                raise NotThere(f"it reaches {state}, and never exactly {wanted}")
    raise NotThere(f"it ends at {state or 'no transaction'}, before {wanted}")


def _require_moments(url: EndpointUrl, files: list[str], wanted: dict[str, str], found: dict[str, str]) -> None:
    """Raises NotThere unless the last transaction of each domain (or server) is the one that was read before.

    `files` lie before those in which the moments were found. What none of them has was purged long ago.
    """
    if not wanted:
        raise NotThere("nothing proves that its last transaction is the same one, and not another with the same GTID")
    if "" in wanted:  # an earlier version stored only the last one
        wanted = {max(found, key=lambda lineage: int(found[lineage])): wanted[""]}
    found = dict(found)
    for file in reversed(files):
        if wanted.keys() <= found.keys():
            break
        found = {**_moments(url, file), **found}
    for lineage, moment in wanted.items():
        if found.get(lineage, moment) != moment:
            raise NotThere(_RESTORED)


def _moments(url: EndpointUrl, file: str) -> dict[str, str]:
    """When the server wrote the last transaction of each lineage in a file."""
    moments = {}
    with dumped(url, Position(f"{file}:{_FIRST}")) as dump:
        events = dump.events
        for kind, when, *_, body in events:
            if events.file != file:
                break
            if kind in _NAMES:
                moments[lineage_of(kind, body)] = str(when)
    return moments
