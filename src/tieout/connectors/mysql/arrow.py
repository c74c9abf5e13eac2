"""Rows of a MySQL server as Arrow batches, by connectorx."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.faults import DriverPanic, is_too_long, translate_arrow
from tieout.connectors.mysql.session import arrow_url

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
