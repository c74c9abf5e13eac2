"""What pgoutput says of a table before its first change."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tieout.model.changes import LogTable
from tieout.model.tables import TableName

_OID = struct.Struct(">xI")
_COLUMNS = struct.Struct(">xH")
_TYPE = struct.Struct(">Ii")


@dataclass(frozen=True, slots=True)
class Relation:
    """`identity` says of each column whether old images hold it."""

    oid: int
    table: LogTable
    identity: tuple[bool, ...]

    @property
    def whole(self) -> tuple[bool, ...]:
        """All columns, as `identity` would name them."""
        return (True,) * len(self.identity)


def described(message: bytes) -> Relation:
    """The table that a Relation message describes."""
    (oid,) = _OID.unpack_from(message)
    schema, at = _name(message, _OID.size)
    name, at = _name(message, at)
    (count,) = _COLUMNS.unpack_from(message, at)  # behind the kind of replica identity
    at += _COLUMNS.size
    columns, identity = [], []
    for _ in range(count):
        identity.append(bool(message[at] & 1))
        column, at = _name(message, at + 1)
        columns.append(column)
        at += _TYPE.size
    return Relation(oid, LogTable(TableName(schema or "pg_catalog", name), tuple(columns)), tuple(identity))


def _name(message: bytes, at: int) -> tuple[str, int]:
    """A name that ends with a zero, and where the next thing begins."""
    end = message.index(0, at)
    return message[at:end].decode(), end + 1
