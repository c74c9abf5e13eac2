"""A path that a statement takes: a scan, forced to read through the table or through an index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tieout.connectors.base import Reader, Scan, ScanColumn
from tieout.model.keys import EVERYTHING, KeyRange

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ScanPath:
    """The first `wide` columns of the scan are the address. `ranges` of keys are all of it."""

    reader: Reader
    scan: Scan
    wide: int
    evidence: str
    ranges: tuple[KeyRange, ...] = (EVERYTHING,)

    @property
    def address(self) -> tuple[ScanColumn, ...]:
        return self.scan.columns[: self.wide]

    @property
    def columns(self) -> tuple[ScanColumn, ...]:
        return self.scan.columns[self.wide :]

    def parts(self, most: int) -> tuple[KeyRange, ...]:
        return self.ranges

    def read(self, part: KeyRange) -> Iterator[pa.RecordBatch]:
        return self.reader.read(self.scan, part)

    def cautious(self) -> ScanPath:
        return replace(self, reader=self.reader.cautious())

    def versions(self, part: KeyRange) -> None:
        """Statements read by snapshots: an entry that they see leads to a row that they see."""
