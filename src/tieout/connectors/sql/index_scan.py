"""A path that a statement takes: a scan that is forced to read through the table or through an index.

The engine itself decides the order of an index's entries: a statement compares each entry with the one before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.connectors.protocols.endpoint import Reader, Scan, ScanColumn
from tieout.connectors.protocols.paths import Disorder, Values
from tieout.model.keys import Key, KeyRange, ranges_between
from tieout.model.truncated import LONGEST_IN_FAILURE

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ScanPath:
    """The first `wide` columns of the scan are the row address. `cuts` are keys, in order, at which the scan can be
    split.
    """

    reader: Reader
    scan: Scan
    wide: int
    evidence: str
    cuts: tuple[Key, ...] = ()

    @property
    def address(self) -> tuple[ScanColumn, ...]:
        return self.scan.columns[: self.wide]

    @property
    def columns(self) -> tuple[ScanColumn, ...]:
        return self.scan.columns[self.wide :]

    @property
    def has_versions(self) -> bool:
        return False

    @property
    def division(self) -> list[list[str]]:
        return [list(key) for key in self.cuts]

    def divided_by(self, division: list[list[str]]) -> ScanPath:
        return replace(self, cuts=tuple(tuple(key) for key in division))

    def parts(self, most: int) -> list[KeyRange]:
        wanted = min(most - 1, len(self.cuts))
        places = sorted({(number + 1) * (len(self.cuts) + 1) // (wanted + 1) - 1 for number in range(wanted)})
        return ranges_between([self.cuts[place] for place in places])

    def read(self, part: KeyRange) -> Iterator[pa.RecordBatch]:
        return self.reader.read(self.scan, part)

    def cautious(self) -> ScanPath:
        return replace(self, reader=self.reader.cautious())

    def coverage_gap(self, entries: int) -> str | None:
        """None: a reader of an index alone sees all its entries."""
        return None

    @property
    def can_share_snapshot(self) -> bool:
        return self.reader.can_share_snapshot(self.scan)

    @contextmanager
    def shared_snapshot(self) -> Iterator[Callable[[ScanPath], ScanPath]]:
        with self.reader.shared_snapshot() as reader:
            yield lambda path: replace(path, reader=reader)

    def versions(self, part: KeyRange) -> None:
        """None: statements read a snapshot, in which a visible entry leads to a visible row."""


PLACE = "one after the other"
"""A statement does not return where entries are stored."""


MOST = 10_000
"""The number of pairs to report. A changed collation makes a large part of all adjacent pairs wrong."""


class ComparesNeighbours(ABC):
    """Makes a path able to check order (ChecksOrder). It has one part by default.

    A statement sees one snapshot, so a pair that it finds wrong is wrong. `order_of` returns at most one more than
    MOST.
    """

    def order_parts(self, most: int) -> Sequence[Any]:
        return [None]

    @abstractmethod
    def order_of(self, part: Any) -> list[Disorder]: ...

    def disorders(self, parts: Sequence[list[Disorder]]) -> list[Disorder]:
        return [each for part in parts for each in part]

    def still_wrong(self, suspects: Sequence[Disorder]) -> list[Disorder]:
        return [each for part in self.order_parts(1) for each in self.order_of(part)]


def neighbours(columns: Sequence[ScanColumn], arrays: Sequence[pa.Array]) -> list[Disorder]:
    """Reads a statement's result: the columns of the first entries, then those of the second ones."""
    if not len(arrays[0]):
        return []
    fields = [decode(column.kind, array) for column, array in zip((*columns, *columns), arrays, strict=True)]
    rows: list[Values] = [
        tuple(field.kept(row, LONGEST_IN_FAILURE) for field in fields) for row in range(len(arrays[0]))
    ]
    return [Disorder(row[: len(columns)], row[len(columns) :], PLACE) for row in rows]
