"""GTIDs: the names of transactions, and how far a log has come in each domain."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from struct import Struct

_event_of = Struct("<QIB").unpack_from

_STANDALONE, _COMMIT_ID, _PREPARED_XA, _COMPLETED_XA = 1, 2, 64, 128
_START_ALTER, _ROLLBACK_ALTER = 2, 8


@dataclass(frozen=True, slots=True)
class Gtid:
    """What MariaDB says of a transaction before its events.

    `standalone`: the next statement is all of it. `prepared`, `completed`: the two halves of an XA transaction,
    whose name is `xid`. `undone`: an ALTER TABLE that only begins here, or that failed in the end.
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
    """MySQL's name of a transaction: server and number."""
    return f"{uuid.UUID(bytes=body[1:17])}:{int.from_bytes(body[17:25], 'little')}"


def domains(gtids: str) -> dict[int, str]:
    """The last GTID of each domain, from their text."""
    return {int(gtid.partition("-")[0]): gtid for gtid in gtids.split(",") if gtid}


def gtids_text(reached: dict[int, str]) -> str:
    return ",".join(reached[domain] for domain in sorted(reached))


def goes_back(before: str, after: str) -> bool:
    """Whether a log that had reached `before` was begun anew: a server's numbers are smaller, or no domain is left."""
    earlier, later = domains(before), domains(after)
    common = earlier.keys() & later.keys()
    if not common:
        return bool(earlier)
    return any(_is_smaller(later[domain], earlier[domain]) for domain in common)


def _is_smaller(gtid: str, other: str) -> bool:
    _, server, number = gtid.split("-")
    _, other_server, other_number = other.split("-")
    return server == other_server and int(number) < int(other_number)
