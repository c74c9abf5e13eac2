"""Text, bytes, sets and UUIDs."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.fields import ODD, PRESENT, Field, as_binary, is_bytes, joined, odd_text, python_text, status_of
from tieout.model.canonical_kinds import Kind


def text(kind: Kind, array: pa.Array) -> Field:
    """Text is its code points in UTF-8. Bytes that are not UTF-8 compare as bytes and show as hex."""
    if not is_bytes(array):
        array = array.cast(pa.large_string())
    values = as_binary(array)
    return Field(status_of(values), None, values, lambda row: python_text(values[row].as_py()))


def scaled_number(kind: Kind, array: pa.Array) -> Field:
    """A decimal as it is written, scale included: 1.00 is not 1.0. Never with an exponent."""
    if pa.types.is_decimal(array.type):
        array = pa.array([None if v is None else format(v, "f") for v in array.to_pylist()], pa.large_string())
    return text(kind, array)


def binary(kind: Kind, array: pa.Array) -> Field:
    values = as_binary(array)
    return Field(status_of(values), None, values, lambda row: "0x" + values[row].as_py().hex(), is_hex=True)


def set_members(kind: Kind, array: pa.Array) -> Field:
    """A set is its members in byte order, whatever order the type declares them in."""
    members = [None if v is None else b",".join(sorted(v.split(b","))) for v in as_binary(array).to_pylist()]
    return text(kind, pa.array(members, pa.large_binary()))


def uuid(kind: Kind, array: pa.Array) -> Field:
    """Sixteen bytes, from text with or without hyphens in either case, or from sixteen bytes."""
    status = status_of(array)
    odd: dict[int, str] = {}
    sent = _as_sent(array)
    if sent is not None:
        return _uuids(status, sent, odd)
    data = np.zeros(len(array), dtype="V16")
    for row, value in enumerate(array.to_pylist()):
        if value is None:
            continue
        raw = _uuid_bytes(value)
        if raw is None:
            status[row], odd[row] = ODD, odd_text(value)
        else:
            data[row] = np.void(raw)
    assert all(status[row] != PRESENT for row in odd)
    return _uuids(status, data, odd)


def _uuids(status: npt.NDArray[np.uint8], data: npt.NDArray[np.void], odd: dict[int, str]) -> Field:
    return Field(status, data, None, lambda row: str(UUID(bytes=data[row].tobytes())), odd)


def _as_sent(array: pa.Array) -> npt.NDArray[np.void] | None:
    """The bytes of an array whose values all have sixteen bytes, which is how a server sends them; zeros for NULL."""
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    if not is_bytes(storage) or pc.any(pc.not_equal(pc.binary_length(storage), 16)).as_py():
        return None
    octets = joined(as_binary(pc.fill_null(storage, bytes(16))))
    return np.frombuffer(octets, dtype="V16", count=len(array))


def _uuid_bytes(value: object) -> bytes | None:
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, bytes) and len(value) == 16:
        return value
    plain = odd_text(value)
    if len(plain) == 36 and plain[8] == plain[13] == plain[18] == plain[23] == "-":
        plain = plain.replace("-", "")
    if len(plain) != 32:
        return None
    try:
        return bytes.fromhex(plain) if plain.isalnum() else None
    except ValueError:
        return None
