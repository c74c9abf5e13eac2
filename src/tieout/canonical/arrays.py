"""Small bridges between Arrow and numpy that keep NULLs apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.fields import NULL, PRESENT


def status_of(array: pa.Array) -> npt.NDArray[np.uint8]:
    if array.null_count == 0:
        return np.full(len(array), PRESENT, dtype=np.uint8)
    return np.where(array.is_null().to_numpy(zero_copy_only=False), NULL, PRESENT).astype(np.uint8)


def to_numpy(array: pa.Array, dtype: str) -> npt.NDArray[Any]:
    """The values as numpy, with zero where NULL."""
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, array.type))
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(dtype, copy=False)


def is_textual(array: pa.Array) -> bool:
    t = array.type
    return bool(pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t))


def is_bytes(array: pa.Array) -> bool:
    t = array.type
    return bool(pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t))


def joined(array: pa.Array) -> bytes:
    """The bytes of all values of an array of large strings or large binary, one after another."""
    if not len(array):
        return b""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)
    first, last = ends[array.offset], ends[array.offset + len(array)]
    return b"" if data is None else data[int(first) : int(last)].to_pybytes()


def as_binary(array: pa.Array) -> pa.Array:
    return array if pa.types.is_large_binary(array.type) else array.cast(pa.large_binary())


def python_text(value: object) -> str:
    """A value of any sort as text, to be shown."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return "0x" + value.hex()
    return str(value)


def odd_text(value: object) -> str:
    """A value of any sort as text, to be hashed: bytes that are no UTF-8 stay themselves, as surrogates."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
