"""The differences a job found, by the range they were found in; values are canonical text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, delete, func, insert, select

from tieout.meta.database import Database
from tieout.meta.ownership import touch
from tieout.meta.records import Side
from tieout.meta.schema import differences
from tieout.model.differences import Difference, DifferenceCounts, DifferenceKind, ValuePair
from tieout.model.truncated import restored, stored

CHUNK = 1000
"""Rows read or written at once."""


@dataclass(frozen=True, slots=True)
class Place:
    """The range that differences belong to."""

    job_id: str
    table_ordinal: int
    side: Side
    range_ordinal: int

    def parameters(self) -> dict[str, Any]:
        return {
            "of_job": self.job_id,
            "of_table": self.table_ordinal,
            "of_side": self.side,
            "of_range": self.range_ordinal,
        }


_AT_PLACE: tuple[ColumnElement[bool], ...] = (
    differences.c.job_id == bindparam("of_job"),
    differences.c.table_ordinal == bindparam("of_table"),
    differences.c.side == bindparam("of_side"),
    differences.c.range_ordinal == bindparam("of_range"),
)


class Differences:
    """Differences in the order of tables, ranges, and rows within a range."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(
        self,
        job_id: str,
        table_ordinal: int,
        range_ordinal: int,
        found: Sequence[Difference],
        *,
        side: Side = Side.BOTH,
    ) -> None:
        """Adds to the differences of a range. Not idempotent; `Ranges.record`, the usual way, is.

        For a range with too many to record at once: clear it, append them in several calls, and record it
        (with differences=None) after the last.
        """
        place = Place(job_id, table_ordinal, side, range_ordinal)
        with self._database.write() as connection:
            touch(connection, job_id)
            last = connection.scalar(select(func.max(differences.c.sequence)).where(*_AT_PLACE), place.parameters())
            first = 0 if last is None else last + 1
            _insert(connection, (_row(place, number, each) for number, each in enumerate(found, first)))

    def clear(self, job_id: str, table_ordinal: int, range_ordinal: int, *, side: Side = Side.BOTH) -> None:
        with self._database.write() as connection:
            touch(connection, job_id)
            _clear(connection, [Place(job_id, table_ordinal, side, range_ordinal)])

    def count(self, job_id: str, table_ordinal: int | None = None) -> DifferenceCounts:
        """Counts rows that differ, by kind; in a table without a key, each of several equal rows counts."""
        query = select(differences.c.kind, func.sum(differences.c.copies)).group_by(differences.c.kind)
        query = query.where(differences.c.job_id == job_id)
        if table_ordinal is not None:
            query = query.where(differences.c.table_ordinal == table_ordinal)
        with self._database.read() as connection:
            # PostgreSQL and MySQL sum integers as decimals.
            counted = {kind: int(rows) for kind, rows in connection.execute(query)}
        return DifferenceCounts(**counted)

    def iterate(self, job_id: str, table_ordinal: int | None = None, *, chunk: int = CHUNK) -> Iterator[Difference]:
        """Lazily, a chunk at a time: memory stays flat and no transaction stays open between chunks."""
        groups = select(differences.c.table_ordinal, differences.c.side).distinct()
        groups = groups.where(differences.c.job_id == job_id)
        groups = groups.order_by(differences.c.table_ordinal, differences.c.side)
        if table_ordinal is not None:
            groups = groups.where(differences.c.table_ordinal == table_ordinal)
        with self._database.read() as connection:
            found = connection.execute(groups).all()
        for ordinal, side in found:
            yield from self._of_table(job_id, ordinal, side, chunk)

    def _of_table(self, job_id: str, table_ordinal: int, side: str, chunk: int) -> Iterator[Difference]:
        base = (
            select(differences)
            .where(differences.c.job_id == job_id, differences.c.table_ordinal == table_ordinal)
            .where(differences.c.side == side)
            .order_by(differences.c.range_ordinal, differences.c.sequence)
        )
        rows = self._rows(base, chunk)
        while rows:
            yield from map(_difference, rows)
            last = rows[-1]
            # The rest of the range, then the ranges after it: each a plain walk of the primary key, on every engine.
            rest = base.where(differences.c.range_ordinal == last.range_ordinal, differences.c.sequence > last.sequence)
            rows = self._rows(rest, chunk)
            if len(rows) < chunk:
                after = base.where(differences.c.range_ordinal > last.range_ordinal)
                rows = [*rows, *self._rows(after, chunk - len(rows))]

    def _rows(self, query: Select[*tuple[Any, ...]], limit: int) -> Sequence[Any]:
        with self._database.read() as connection:
            return connection.execute(query.limit(limit)).all()


def replace_differences(connection: Connection, found: Mapping[Place, Sequence[Difference]]) -> None:
    """Makes these the differences of their ranges, in the caller's transaction."""
    _clear(connection, found)
    _insert(connection, (_row(place, i, each) for place, of_range in found.items() for i, each in enumerate(of_range)))


def _clear(connection: Connection, places: Iterable[Place]) -> None:
    parameters = [place.parameters() for place in places]
    if parameters:
        connection.execute(delete(differences).where(*_AT_PLACE), parameters)


def _insert(connection: Connection, rows: Iterator[dict[str, Any]]) -> None:
    while batch := list(islice(rows, CHUNK)):
        connection.execute(insert(differences), batch)


def _row(place: Place, number: int, difference: Difference) -> dict[str, Any]:
    return {
        "job_id": place.job_id,
        "table_ordinal": place.table_ordinal,
        "side": place.side,
        "range_ordinal": place.range_ordinal,
        "sequence": number,
        "table_name": difference.table,
        "kind": difference.kind,
        "key_values": {name: stored(value) for name, value in difference.key.items()},
        "column_values": {name: [stored(p.source), stored(p.target)] for name, p in difference.columns.items()},
        "copies": difference.copies,
    }


def _difference(row: Any) -> Difference:
    return Difference(
        table=row.table_name,
        kind=DifferenceKind(row.kind),
        key={name: restored(value) for name, value in row.key_values.items()},
        columns={name: ValuePair(*map(restored, pair)) for name, pair in row.column_values.items()},
        copies=row.copies,
    )
