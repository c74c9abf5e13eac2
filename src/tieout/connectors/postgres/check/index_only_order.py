"""The order of an index's entries where its pages can't be read: a scan of the index alone hands them out in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tieout.connectors.postgres.check.exported_snapshot import cursor_at
from tieout.connectors.postgres.check.index_only import ALONE, IndexOnlyScan, order_of_key
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.protocols.check import IndexColumn
from tieout.connectors.protocols.paths import Disorder
from tieout.connectors.sql.index_scan import MOST, ComparesNeighbours, neighbours

_DIALECT = PostgresDialect()


@dataclass(frozen=True)
class OrderedIndexOnlyScan(IndexOnlyScan, ComparesNeighbours):
    """The planner trusts the order of the index, and sorts nothing: what it hands out stands so in the index."""

    def order_of(self, part: None) -> list[Disorder]:
        with cursor_at(self.url, self.moment, ALONE, arrow=True) as cursor:
            cursor.execute(self.order_statement())
            found = cursor.fetch_arrow_table()
        keys = [key.read for key in self.keys]
        return neighbours(keys, [column.combine_chunks() for column in found.columns])

    def order_statement(self) -> str:
        """SQL: neighbours of which the second should be first, the keys of one and then of the other."""
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
    """The same, able to tell the order of entries, if the server goes through them for that as they stand."""
    ordered = OrderedIndexOnlyScan(**{field.name: getattr(scan, field.name) for field in fields(scan)})
    return ordered if scan.is_ordered and ordered.shows_order() else scan


def _is_after(keys: tuple[IndexColumn, ...]) -> str:
    """SQL: whether key a belongs behind key b, by the operators that ORDER BY goes by."""
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
