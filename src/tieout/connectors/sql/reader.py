"""Reads rows of a table on executors: what the readers of SQL engines share."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tieout.connectors.protocols.endpoint import Reader, Scan
from tieout.connectors.sql import select
from tieout.connectors.sql.dialect import Dialect
from tieout.model.keys import Key, KeyRange

if TYPE_CHECKING:
    import pyarrow as pa


class SqlReader(Reader):
    """A Reader whose statements the dialect writes. An engine adds how to run them, and `bounds`."""

    dialect: ClassVar[Dialect]

    @abstractmethod
    def batches(self, scan: Scan, statement: str) -> Iterator[pa.RecordBatch]:
        """Yields the result of a statement that selects the scan's columns."""

    @abstractmethod
    def first_row(self, scan: Scan, statement: str) -> Any:
        """Returns the first row of a statement's result; None if it is empty."""

    def read(self, scan: Scan, keys: KeyRange) -> Iterator[pa.RecordBatch]:
        yield from self.batches(scan, select.select(self.dialect, scan, select.within(self.dialect, scan, keys)))

    def finds(self, scan: Scan) -> bool:
        return select.finds(self.dialect, scan)

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        if keys:
            yield from self.batches(scan, select.select(self.dialect, scan, select.among(self.dialect, scan, keys)))

    def count(self, scan: Scan, keys: KeyRange) -> int:
        return int(self.first_row(scan, select.count(self.dialect, scan, select.within(self.dialect, scan, keys)))[0])


def file_activity(*paths: str) -> str:
    """Returns size and modification time of a database's files, as `Reader.activity` wants them."""
    marks = []
    for path in paths:
        try:
            state = os.stat(path)
            marks.append(f"{state.st_size}@{state.st_mtime_ns}")
        except OSError:
            marks.append("-")
    return " ".join(marks)
