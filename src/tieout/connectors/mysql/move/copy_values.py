"""MySQL's values as COPY text: rendered by SQL in chunks, and by Python where they come from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

import pyarrow as pa

from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.protocol.rows import RAW, Fields
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.move import TextOf
from tieout.connectors.sql import copy_text
from tieout.connectors.sql.copy_text import MARK, marked, most_letters
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.moves import Transfer
from tieout.model.tables import Column
from tieout.model.types import TypeName

_BYTES = {TypeName.BINARY, TypeName.OPAQUE}
_NUMBERS = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.BOOLEAN}
_SHORT = 65_535
"""Bytes whose hexadecimal digits are a text that every server can make."""

# In these sessions a backslash is a plain letter: two of them are one in COPY text.
_MARK = "'\\\\x'"


def rendered(dialect: MySQLDialect, transfer: Transfer) -> tuple[str, Fields]:
    """What to select, and which of it is COPY text already."""
    parts: list[str] = []
    ready: set[int] = set()
    joined: set[int] = set()
    for source, target in transfer.columns:
        reference = dialect.quote(source.name)
        if _may_be_long(source) and target.type.name is not TypeName.UUID:
            ready.add(len(parts))
            joined.add(len(parts) + 1)
            parts += _long_bytes(reference, source)
            continue
        part = _rendered(reference, source, target)
        if part.startswith(f"CONCAT({_MARK}"):
            ready.add(len(parts))
        parts.append(part)
    return ", ".join(parts), Fields(len(parts), frozenset(ready), frozenset(joined))


def _long_bytes(reference: str, source: Column) -> list[str]:
    """A mark, then the value: as hexadecimal digits, or as it is if its digits exceed what a function may return.

    The function would return NULL.
    """
    value = reference if source.type.name is TypeName.BINARY else f"CAST({reference} AS BINARY)"
    is_long = f"LENGTH({value}) > @@max_allowed_packet DIV 4"
    return [
        f"IF({reference} IS NULL, NULL, IF({is_long}, {quoting.octets(RAW)}, {_MARK}))",
        f"IF({is_long}, {value}, HEX({value}))",
    ]


def _rendered(reference: str, source: Column, target: Column) -> str:
    name = source.type.name
    if name in _BYTES:
        return f"HEX({reference})" if target.type.name is TypeName.UUID else f"CONCAT({_MARK}, HEX({reference}))"
    if name is TypeName.UUID and target.type.name is TypeName.BINARY:
        return f"CONCAT({_MARK}, REPLACE({reference}, '-', ''))"
    if name is TypeName.FLOAT32 or (name is TypeName.FLOAT64 and "(" in source.type.native):
        # As text, a FLOAT has six digits, and a DOUBLE(20,2) two after the point, whatever its value.
        return f"CAST({reference} AS DOUBLE)"
    if name is TypeName.BITS:
        if target.type.name in _NUMBERS:
            return f"CAST({reference} AS UNSIGNED)"
        return f"LPAD(BIN({reference} + 0), {source.type.precision or 1:d}, '0')"
    if name is TypeName.YEAR and target.type.name is not TypeName.YEAR:
        return f"CAST({reference} AS UNSIGNED)"  # a year 0 would be 0000
    most = most_letters(source, target)
    if most is None:
        return reference
    return f"IF(CHAR_LENGTH({reference}) > {most:d}, CONCAT({reference}, {quoting.text(MARK)}), {reference})"


def unreadable(dialect: MySQLDialect, column: Column) -> str | None:
    """SQL: whether a text cannot be converted to Unicode; None if every text of the column can.

    The server would send a question mark for it.
    """
    reference = dialect.quote(column.name)
    wired = dialect.wire(ScanColumn(column, Kind(Form.TEXT)), reference)
    if column.type.name not in (TypeName.TEXT, TypeName.CHAR) or wired == reference:
        return None
    return f"LEFT({wired}, 9) = CONCAT(CONVERT(X'00' USING utf8mb4), 'invalid ')"


def texts_of(transfer: Transfer) -> Sequence[TextOf]:
    return [_text_of(source, target) for source, target in transfer.columns]


def _text_of(source: Column, target: Column) -> TextOf:
    name, wanted = source.type.name, target.type.name
    if name in _BYTES:
        return _each(bytes.hex) if wanted is TypeName.UUID else copy_text.texts
    if name is TypeName.UUID:
        return copy_text.texts if wanted is TypeName.BINARY else _each(lambda value: str(UUID(bytes=value)))
    if source.type.native.lower() in ("inet4", "inet6"):
        return _each(address_text)
    if name is TypeName.BITS and wanted in _NUMBERS:
        return _each(lambda value: str(int(value, 2)))
    if name is wanted is TypeName.YEAR:
        return _each("{:04d}".format)  # 0 would mean 2000
    most = most_letters(source, target)
    return copy_text.texts if most is None else _each(lambda value: marked(value, most))


def _may_be_long(column: Column) -> bool:
    return column.type.name in _BYTES and (column.type.precision or _SHORT + 1) > _SHORT


def _each(text: Callable[..., str]) -> TextOf:
    def texts(values: list[object]) -> pa.Array:
        return pa.array([None if value is None else text(value) for value in values], pa.large_string())

    return texts


_MAPPED = 0xFFFF


def address_text(value: bytes) -> str:
    """The text of an internet address as MariaDB writes it, from the four bytes of an INET4 or the sixteen of an INET6.

    It omits the longest run of zeros, even a single one; what may be an address of version 4 ends like one.
    """
    if len(value) == 4:
        return ".".join(map(str, value))
    words = [int.from_bytes(value[at : at + 2], "big") for at in range(0, 16, 2)]
    start, length = _longest_gap(words)
    if start == 0 and (length == 6 or (length == 5 and words[5] == _MAPPED)):
        return f"::{'ffff:' if length == 5 else ''}{'.'.join(map(str, value[12:]))}"
    if not length:
        return _joined(words)
    return f"{_joined(words[:start])}::{_joined(words[start + length :])}"


def _longest_gap(words: list[int]) -> tuple[int, int]:
    best = (0, 0)
    for start in range(len(words)):
        length = next((n for n, word in enumerate(words[start:]) if word), len(words) - start)
        best = (start, length) if length > best[1] else best
    return best


def _joined(words: list[int]) -> str:
    return ":".join(f"{word:x}" for word in words)
