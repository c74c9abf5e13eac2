"""Reads a table from its heap, by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, NoReturn

import numpy as np
import pyarrow as pa

from tieout.codecs.postgres_pages.heap_versions import OFFSETS, HeapVersions, heap_versions
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.exported_snapshot import cursor_at
from tieout.connectors.postgres.check.index_reader import pages_statement
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.snapshot import unwrapped
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.sql.select import wires
from tieout.errors import UnsupportedError
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.tables import Column, TableName
from tieout.model.types import LogicalType, TypeName

ADDRESS = ScanColumn(Column("ctid", LogicalType(TypeName.INTEGER, "tid", 64), nullable=False), Kind(Form.INTEGER))
HEAP_ONLY = {
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_bitmapscan": "off",
    # Even if the database or the user has them off by default.
    "enable_seqscan": "on",
    "enable_tidscan": "on",
}
ADDRESS_SQL = f"((ctid::text::point)[0])::int8 * {OFFSETS} + ((ctid::text::point)[1])::int8"

_DIALECT = PostgresDialect()
_SENT = np.dtype([("block", ">u4"), ("item", ">u2")])
"""A ctid as the server sends it. Converting it to a number in SQL would take five times as long as everything else."""
_WORTH_A_PART = 512
MOST_BLOCKS = 2**31 - 1
"""An upper bound: blocks that do not exist are skipped."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks low <= … < high; None: to the end of the table at the time of reading."""

    low: int
    high: int | None


@dataclass(frozen=True)
class HeapPath:
    """`blocks` is how many there were when the check began. Without addresses, all rows come from one `snapshot`.
    `inspector` is the schema of pageinspect's functions; None: it is not installed."""

    url: EndpointUrl
    table: TableName
    columns: tuple[ScanColumn, ...]
    blocks: int
    evidence: str = ""
    inspector: str | None = None
    address: tuple[ScanColumn, ...] = (ADDRESS,)
    snapshot: str | None = None

    can_share_snapshot: ClassVar[bool] = False

    @property
    def has_versions(self) -> bool:
        return self.inspector is not None

    def shared_snapshot(self) -> NoReturn:
        raise UnsupportedError("addressed rows and entries are read page by page, not from a snapshot")

    @property
    def division(self) -> int:
        return self.blocks

    def divided_by(self, division: int) -> HeapPath:
        return replace(self, blocks=division)

    def parts(self, most: int) -> list[Blocks]:
        return block_parts(self.blocks, most)

    def cautious(self) -> HeapPath:
        return self

    def read(self, part: Blocks) -> Iterator[pa.RecordBatch]:
        with cursor_at(self.url, self.snapshot, HEAP_ONLY, arrow=True) as cursor:
            cursor.execute(self.statement(part))
            for batch in cursor.fetch_record_batch():
                plain = unwrapped(batch)
                yield plain if not self.address else _addressed(plain)

    def statement(self, part: Blocks) -> str:
        listed = ["ctid"] if self.address else []
        if self.columns:
            listed.append(wires(_DIALECT, self.columns))
        within = f"ctid >= {quoting.row_place(part.low, 0)}"
        if part.high is not None:
            within = f"{within} AND ctid < {quoting.row_place(part.high, 0)}"
        return f"SELECT {', '.join(listed)} FROM ONLY {_DIALECT.table(self.table)} WHERE {within}"

    def versions(self, part: Blocks) -> HeapVersions | None:
        if self.inspector is None:
            return None
        last = MOST_BLOCKS if part.high is None else part.high
        with cursor_at(self.url, None, HEAP_ONLY, arrow=True) as cursor:
            cursor.execute(pages_statement(self.table, self.inspector, part.low, last))
            return heap_versions(cursor.fetch_record_batch())


def block_parts(blocks: int, most: int) -> list[Blocks]:
    """Few parts for a small table: starting a part takes longer than reading some megabytes."""
    bounds = np.linspace(0, blocks, min(most, 1 + blocks // _WORTH_A_PART) + 1).astype(int).tolist()
    # The last part has no end: otherwise entries for new rows would lead nowhere, or new rows have no entries.
    return [Blocks(low, high) for low, high in pairwise([*bounds[:-1], None])]


def explain_heap(path: HeapPath) -> str | None:
    """The scan by which the planner would read the table; None if it is not a scan of the heap."""
    with translated(path.url), connect(path.url, "tieout driver", HEAP_ONLY) as connection:
        (plan,) = connection.execute(f"EXPLAIN (FORMAT JSON) {path.statement(Blocks(0, None))}").fetchone()
    node = plan[0]["Plan"]
    if node["Node Type"] not in ("Seq Scan", "Tid Range Scan"):
        return None
    return f"{node['Node Type']} on {node['Relation Name']}"


def _addressed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replaces the addresses, which come first, by numbers."""
    names = [str(place) for place in range(batch.num_columns)]
    return pa.RecordBatch.from_arrays([_addresses(batch.column(0)), *batch.columns[1:]], names)


def _addresses(sent: pa.Array) -> pa.Array:
    values = sent.storage if isinstance(sent, pa.ExtensionArray) else sent
    _, offsets, octets = values.buffers()
    first = np.frombuffer(offsets, dtype=np.int32, count=1, offset=4 * values.offset)[0] if len(values) else 0
    items = np.frombuffer(octets, dtype=_SENT, count=len(values), offset=int(first))
    return pa.array(items["block"].astype(np.int64) * OFFSETS + items["item"])
