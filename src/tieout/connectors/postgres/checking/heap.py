"""A table read from its heap, by blocks, and what its line pointers say of versions that no reader sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.base import ScanColumn
from tieout.connectors.kept import lease
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.faults import translated
from tieout.connectors.postgres.session import connect, libpq_url
from tieout.connectors.sql import wires
from tieout.model.kinds import Form, Kind
from tieout.model.tables import Column, TableName
from tieout.model.types import LogicalType, TypeName

OFFSETS = 65536
"""An address is a block's number times this, plus the place in the block."""
ADDRESS = ScanColumn(Column("ctid", LogicalType(TypeName.INTEGER, "tid", 64), nullable=False), Kind(Form.INTEGER))
HEAP_ONLY = {"enable_indexscan": "off", "enable_indexonlyscan": "off", "enable_bitmapscan": "off"}

_DIALECT = PostgresDialect()
_ADDRESS = f"((ctid::text::point)[0])::int8 * {OFFSETS} + ((ctid::text::point)[1])::int8"
_POINTERS = """
SELECT b * {offsets} + lp AS address, lp_flags::int4, lp_off::int4, t_infomask2,
  ((t_ctid::text::point)[0])::int8 * {offsets} + ((t_ctid::text::point)[1])::int8 AS next,
  t_xmin::text::int8 AS xmin, t_xmax::text::int8 AS xmax
FROM generate_series({low}::int8, ({high})::int8 - 1) AS b, heap_page_items(get_raw_page({table}, 'main', b::int4))
WHERE lp_flags <> 0 ORDER BY 1"""
_NORMAL, _REDIRECT = 1, 2
_HOT_UPDATED, _HEAP_ONLY = 0x4000, 0x8000
_WORTH_A_PART = 512
_LONGEST_CHAIN = 300
"""A page of 8 kB has fewer tuples: what goes on for longer goes round in circles."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Those from `low` on, without `high`; None: to the end, wherever that is when they are read."""

    low: int
    high: int | None


@dataclass(frozen=True)
class HeapPath:
    """`blocks` is how many there were when the check began."""

    url: EndpointUrl
    table: TableName
    columns: tuple[ScanColumn, ...]
    blocks: int
    evidence: str = ""
    address: tuple[ScanColumn, ...] = (ADDRESS,)

    def parts(self, most: int) -> list[Blocks]:
        return block_parts(self.blocks, most)

    def cautious(self) -> HeapPath:
        return self

    def read(self, part: Blocks) -> Iterator[pa.RecordBatch]:
        with translated(self.url), lease(("heap", self._connection_url), self._connect_arrow) as connection:
            with connection.cursor() as cursor:
                cursor.execute(self.statement(part))
                yield from cursor.fetch_record_batch()

    def statement(self, part: Blocks) -> str:
        columns = f"{_ADDRESS} AS address"
        if self.columns:
            columns = f"{columns}, {wires(_DIALECT, self.columns)}"
        within = f"ctid >= '({part.low},0)'::tid"
        if part.high is not None:
            within = f"{within} AND ctid < '({part.high},0)'::tid"
        return f"SELECT {columns} FROM ONLY {_DIALECT.table(self.table)} WHERE {within}"

    def versions(self, part: Blocks) -> HeapVersions:
        table = "'" + _DIALECT.table(self.table).replace("'", "''") + "'"
        end = f"pg_relation_size({table}) / current_setting('block_size')::int8" if part.high is None else part.high
        statement = _POINTERS.format(offsets=OFFSETS, low=part.low, high=end, table=table)
        with translated(self.url), lease(("heap", self._connection_url), self._connect_arrow) as connection:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                found = cursor.fetch_arrow_table()
        return HeapVersions(*(_numbers(found.column(place)) for place in range(7)))

    @property
    def _connection_url(self) -> str:
        return libpq_url(self.url, "tieout executor", HEAP_ONLY)

    def _connect_arrow(self) -> Any:
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(self._connection_url, autocommit=True)


def block_parts(blocks: int, most: int) -> list[Blocks]:
    """Few of something small: to begin with a part takes longer than to read some megabytes."""
    bounds = np.linspace(0, blocks, min(most, 1 + blocks // _WORTH_A_PART) + 1).astype(int).tolist()
    # What is added meanwhile is looked at, too: else its entries would lead nowhere, or its rows have none.
    return [Blocks(low, high) for low, high in pairwise([*bounds[:-1], None])]


def explain_heap(path: HeapPath) -> str | None:
    """How the planner would read it, if through the heap."""
    with translated(path.url), connect(path.url, "tieout driver", HEAP_ONLY) as connection:
        (plan,) = connection.execute(f"EXPLAIN (FORMAT JSON) {path.statement(Blocks(0, None))}").fetchone()
    node = plan[0]["Plan"]
    if node["Node Type"] not in ("Seq Scan", "Tid Range Scan"):
        return None
    return f"{node['Node Type']} on {node['Relation Name']}"


@dataclass(frozen=True)
class HeapVersions:
    """The line pointers of some blocks, in the order of their addresses."""

    addresses: npt.NDArray[np.int64]
    flags: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    masks: npt.NDArray[np.int64]
    nexts: npt.NDArray[np.int64]
    created: npt.NDArray[np.int64]
    ended: npt.NDArray[np.int64]

    def entry_addresses(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Entries point to the root of a row's chain of versions: those of one page whose keys are the same."""
        places = np.minimum(np.searchsorted(self.addresses, rows), max(0, len(self.addresses) - 1))
        if len(self.addresses) == 0:
            return rows
        known = self.addresses[places] == rows
        return np.where(known, self.addresses[self._roots[places]], rows)

    def invisible(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.setdiff1d(self.addresses[self._is_root], self.entry_addresses(rows))

    @cached_property
    def _is_root(self) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = (self.flags != _NORMAL) | (self.masks & _HEAP_ONLY == 0)
        return found

    @cached_property
    def _roots(self) -> npt.NDArray[np.int64]:
        """The place of each pointer's root."""
        following = self._following
        roots = np.arange(len(self.addresses))
        reached = np.flatnonzero(self._is_root & (following >= 0))
        for _ in range(_LONGEST_CHAIN):
            roots[following[reached]] = roots[reached]
            reached = following[reached]
            reached = reached[following[reached] >= 0]
        return roots

    @cached_property
    def _following(self) -> npt.NDArray[np.int64]:
        """The place of the pointer that each leads to in its chain; -1: none."""
        count = len(self.addresses)
        blocks = self.addresses // OFFSETS * OFFSETS
        redirects = self.flags == _REDIRECT
        updated = (self.flags == _NORMAL) & (self.masks & _HOT_UPDATED != 0)
        wanted = np.where(redirects, blocks + self.offsets, np.where(updated, self.nexts, -1))
        places = np.minimum(np.searchsorted(self.addresses, wanted), max(0, count - 1))
        leads = (wanted >= 0) & (self.addresses[places] == wanted) & (self.flags[places] == _NORMAL)
        leads &= self.masks[places] & _HEAP_ONLY != 0
        # Of an update that was rolled back, the new version may be gone and its place another's.
        leads &= redirects | (self.ended == self.created[places])
        return np.where(leads, places, -1)


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """NULL, as a dead pointer has for all of a version, is 0."""
    filled = column.cast(pa.int64()).fill_null(0)
    return np.asarray(filled.to_numpy(), dtype=np.int64)
