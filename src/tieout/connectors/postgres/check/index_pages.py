"""An index read from its own pages: no planner, and no other index that is alike, stands in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tieout.codecs.postgres_pages.values import undecodable
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.check.btree_catalog import BTree
from tieout.connectors.postgres.check.heap import ADDRESS, MOST_BLOCKS, Blocks, block_parts
from tieout.connectors.postgres.check.index_reader import IndexReader
from tieout.connectors.postgres.check.key_order import KeyOrder, key_order
from tieout.connectors.postgres.check.page_order import Ends, PageOrder
from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Disorder, Unreadable
from tieout.errors import AccessError, ReadError, UnsupportedError
from tieout.model.tables import TableName


@dataclass(frozen=True)
class IndexPages:
    """`blocks` is how many there were when the check began."""

    reader: IndexReader
    tree: BTree
    columns: tuple[ScanColumn, ...]
    blocks: int
    order: KeyOrder
    address: tuple[ScanColumn, ...] = (ADDRESS,)

    @property
    def evidence(self) -> str:
        return f"the leaf pages among the {self.blocks:,} blocks of {self.tree.name}"

    @property
    def extent(self) -> int:
        return self.blocks

    def cut_as(self, extent: int) -> IndexPages:
        return replace(self, blocks=extent)

    def parts(self, most: int) -> list[Blocks]:
        return block_parts(self.blocks, most)

    def cautious(self) -> IndexPages:
        return self

    def order_parts(self, most: int) -> list[Blocks]:
        return self.parts(most if self.order.amcheck is None else 1)

    def order_of(self, part: Blocks) -> tuple[list[Disorder], list[Ends]]:
        if self.order.is_sound(self.tree.name):
            return [], []
        return self._order.read(part.low, MOST_BLOCKS if part.high is None else part.high)

    def disorders(self, parts: Sequence[tuple[list[Disorder], list[Ends]]]) -> list[Disorder]:
        within = [each for wrong, _ in parts for each in wrong]
        return within + self._order.between([each for _, ends in parts for each in ends])

    def still_wrong(self, suspects: Sequence[Disorder]) -> list[Disorder]:
        return self._order.again(suspects)

    @property
    def _order(self) -> PageOrder:
        return PageOrder(self.reader, self.tree, self.order, self.columns)

    def unseen(self, entries: int) -> None:
        """Pages have all that there is."""

    def read(self, part: Blocks) -> Iterator[pa.RecordBatch]:
        for entries in self.reader.entries(self.tree, part.low, MOST_BLOCKS if part.high is None else part.high):
            arrays = [pa.array(entries.addresses), *entries.values.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=[str(place) for place in range(len(arrays))])


def index_pages(url: EndpointUrl, index: IndexInfo) -> IndexPages | Unreadable:
    """Unreadable without pageinspect, without the right to use it, or with values that are not decoded."""
    reader = IndexReader(url)
    try:
        tree = reader.find(TableName(index.table.name.schema, index.name))
        # Whether this user may. To the end: what is left in the middle takes its connection with it.
        list(reader.entries(tree, 0, 1))
    except (UnsupportedError, AccessError, ReadError) as error:
        return Unreadable(str(error))
    for attribute in tree.attributes:
        reason = undecodable(attribute)
        if reason is not None:
            return Unreadable(f"{attribute.expression}: {reason}")
    columns = tuple(column.read for column in index.columns)
    return IndexPages(reader, tree, columns, reader.blocks(tree), key_order(url, tree))
