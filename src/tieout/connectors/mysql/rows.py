"""Rows of a MySQL server as Arrow batches: by connectorx, or by pymysql, which is slower and works over every kind of
connection.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.errors import DriverPanic, is_too_long, translate_arrow, translated
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.mysql.session import arrow_url, connect, wants_tls

BATCH_BYTES = 16 << 20


def arrow_batches(url: EndpointUrl, statement: str, row_bytes: int | None) -> Iterator[pa.RecordBatch]:
    """Streams a query. A panic of the driver (zero dates, invalid text) is raised as DriverPanic, and so is what it
    says of a row that is longer than the server's max_allowed_packet."""
    import connectorx

    size = max(16, min(65_536, BATCH_BYTES // max(row_bytes or 256, 1)))
    try:
        with _muted():
            stream = connectorx.read_sql(arrow_url(url), statement, return_type="arrow_stream", batch_size=size)
            batches = iter(stream)
        while True:
            with _muted():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch
    except RuntimeError as error:
        raise DriverPanic(str(error)) if is_too_long(str(error)) else translate_arrow(url, str(error)) from None
    except BaseException as error:
        # A Rust panic is no Exception; it must not take the worker with it.
        if type(error).__name__ != "PanicException":
            raise
        # That is also how it says that the server hung up, or met something, in the middle of a stream.
        of_server = any(word in str(error) for word in ("IoError", "MySqlError")) and not is_too_long(str(error))
        raise translate_arrow(url, str(error)) if of_server else DriverPanic(str(error)) from None


@contextmanager
def _muted() -> Iterator[None]:
    """A panic prints a page to the process's standard error before it can be caught: keep that from the user."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


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
