"""Reads MySQL servers on executors: rows of MariaDB with connectorx; other rows and single values with pymysql.

pymysql is slower, and works over every kind of connection.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from tieout.config.tls import mysql_tls
from tieout.config.urls import DEFAULT_PORTS, EndpointUrl
from tieout.connectors.mysql.connection import AT_ONE_MOMENT, SETTINGS, connect
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import DriverPanic, is_too_long, translate_arrow, translated
from tieout.connectors.mysql.protocol.rows import sent_rows
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.protocols.endpoint import HashSpec, NeedsCautiousReader, Reader, Scan
from tieout.connectors.sql import select
from tieout.connectors.sql.select import cut
from tieout.errors import ReadError
from tieout.model.digests import MODULUS, Digest
from tieout.model.keys import Key, KeyRange
from tieout.model.types import TypeName

_WRITES = """SHOW GLOBAL STATUS
WHERE Variable_name IN ('Handler_delete', 'Handler_update', 'Handler_write')"""

_LANE = "COALESCE(SUM(CAST(CONV(SUBSTR(h, {}, 16), 16, 10) AS DECIMAL(20))), 0)"


@dataclass(frozen=True)
class MySQLReader(Reader):
    """`safe` renders values so that the Arrow driver does not fail on them; `by_rows` reads without that driver."""

    url: EndpointUrl
    server_kind: ServerKind
    safe: bool = False
    by_rows: bool = False
    held: Any = None
    """A connection with an open snapshot."""

    @property
    def _dialect(self) -> MySQLDialect:
        return MySQLDialect(self.server_kind, self.safe)

    def cautious(self) -> MySQLReader:
        return replace(self, safe=True, by_rows=self.safe)

    def read(self, scan: Scan, keys: KeyRange) -> Iterator[pa.RecordBatch]:
        yield from self._rows(scan, select.within(self._dialect, scan, keys))

    def raw_rows(self, scan: Scan, keys: KeyRange) -> Iterator[pa.Array]:
        yield from sent_rows(self.url, select.select(self._dialect, scan, select.within(self._dialect, scan, keys)))

    def finds(self, scan: Scan) -> bool:
        return select.finds(self._dialect, scan)

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        if keys:
            yield from self._rows(scan, select.among(self._dialect, scan, keys))

    def can_share_snapshot(self, scan: Scan) -> bool:
        return (scan.table.engine or "").casefold() == "innodb"

    @contextmanager
    def shared_snapshot(self) -> Iterator[MySQLReader]:
        with translated(self.url), closing(connect(self.url)) as connection:
            with connection.cursor() as cursor:
                for statement in AT_ONE_MOMENT:
                    cursor.execute(statement)
            yield replace(self, held=connection)

    def _rows(self, scan: Scan, condition: str) -> Iterator[pa.RecordBatch]:
        if self.held is not None or self.by_rows or only_by_rows(self.url, self.server_kind):
            statement = select.select(MySQLDialect(self.server_kind, safe=True, raw=True), scan, condition)
            held = self.held
            batches = row_batches(self.url, statement) if held is None else batches_by(held, self.url, statement)
        else:
            # The Arrow driver's sessions start with the server's own time zone and mode.
            statement = f"SET STATEMENT {SETTINGS} FOR {select.select(self._dialect, scan, condition)}"
            batches = self._by_arrow(scan, statement)
        for batch in batches:
            yield zero_moments(scan, batch)

    def _by_arrow(self, scan: Scan, statement: str) -> Iterator[pa.RecordBatch]:
        try:
            yield from arrow_batches(self.url, statement, scan.table.average_row_bytes)
        except DriverPanic:
            raise NeedsCautiousReader from None

    def count(self, scan: Scan, keys: KeyRange) -> int:
        return int(self._row(select.count(self._dialect, scan, select.within(self._dialect, scan, keys)))[0])

    def digest(self, scan: Scan, keys: KeyRange, spec: HashSpec) -> Digest:
        dialect = self._dialect
        hashed = dialect.digest_columns(scan, spec) + " AS h"
        inner = select.aggregate(dialect, scan, select.within(dialect, scan, keys), hashed)
        row = self._row(f"SELECT COUNT(*), COUNT(h), {_LANE.format(1)}, {_LANE.format(17)} FROM ({inner}) AS hashed")
        if row[0] != row[1]:
            # A sum would silently skip them.
            raise ReadError(
                f"{self.url.redacted()}: {scan.table.name} has rows that the server cannot hash: they are longer "
                "than its max_allowed_packet",
                "use --strategy pull",
            )
        return Digest(int(row[0]), (int(row[2]) + (int(row[3]) << 64)) % MODULUS)

    def bounds(self, scan: Scan, keys: KeyRange, rows: int, most: int) -> list[Key]:
        dialect = replace(self._dialect, safe=True)

        def next_bound(left: KeyRange) -> Any:
            cursor.execute(select.bound(dialect, scan, left, rows))
            return cursor.fetchone()

        with translated(self.url), connect(self.url) as connection, connection.cursor() as cursor:
            return cut(scan, keys, most, next_bound)

    def activity(self) -> str | None:
        """How many rows the server has written. MySQL counts temporary tables, too, so it errs on the safe side."""
        with translated(self.url), connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(_WRITES)
            counted = dict(cursor.fetchall())
        return ":".join(f"{name}={counted[name]}" for name in sorted(counted)) if len(counted) == 3 else None

    def _row(self, statement: str) -> Any:
        with translated(self.url), connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchone()


def zero_moments(scan: Scan, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Restores '0000-00-00 00:00:00', for which UNIX_TIMESTAMP returns 0 as for 1970."""
    columns = list(batch.columns)
    for place, column in enumerate(scan.columns):
        if column.column.type.name is not TypeName.INSTANT or columns[place].null_count == len(columns[place]):
            continue
        zero = pc.fill_null(pc.equal(columns[place], 0), False)
        if pc.any(zero).as_py():
            moments = columns[place].cast(pa.int64()).cast(pa.timestamp("us")).cast(pa.string())
            columns[place] = pc.if_else(zero, "0000-00-00 00:00:00", moments)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


BATCH_BYTES = 16 << 20


def wants_tls(url: EndpointUrl) -> bool:
    return mysql_tls(url) != "disabled"


def arrow_url(url: EndpointUrl) -> str:
    """The URL for connectorx."""
    password = f":{quote(url.password, safe='')}" if url.password else ""
    host = f"[{url.host}]" if url.host and ":" in url.host else (url.host or "localhost")
    login = f"{quote(url.user or '', safe='')}{password}@"
    # By default, the driver asks a server on localhost for its socket and connects to it: behind a tunnel or a proxy
    # that is a path of the other machine, and this machine may have a server of its own there.
    port = url.port or DEFAULT_PORTS["mysql"]
    return f"mysql://{login}{host}:{port}/{quote(url.database or '', safe='')}?prefer_socket=false"


def arrow_batches(url: EndpointUrl, statement: str, row_bytes: int | None) -> Iterator[pa.RecordBatch]:
    """Streams a query. Raises DriverPanic for a panic of the driver (zero dates, invalid text), and for a row that is
    longer than the server's max_allowed_packet."""
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
        # A Rust panic is not an Exception; it must not kill the worker.
        if type(error).__name__ != "PanicException":
            raise
        # It also panics when the server hangs up or fails in the middle of a stream.
        of_server = any(word in str(error) for word in ("IoError", "MySqlError")) and not is_too_long(str(error))
        raise translate_arrow(url, str(error)) if of_server else DriverPanic(str(error)) from None


@contextmanager
def _muted() -> Iterator[None]:
    """Hides standard error: a panic prints a page to it before anything can catch the panic."""
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


def only_by_rows(url: EndpointUrl, server_kind: ServerKind) -> bool:
    """Whether only pymysql can read: connectorx supports neither TLS nor a socket of our choice.

    And nothing keeps it from encrypting the password with a key that the server sends (caching_sha2_password): so it
    reads only MariaDB, which does not log in that way.
    """
    return wants_tls(url) or url.socket is not None or server_kind is not ServerKind.MARIADB


def row_batches(url: EndpointUrl, statement: str) -> Iterator[pa.RecordBatch]:
    """Streams a query whose columns are integers, doubles, text and bytes; text arrives as bytes in UTF-8.

    Values may have any length: the server's max_allowed_packet limits what it receives, and its functions.
    """
    with translated(url), closing(connect(url)) as connection:
        yield from batches_by(connection, url, statement)


def batches_by(connection: Any, url: EndpointUrl, statement: str) -> Iterator[pa.RecordBatch]:
    """The same, on an open connection."""
    from pymysql.cursors import SSCursor

    with translated(url), _undecoded(connection), connection.cursor(SSCursor) as cursor:
        cursor.execute(statement)
        names = [column[0] for column in cursor.description]
        while rows := _some(cursor):
            arrays = [_array(list(values)) for values in zip(*rows, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)


@contextmanager
def _undecoded(connection: Any) -> Iterator[None]:
    """Leaves text as bytes: some of it is invalid in its character set."""
    connection.use_unicode = False
    try:
        yield
    finally:
        connection.use_unicode = True


def _some(cursor: Any) -> list[Any]:
    """The next batch of rows."""
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
