"""Two ways to read an index: from its own pages, and by statements that the server answers from the index alone.

With pages, neither a planner nor another index that is alike stands in between. Without them, entries come in the order
of a scan of the index alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pyarrow as pa

from tieout.codecs.postgres_pages.values import undecodable
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.check.exported_snapshot import cursor_at
from tieout.connectors.postgres.check.heap import ADDRESS, ADDRESS_SQL, MOST_BLOCKS, Blocks, block_parts
from tieout.connectors.postgres.check.index_reader import BTree, IndexReader
from tieout.connectors.postgres.check.key_order import Ends, KeyOrder, PageOrder, key_order
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.snapshot import unwrapped
from tieout.connectors.protocols.check import IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Disorder, NotCheckable
from tieout.connectors.sql.index_scan import MOST, ComparesNeighbours, neighbours
from tieout.connectors.sql.select import wires
from tieout.errors import AccessError, ReadError, UnsupportedError
from tieout.model.tables import TableName


@dataclass(frozen=True)
class IndexPages:
    """Reads entries from the pages. `blocks` is how many there were when the check began."""

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
    def division(self) -> int:
        return self.blocks

    def divided_by(self, division: int) -> IndexPages:
        return replace(self, blocks=division)

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

    def coverage_gap(self, entries: int) -> None:
        """Nothing: pages contain all entries."""

    def read(self, part: Blocks) -> Iterator[pa.RecordBatch]:
        for entries in self.reader.entries(self.tree, part.low, MOST_BLOCKS if part.high is None else part.high):
            arrays = [pa.array(entries.addresses), *entries.values.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=[str(place) for place in range(len(arrays))])


def index_pages(url: EndpointUrl, index: IndexInfo) -> IndexPages | NotCheckable:
    """NotCheckable without pageinspect, without the privilege to use it, or if values can't be decoded."""
    reader = IndexReader(url)
    try:
        tree = reader.find(TableName(index.table.name.schema, index.name))
        # Tests the privilege. Read to the end: a stream that is left in the middle closes its connection.
        list(reader.entries(tree, 0, 1))
    except (UnsupportedError, AccessError, ReadError) as error:
        return NotCheckable(str(error))
    for attribute in tree.attributes:
        reason = undecodable(attribute)
        if reason is not None:
            return NotCheckable(f"{attribute.expression}: {reason}")
    columns = tuple(column.read for column in index.columns)
    return IndexPages(reader, tree, columns, reader.blocks(tree), key_order(url, tree))


_DIALECT = PostgresDialect()
ALONE = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off", "enable_incremental_sort": "off"}
# Unlike an index scan, a bitmap scan marks no entries as dead, so that the next check finds them, too.
_FOLLOWING = {"enable_seqscan": "off", "enable_indexscan": "off", "enable_indexonlyscan": "off"}


@dataclass(frozen=True)
class IndexOnlyScan:
    """Entries without addresses, in a snapshot."""

    url: EndpointUrl
    index: IndexInfo
    snapshot: str
    evidence: str = ""
    address: tuple[ScanColumn, ...] = ()
    is_ordered: bool = True

    @property
    def columns(self) -> tuple[ScanColumn, ...]:
        return tuple(column.read for column in self.index.columns)

    @property
    def keys(self) -> tuple[IndexColumn, ...]:
        return tuple(column for column in self.index.columns if not column.included)

    @property
    def division(self) -> None:
        return None

    def divided_by(self, division: None) -> IndexOnlyScan:
        return self

    def parts(self, most: int) -> list[None]:
        return [None]

    def cautious(self) -> IndexOnlyScan:
        return self

    def read(self, part: None) -> Iterator[pa.RecordBatch]:
        with cursor_at(self.url, self.snapshot, ALONE, arrow=True) as cursor:
            cursor.execute(self._statement())
            for batch in cursor.fetch_record_batch():
                yield unwrapped(batch)

    def coverage_gap(self, entries: int) -> str | None:
        """A second scan counts: if the server did not look up rows in the table, it left out no entry."""
        plan = self.explained(self._statement(), ALONE, "ANALYZE, TIMING OFF, ")
        fetched, there = int(plan["Heap Fetches"]), int(plan["Actual Rows"])
        if fetched:
            return (
                f"entries of deleted rows can't be seen on pages that are not all-visible (the server read {fetched:,}"
                f" rows for {there:,} entries): VACUUM the table, or let this user use pageinspect"
            )
        if there != entries:
            return f"it had {entries:,} entries in one scan and {there:,} in the next: check it again"
        return None

    def follow(self, values: Sequence[str | None], columns: Sequence[ScanColumn]) -> pa.Table | None:
        """The rows that entries with these values lead to: address, then columns. None if that is unknown."""
        if not all(_DIALECT.finds(column) for column in self.columns):
            return None
        equal = [_equal(column, value) for column, value in zip(self.index.columns, values, strict=True)]
        listed = f"{ADDRESS_SQL} AS address, {wires(_DIALECT, columns)}"
        statement = f"SELECT {listed} FROM ONLY {self.table_sql}{self.where_sql([e for e in equal if e])}"
        plan = self.explained(statement, _FOLLOWING)
        (below,) = plan.get("Plans", [{}])
        if below.get("Index Name") != self.index.name or "Filter" in plan or "Index Cond" not in below:
            return None
        with cursor_at(self.url, self.snapshot, _FOLLOWING, arrow=True) as cursor:
            cursor.execute(statement)
            return cursor.fetch_arrow_table()

    def plan(self) -> dict[str, Any]:
        return self.explained(self._statement(), ALONE)

    def _statement(self) -> str:
        # In the order of the index: this keeps the planner from using an index with the same columns in another order.
        order = ", ".join(f"{_DIALECT.quote(key.name)}{order_of_key(key)}" for key in self.keys)
        statement = f"SELECT {wires(_DIALECT, self.columns)} FROM ONLY {self.table_sql}{self.where_sql()}"
        return f"{statement} ORDER BY {order}" if self.is_ordered else statement

    def where_sql(self, conditions: Sequence[str] = ()) -> str:
        """Includes the condition of a partial index: the planner trusts it, and does not test rows for it."""
        parts = [*conditions, *([f"({self.index.where})"] if self.index.where else [])]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    @property
    def table_sql(self) -> str:
        return _DIALECT.table(self.index.table.name)

    def explained(self, statement: str, settings: Mapping[str, str], options: str = "") -> dict[str, Any]:
        with cursor_at(self.url, self.snapshot, settings, arrow=False) as cursor:
            (plan,) = cursor.execute(f"EXPLAIN ({options}FORMAT JSON) {statement}").fetchone()
        found: dict[str, Any] = plan[0]["Plan"]
        return found


def index_only(url: EndpointUrl, index: IndexInfo, snapshot: str, why: str) -> IndexOnlyScan | NotCheckable:
    """`why` is the reason why pages can't be read; it becomes part of the reason if this way is closed, too."""
    computed = [column.name for column in index.columns if column.read.expression is not None]
    if computed:
        return NotCheckable(f"{why}; without them, the server may compute {computed[0]} instead of reading it")
    scan = IndexOnlyScan(url, index, snapshot)
    try:
        plan = scan.plan()
    except AccessError as error:
        return NotCheckable(str(error))
    if plan["Node Type"] == "Sort":  # an index with another collation or operator class has another order
        scan = replace(scan, is_ordered=False)
        plan = scan.plan()
    node, name = plan["Node Type"], plan.get("Index Name")
    if node != "Index Only Scan":
        return NotCheckable(f"{why}; and the server does not read it from the index alone: {node}")
    if name != index.name:
        return NotCheckable(f"{why}; without them, the server reads {name} instead, which has the same columns")
    return replace(scan, evidence=f"{node} using {name}, without addresses")


def order_of_key(column: IndexColumn) -> str:
    return f" {'DESC' if column.descending else 'ASC'} NULLS {'FIRST' if column.nulls_first else 'LAST'}"


def _equal(column: IndexColumn, value: str | None) -> str:
    """ "" for an included column: the planner could only test the row for it."""
    if column.included:
        return ""
    name = _DIALECT.quote(column.name)
    own = column.read.column
    return f"{name} IS NULL" if value is None else _DIALECT.compared(own, name, "=", _DIALECT.literal(own, value))


@dataclass(frozen=True)
class OrderedIndexOnlyScan(IndexOnlyScan, ComparesNeighbours):
    """The planner trusts the order of the index and does not sort, so rows come in the order of the entries."""

    def order_of(self, part: None) -> list[Disorder]:
        with cursor_at(self.url, self.snapshot, ALONE, arrow=True) as cursor:
            cursor.execute(self.order_statement())
            found = cursor.fetch_arrow_table()
        keys = [key.read for key in self.keys]
        return neighbours(keys, [column.combine_chunks() for column in found.columns])

    def order_statement(self) -> str:
        """SQL for adjacent entries in the wrong order: the keys of the first, then those of the second."""
        names = [_DIALECT.quote(key.name) for key in self.keys]
        listed = [f"{name} AS b{place}, lag({name}) OVER w AS a{place}" for place, name in enumerate(names)]
        order = ", ".join(f"{name}{order_of_key(key)}" for name, key in zip(names, self.keys, strict=True))
        source = (
            f"SELECT {', '.join(listed)}, row_number() OVER w AS place FROM ONLY {self.table_sql}{self.where_sql()}"
            f" WINDOW w AS (ORDER BY {order})"
        )
        sides = [_DIALECT.wire(key.read, f"{side}{place}") for side in "ab" for place, key in enumerate(self.keys)]
        both = ", ".join(f"{wire} AS c{place}" for place, wire in enumerate(sides))
        return f"SELECT {both} FROM ({source}) AS pairs WHERE place > 1 AND ({_is_after(self.keys)}) LIMIT {MOST + 1}"

    def shows_order(self) -> bool:
        nodes = list(_nodes(self.explained(self.order_statement(), ALONE)))
        scans = [node for node in nodes if "Index Name" in node]
        return not any("Sort" in node["Node Type"] for node in nodes) and [
            (node["Node Type"], node["Index Name"]) for node in scans
        ] == [("Index Only Scan", self.index.name)]


def in_order(scan: IndexOnlyScan) -> IndexOnlyScan:
    """A scan that can check the order of entries, if the server reads them in the order of the index."""
    ordered = OrderedIndexOnlyScan(**{field.name: getattr(scan, field.name) for field in fields(scan)})
    return ordered if scan.is_ordered and ordered.shows_order() else scan


def _is_after(keys: tuple[IndexColumn, ...]) -> str:
    """SQL that is true if key a belongs after key b, by the operators that ORDER BY uses."""
    cases = []
    for place, key in enumerate(keys):
        same = [f"NOT {_DIALECT.differ(keys[n].read.column, f'a{n}', f'b{n}')}" for n in range(place)]
        first, last = ("b", "a") if key.nulls_first else ("a", "b")
        misplaced = f"({first}{place} IS NULL AND {last}{place} IS NOT NULL)"
        sign = "<" if key.descending else ">"
        after = f"({_DIALECT.compared(key.read.column, f'a{place}', sign, f'b{place}')} OR {misplaced})"
        cases.append(" AND ".join([*same, after]))
    return " OR ".join(f"({case})" for case in cases)


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from _nodes(below)
