"""How MySQL's values are written in tab form: by its own SQL in chunks, by us where they come from the log."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pyarrow as pa

from tieout.connectors import tabs
from tieout.connectors.moving import TextOf
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.moving.lines import Fields
from tieout.model.moving import Transfer
from tieout.model.tables import Column
from tieout.model.types import TypeName

_BYTES = {TypeName.BINARY, TypeName.OPAQUE}


def rendered(dialect: MySQLDialect, transfer: Transfer) -> tuple[str, Fields]:
    """The columns to select, and which of them come in tab form already."""
    parts = [_rendered(dialect, source, target) for source, target in transfer.columns]
    ready = frozenset(
        place for place, (source, target) in enumerate(transfer.columns) if _is_hex(source) and not _wants_uuid(target)
    )
    return ", ".join(parts), Fields(len(parts), ready)


def _rendered(dialect: MySQLDialect, source: Column, target: Column) -> str:
    name, reference = source.type.name, dialect.quote(source.name)
    if _is_hex(source):
        # The sessions take a backslash as it is: two of them are one in tab form.
        return f"HEX({reference})" if _wants_uuid(target) else f"CONCAT('\\\\x', LOWER(HEX({reference})))"
    if name is TypeName.FLOAT32:
        return f"CAST({reference} AS DOUBLE)"  # as text, a FLOAT has six digits
    if name is TypeName.BITS:
        if target.type.name in (TypeName.INTEGER, TypeName.DECIMAL, TypeName.BOOLEAN):
            return f"CAST({reference} AS UNSIGNED)"
        return f"LPAD(BIN({reference} + 0), {source.type.precision or 1:d}, '0')"
    if name is TypeName.YEAR:
        return f"CAST({reference} AS UNSIGNED)"  # or a year 0 is 0000
    return reference


def texts_of(transfer: Transfer) -> Sequence[TextOf]:
    return [_text_of(source, target) for source, target in transfer.columns]


def _text_of(source: Column, target: Column) -> TextOf:
    name, native = source.type.name, source.type.native.lower()
    if _is_hex(source) and _wants_uuid(target):
        return lambda values: _each(values, lambda value: value.hex())
    if name is TypeName.UUID:
        return lambda values: _each(values, _uuid)
    if native in ("inet4", "inet6"):
        return lambda values: _each(values, _address)
    if name is TypeName.BITS and target.type.name in (TypeName.INTEGER, TypeName.DECIMAL, TypeName.BOOLEAN):
        return lambda values: _each(values, lambda value: str(int(value, 2)))
    return tabs.texts


def _is_hex(column: Column) -> bool:
    return column.type.name in _BYTES


def _wants_uuid(column: Column) -> bool:
    return column.type.name is TypeName.UUID


def _each(values: list[object], text: object) -> pa.Array:
    assert callable(text)
    return pa.array([None if value is None else text(value) for value in values], pa.large_string())


def _uuid(value: bytes) -> str:
    """A UUID as MariaDB keeps it: its parts from the last to the first, unless its version is 6 or higher."""
    if value[6] >> 4 >= 6 and value[8] & 0x80:
        return str(UUID(bytes=value))
    return str(UUID(bytes=value[12:16] + value[10:12] + value[8:10] + value[6:8] + value[0:6]))


def _address(value: bytes) -> str:
    from ipaddress import ip_address

    return str(ip_address(value))
