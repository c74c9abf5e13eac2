"""Reads MySQL servers on executors: connectorx for rows of MariaDB, pymysql for the others and for single values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import DriverPanic, translated
from tieout.connectors.mysql.raw_rows import sent_rows
from tieout.connectors.mysql.rows import arrow_batches, batches_by, only_by_rows, row_batches
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.mysql.session import AT_ONE_MOMENT, SETTINGS, connect
from tieout.connectors.protocols.endpoint import HashSpec, Scan, StartOver
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
class MySQLReader:
    """`safe` reads again what the Arrow driver failed on, in forms that it knows; `by_rows`, without that driver."""

    url: EndpointUrl
    flavour: Flavour
    safe: bool = False
    by_rows: bool = False
    held: Any = None
    """A connection that sees one moment, while it is held."""

    @property
    def _dialect(self) -> MySQLDialect:
        return MySQLDialect(self.flavour, self.safe)

    def cautious(self) -> MySQLReader:
        return replace(self, safe=True, by_rows=self.safe)

    def read(self, scan: Scan, keys: KeyRange) -> Iterator[pa.RecordBatch]:
        yield from self._rows(scan, select.within(self._dialect, scan, keys))

    def sent(self, scan: Scan, keys: KeyRange) -> Iterator[pa.Array]:
        yield from sent_rows(self.url, select.select(self._dialect, scan, select.within(self._dialect, scan, keys)))

    def finds(self, scan: Scan) -> bool:
        return select.finds(self._dialect, scan)

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        if keys:
            yield from self._rows(scan, select.among(self._dialect, scan, keys))

    def freezes(self, scan: Scan) -> bool:
        return (scan.table.engine or "").casefold() == "innodb"

    @contextmanager
    def frozen(self) -> Iterator[MySQLReader]:
        with translated(self.url), closing(connect(self.url)) as connection:
            with connection.cursor() as cursor:
                for statement in AT_ONE_MOMENT:
                    cursor.execute(statement)
            yield replace(self, held=connection)

    def _rows(self, scan: Scan, condition: str) -> Iterator[pa.RecordBatch]:
        if self.held is not None or self.by_rows or only_by_rows(self.url, self.flavour):
            statement = select.select(MySQLDialect(self.flavour, safe=True, raw=True), scan, condition)
            held = self.held
            batches = row_batches(self.url, statement) if held is None else batches_by(held, self.url, statement)
        else:
            # The Arrow driver's sessions begin in the server's own time zone and mode.
            statement = f"SET STATEMENT {SETTINGS} FOR {select.select(self._dialect, scan, condition)}"
            batches = self._by_arrow(scan, statement)
        for batch in batches:
            yield zero_moments(scan, batch)

    def _by_arrow(self, scan: Scan, statement: str) -> Iterator[pa.RecordBatch]:
        try:
            yield from arrow_batches(self.url, statement, scan.table.average_row_bytes)
        except DriverPanic:
            raise StartOver from None

    def count(self, scan: Scan, keys: KeyRange) -> int:
        return int(self._row(select.count(self._dialect, scan, select.within(self._dialect, scan, keys)))[0])

    def digest(self, scan: Scan, keys: KeyRange, spec: HashSpec) -> Digest:
        dialect = self._dialect
        hashed = dialect.digest_columns(scan, spec) + " AS h"
        inner = select.aggregate(dialect, scan, select.within(dialect, scan, keys), hashed)
        row = self._row(f"SELECT COUNT(*), COUNT(h), {_LANE.format(1)}, {_LANE.format(17)} FROM ({inner}) AS hashed")
        if row[0] != row[1]:
            # A sum would pass over them in silence.
            raise ReadError(
                f"{self.url.redacted()}: {scan.table.name} has rows that the server can't hash: they are longer "
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
        """How many rows the server has written. MySQL counts temporary tables too: it errs on the safe side."""
        with translated(self.url), connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(_WRITES)
            counted = dict(cursor.fetchall())
        return ":".join(f"{name}={counted[name]}" for name in sorted(counted)) if len(counted) == 3 else None

    def _row(self, statement: str) -> Any:
        with translated(self.url), connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchone()


def zero_moments(scan: Scan, batch: pa.RecordBatch) -> pa.RecordBatch:
    """UNIX_TIMESTAMP gives 0 for '0000-00-00 00:00:00', which is not 1970: say so."""
    columns = list(batch.columns)
    for place, column in enumerate(scan.columns):
        if column.column.type.name is not TypeName.INSTANT or columns[place].null_count == len(columns[place]):
            continue
        zero = pc.fill_null(pc.equal(columns[place], 0), False)
        if pc.any(zero).as_py():
            moments = columns[place].cast(pa.int64()).cast(pa.timestamp("us")).cast(pa.string())
            columns[place] = pc.if_else(zero, "0000-00-00 00:00:00", moments)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
