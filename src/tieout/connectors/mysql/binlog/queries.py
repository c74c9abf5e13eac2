"""Statements in the log: the schema they were run in, and their text."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from tieout.connectors.mysql.binlog.compressed import inflated_event
from tieout.connectors.mysql.binlog.kinds import EXECUTE_LOAD, QUERY_COMPRESSED

_head_of = Struct("<IIBHH").unpack_from
_HEAD, _LOAD_HEAD = 13, 26

# Of the variables before a text: how long the values are that may stand before the client's character set.
_FLAGS, _SQL_MODE, _AUTO_INCREMENT, _CHARSET, _CATALOG = 0, 1, 3, 4, 6
_LENGTHS = {_FLAGS: 4, _SQL_MODE: 8, _AUTO_INCREMENT: 4}


@dataclass(frozen=True, slots=True)
class Query:
    """`raw` is in the character set of its client: `collation` names it by number, 0 if it is not told.

    `sql_mode` is that of the session, in bits; None if it is not told.
    """

    schema: str
    raw: bytes
    collation: int
    sql_mode: int | None = 0

    @property
    def text(self) -> str:
        """The text as far as it is ASCII: keywords, and most names."""
        return self.raw.decode("ascii", errors="replace")


def query_of(kind: int, body: bytes) -> Query:
    _, _, schema_length, _, variables_length = _head_of(body)
    head = _LOAD_HEAD if kind == EXECUTE_LOAD else _HEAD
    schema_at = head + variables_length
    text_at = schema_at + schema_length + 1
    raw = body[text_at:]
    sql_mode, collation = _told(body[head:schema_at])
    return Query(
        body[schema_at : text_at - 1].decode(),
        inflated_event(raw) if kind == QUERY_COMPRESSED else raw,
        collation,
        sql_mode,
    )


def _told(variables: bytes) -> tuple[int | None, int]:
    """The session's sql_mode, and the collation of its character set."""
    at, sql_mode = 0, None
    while at < len(variables):
        name = variables[at]
        if name == _SQL_MODE:
            sql_mode = int.from_bytes(variables[at + 1 : at + 9], "little")
        if name == _CHARSET:
            return sql_mode, int.from_bytes(variables[at + 1 : at + 3], "little")
        if name == _CATALOG:
            at += 2 + variables[at + 1]
        elif name in _LENGTHS:
            at += 1 + _LENGTHS[name]
        else:
            break
    return sql_mode, 0
