"""The place of a Reader for tables that only a Spark session can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

from tieout.connectors.protocols.endpoint import HashSpec, Reader, Scan
from tieout.errors import UnsupportedError
from tieout.model.digests import Digest
from tieout.model.keys import Key, KeyRange

if TYPE_CHECKING:
    import pyarrow as pa


class SessionOnly(Reader):
    """Stands where a Reader does and refuses all that one does on executors, which have no session.

    Flows ask a side whether it has one of these, and leave its rows to Spark.
    """

    def read(self, scan: Scan, keys: KeyRange) -> Iterator[pa.RecordBatch]:
        _refuse()

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        _refuse()

    def finds(self, scan: Scan) -> bool:
        return False

    def count(self, scan: Scan, keys: KeyRange) -> int:
        _refuse()

    def bounds(self, scan: Scan, keys: KeyRange, rows: int, most: int) -> list[Key]:
        _refuse()

    def digest(self, scan: Scan, keys: KeyRange, spec: HashSpec) -> Digest:
        _refuse()


def _refuse() -> NoReturn:
    raise UnsupportedError("only a Spark session can read this table, and executors have none")
