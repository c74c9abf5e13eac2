"""Transactions in a log: their names (GTIDs), how far a log has come by them, where they start and end."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct

from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.byte_reader import Cursor
from tieout.connectors.mysql.binlog.ddl_tokens import Rules
from tieout.connectors.mysql.binlog.events import Event
from tieout.connectors.mysql.binlog.statements import Meaning, Query, meaning, query_of, xid_of

_event_of = Struct("<QIB").unpack_from
_listed_of = Struct("<IIQ").iter_unpack

_STANDALONE, _COMMIT_ID, _PREPARED_XA, _COMPLETED_XA = 1, 2, 64, 128
_START_ALTER, _ROLLBACK_ALTER = 2, 8
_LISTED = (1 << 28) - 1
"""The bits in the head of a list that count its GTIDs."""


@dataclass(frozen=True, slots=True)
class Gtid:
    """MariaDB's event before a transaction.

    `standalone`: the transaction is just the next statement. `prepared`, `completed`: the two halves of an XA
    transaction, whose name is `xid`. `undone`: an ALTER TABLE that only starts here, or that failed in the end.
    """

    domain: int
    text: str
    standalone: bool
    prepared: bool = False
    completed: bool = False
    undone: bool = False
    xid: bytes = b""


def gtid_of(server: int, body: bytes) -> Gtid:
    sequence, domain, flags = _event_of(body)
    at = 21 if flags & _COMMIT_ID else 13
    xid = b""
    if flags & (_PREPARED_XA | _COMPLETED_XA):
        xid = body[at : at + 6 + body[at + 4] + body[at + 5]]
        at += len(xid)
    more = body[at] if at < len(body) else 0  # the rest of a short event is zeros
    return Gtid(
        domain,
        f"{domain}-{server}-{sequence}",
        standalone=bool(flags & _STANDALONE),
        prepared=bool(flags & _PREPARED_XA),
        completed=bool(flags & _COMPLETED_XA),
        undone=bool(more & (_START_ALTER | _ROLLBACK_ALTER)),
        xid=xid,
    )


def mysql_gtid(body: bytes) -> str:
    """MySQL's name for a transaction: server and number."""
    return f"{uuid.UUID(bytes=body[1:17])}:{int.from_bytes(body[17:25], 'little')}"


def lineage_of(kind: int, body: bytes) -> str:
    """The series that the number of a GTID event belongs to: a domain (MariaDB), or a server (MySQL)."""
    return str(int.from_bytes(body[8:12], "little")) if kind == codes.GTID else body[1:17].hex()


def is_mixed(body: bytes) -> bool:
    """Whether the event that starts a MariaDB file has GTIDs of several servers in one domain."""
    count = int.from_bytes(body[:4], "little") & _LISTED
    return len({domain for domain, *_ in _listed_of(body[4 : 4 + 16 * count])}) != count


@dataclass
class GtidState:
    """The transactions that a log has reached: the last one of each domain (MariaDB), or a set of them (MySQL).

    In a domain, a server uses each number once; a transaction with a lower number lies before.
    """

    domains: dict[int, str] = field(default_factory=dict)
    servers: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> GtidState:
        """Parses either form. ValueError for anything else."""
        state = cls()
        for part in filter(None, text.split(",")):
            if ":" not in part:
                state.add(part)
                continue
            server, *intervals = part.split(":")
            for interval in intervals:
                low, _, high = interval.partition("-")
                state._add_interval(server, int(low), int(high or low))
        return state

    @classmethod
    def listed(cls, body: bytes) -> GtidState:
        """From the event that starts a MariaDB file."""
        count = int.from_bytes(body[:4], "little") & _LISTED
        state = cls()
        # A domain may have one for each server that wrote to it; the last one is the highest.
        for domain, server, number in sorted(_listed_of(body[4 : 4 + 16 * count]), key=lambda each: each[2]):
            state.domains[domain] = f"{domain}-{server}-{number}"
        return state

    @classmethod
    def previous(cls, body: bytes) -> GtidState:
        """From the event that starts a MySQL file."""
        cursor, state = Cursor(body), cls()

        def number() -> int:
            return int.from_bytes(cursor.take(8), "little")

        for _ in range(number()):
            server = str(uuid.UUID(bytes=cursor.take(16)))
            for _ in range(number()):
                low, behind = number(), number()
                state._add_interval(server, low, behind - 1)
        return state

    def add(self, gtid: str) -> None:
        if ":" in gtid:
            server, _, number = gtid.partition(":")
            self._add_interval(server, int(number), int(number))
        elif gtid:
            domain, _, _ = gtid.split("-")
            self.domains[int(domain)] = gtid

    def is_next(self, gtid: str) -> bool:
        """Whether no number is missing before a MariaDB GTID, as far as its domain is known."""
        before = self.domains.get(int(gtid.partition("-")[0])) if gtid else None
        return before is None or _number(gtid) <= _number(before) + 1

    def _add_interval(self, server: str, low: int, high: int) -> None:
        merged: list[tuple[int, int]] = []
        for begin, end in sorted([*self.servers.get(server, []), (low, high)]):
            if merged and begin <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((begin, end))
        self.servers[server] = merged

    def is_within(self, other: GtidState) -> bool:
        """Whether a log that has reached `other` has all of these transactions, by their numbers."""
        return all(
            domain in other.domains and _number(gtid) <= _number(other.domains[domain])
            for domain, gtid in self.domains.items()
        ) and all(
            any(begin <= low and high <= end for begin, end in other.servers.get(server, []))
            for server, intervals in self.servers.items()
            for low, high in intervals
        )

    def __bool__(self) -> bool:
        return bool(self.domains or self.servers)

    def __str__(self) -> str:
        return ",".join(self._texts())

    def _texts(self) -> Iterator[str]:
        for domain in sorted(self.domains):
            yield self.domains[domain]
        for server, intervals in sorted(self.servers.items()):
            ranges = (f"{low}-{high}" if high > low else f"{low}" for low, high in intervals)
            yield ":".join([server, *ranges])


def _number(gtid: str) -> int:
    return int(gtid.rpartition("-")[2])


_UNNAMED = Gtid(0, "", standalone=True)

_MARKS = frozenset(
    {
        *(codes.GTID, codes.MYSQL_GTID, codes.MYSQL_ANONYMOUS),
        *(codes.QUERY, codes.QUERY_COMPRESSED, codes.XID, codes.XA_PREPARE),
    }
)


class Groups:
    """Tracks transactions in a log, from the end of one on.

    `gtid` names the transaction of the last event (MariaDB; `mysql_gtid` does on MySQL), `open` says whether more of it
    follows. `query` is the text in the last event, if it has one, and `meant` what it means.
    """

    def __init__(self) -> None:
        self.gtid = _UNNAMED
        self.name = ""
        self.mysql_gtid = ""
        self.open = False
        self.query: Query | None = None
        self.meant = Meaning.OTHER

    def ends_with(self, event: Event) -> bool:
        """Whether the next event is the last one of its transaction."""
        kind, _, server, _, body = event
        self.query = None
        if kind not in _MARKS:
            return False
        if kind == codes.GTID:
            self.gtid = gtid_of(server, body)
            self.name, self.open = self.gtid.text, not self.gtid.standalone
            return False
        if kind == codes.XID:
            self.name = self.name or str(int.from_bytes(body[:8], "little"))
            return self._close()
        if kind in (codes.QUERY, codes.QUERY_COMPRESSED):
            return self._ends_with_query(query_of(kind, body))
        if kind == codes.XA_PREPARE:
            return self._close()
        self.mysql_gtid = mysql_gtid(body) if kind == codes.MYSQL_GTID else ""
        self.gtid, self.name = _UNNAMED, self.mysql_gtid
        return False

    def _ends_with_query(self, query: Query) -> bool:
        self.query, self.meant = query, meaning(query.text, Rules(query.sql_mode))
        if self.meant is Meaning.BEGIN:
            self.open = True
            return False
        if self.meant is Meaning.XA_START:  # MariaDB has all this in the GTID event of an XA transaction
            self.gtid, self.open = Gtid(0, "", standalone=False, prepared=True, xid=xid_of(query.text)), True
            return False
        if self.meant in (Meaning.XA_COMMIT, Meaning.XA_ROLLBACK) and not self.gtid.completed:
            self.gtid = Gtid(0, "", standalone=True, completed=True, xid=xid_of(query.text))
        if self.meant in (Meaning.COMMIT, Meaning.ROLLBACK):
            return self._close()
        return not self.open

    def _close(self) -> bool:
        self.open = False
        return True
