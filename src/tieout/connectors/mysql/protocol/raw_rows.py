"""Rows as a MySQL server sends them: the packets of its binary protocol, not decoded.

A row's packet is a NULL bitmap and the values in forms that depend only on their types. Two servers that
send the same columns of the same types send the same bytes for the same row, and only for it, so a digest
needs no more: less than half the work of a decoder. The binary protocol, which pymysql does not speak, sends
numbers as they are instead of printing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.connection import connect
from tieout.connectors.mysql.errors import translated
from tieout.connectors.mysql.protocol.commands import start_prepared_query
from tieout.connectors.mysql.protocol.packets import Places, row_packets, rows_of

_ROW = 0x00


def sent_rows(url: EndpointUrl, statement: str) -> Iterator[pa.Array]:
    """The rows of a query as arrays of bytes, one value for each row."""
    with translated(url), closing(connect(url)) as connection:
        start_prepared_query(connection, statement)
        for data, packets in row_packets(connection, lambda first, _: first == _ROW):
            yield _array(data, packets)


def _array(data: bytearray, packets: Places) -> pa.Array:
    # The fourth byte of a header counts packets, and is not part of the row.
    np.frombuffer(data, dtype=np.uint8)[packets + 3] = 0
    ends = rows_of(packets, len(data))
    return pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])
