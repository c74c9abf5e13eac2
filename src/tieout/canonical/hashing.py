"""XXH3 of 128 bits over Arrow arrays, as two 64-bit words a value (low word first)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Words = npt.NDArray[np.uint64]
"""Shape (n, 2): the low and the high 64 bits of each hash."""

_WORD = 1 << 64


def hash_values(values: pa.Array) -> Words:
    """The hash of each value's bytes; zero for NULL."""
    import polars as pl
    import polars_hash as plh

    if len(values) == 0:
        return np.zeros((0, 2), dtype=np.uint64)
    frame = pl.DataFrame({"v": pl.Series(values).cast(pl.Binary)})
    # numpy and Arrow have no 128-bit integers, so the hash is split while it is still in polars.
    words = frame.select(h=plh.col("v").nchash.xxh3_128()).select(
        low=pl.col("h").cast(pl.UInt64, wrap_numerical=True).fill_null(0),
        high=(pl.col("h") // _WORD).cast(pl.UInt64, wrap_numerical=True).fill_null(0),
    )
    return np.column_stack((words["low"].to_numpy(), words["high"].to_numpy()))


def hash_records(records: npt.NDArray[np.void]) -> Words:
    """The hash of each record of a packed structured array."""
    count, width = len(records), records.dtype.itemsize
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(records))]
    return hash_values(pa.Array.from_buffers(pa.large_binary(), count, buffers))


def hash_text(words: npt.NDArray[np.uint64]) -> str:
    """One hash as text: 32 hexadecimal digits, the highest first."""
    return f"{int(words[1]):016x}{int(words[0]):016x}"
