"""Rows of a MySQL server as Arrow batches, by pymysql: slower, and over every kind of connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.faults import translated
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.mysql.session import connect, wants_tls

_BATCH = 10_000
_BATCH_BYTES = 16 << 20


def only_by_rows(url: EndpointUrl, flavour: Flavour) -> bool:
    """connectorx speaks neither TLS nor through a socket of our choice.

    And it can't be kept from encrypting the password by a key that the server sends (caching_sha2_password): it is for
    MariaDB, which does not log in that way.
    """
    return wants_tls(url) or url.socket is not None or flavour is not Flavour.MARIADB


def row_batches(url: EndpointUrl, statement: str) -> Iterator[pa.RecordBatch]:
    """Streams a query whose columns are integers, doubles, text and bytes; text comes as its bytes in UTF-8.

    However long a value is: the server's max_allowed_packet is for what it takes, and for its functions.
    """
    with translated(url), closing(connect(url)) as connection:
        yield from batches_by(connection, url, statement)


def batches_by(connection: Any, url: EndpointUrl, statement: str) -> Iterator[pa.RecordBatch]:
    """The same, by a connection that is open."""
    from pymysql.cursors import SSCursor

    with translated(url), _undecoded(connection), connection.cursor(SSCursor) as cursor:
        cursor.execute(statement)
        names = [column[0] for column in cursor.description]
        while rows := _some(cursor):
            arrays = [_array(list(values)) for values in zip(*rows, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)


@contextmanager
def _undecoded(connection: Any) -> Iterator[None]:
    """Text of rows stays bytes: some of it is none in its character set."""
    connection.use_unicode = False
    try:
        yield
    finally:
        connection.use_unicode = True


def _some(cursor: Any) -> list[Any]:
    """The next rows, as many as make a batch."""
    rows: list[Any] = []
    size = 0
    while len(rows) < _BATCH and size < _BATCH_BYTES and (row := cursor.fetchone()) is not None:
        rows.append(row)
        size += sum(len(value) for value in row if isinstance(value, bytes))
    return rows


def _array(values: list[Any]) -> pa.Array:
    present = [value for value in values if value is not None]
    if present and isinstance(present[0], int):
        return pa.array(values, pa.uint64() if max(present) >= 1 << 63 else pa.int64())
    if present and isinstance(present[0], bytes):
        return pa.array(values, pa.large_binary())
    return pa.array(values)
