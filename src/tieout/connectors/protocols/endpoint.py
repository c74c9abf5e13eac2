"""What a connector is: a few small protocols, and capabilities that flows ask.

An `Endpoint` lives on the driver and describes a database. A `Reader` runs on executors: it is
picklable, knows nothing of Spark and opens its own connections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from tieout.model.canonical_kinds import Kind
from tieout.model.digests import Digest
from tieout.model.keys import Key, KeyRange
from tieout.model.tables import Column, Table, TableName

if TYPE_CHECKING:
    import pyarrow as pa  # which a command that only lists jobs does not wait for

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint can do; a capability that it lacks is refused or planned around, with a reason.

    `native_hash`: the engine's own hash, mixed so that its sum is a digest. `sql_hash`: a cryptographic
    hash of canonical text. `bucket_hash`: its own hash by bucket of the key, so that no common order is needed.
    `activity`: can tell that nothing was written between two moments. `raw_row_format`: the name of the form in which its
    server sends rows, if a reader can hand them out so; two of that name send the same value of one type alike.
    `family` is the same for endpoints whose own hashes are comparable. `moves_only_within`: rows are moved inside of it
    alone. `untested` names a dialect that no test runs on.
    """

    family: str
    native_hash: bool = False
    bucket_hash: bool = False
    sql_hash: bool = False
    activity: bool = False
    raw_row_format: str | None = None
    writable: bool = False
    moves_only_within: bool = False
    untested: str | None = None


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """A column to read in the form of a kind; `expression` (the user's SQL) stands in for it, if given."""

    column: Column
    kind: Kind
    expression: str | None = None

    @property
    def name(self) -> str:
        return self.column.name


@dataclass(frozen=True, slots=True)
class Scan:
    """What to read of one table: columns in order, which of them are the key, and which rows.

    `ordered_by` is the key if the engine sorts it in an order that ranges can be cut in; else empty. `through` is SQL
    behind the table's name that forces the path by which it is read.
    """

    table: Table
    columns: tuple[ScanColumn, ...]
    key: tuple[int, ...] = ()
    ordered_by: tuple[int, ...] = ()
    where: str | None = None
    through: str | None = None

    @property
    def key_columns(self) -> tuple[ScanColumn, ...]:
        return tuple(self.columns[place] for place in self.key)

    @property
    def order_columns(self) -> tuple[ScanColumn, ...]:
        return tuple(self.columns[place] for place in self.ordered_by)


@dataclass(frozen=True, slots=True)
class HashSpec:
    """How an engine hashes on its own side. `native` or cryptographic; the seed lives for one job."""

    native: bool
    bits: int
    seed: int


class NeedsCautiousReader(Exception):
    """A driver met a value it can't represent, perhaps after rows were handed out: read again, cautiously."""


class Reader(Protocol):
    """Reads one endpoint. Runs on executors: picklable, knows nothing of Spark."""

    def read(self, scan: Scan, keys: KeyRange) -> Iterator[pa.RecordBatch]:
        """The rows of a range, the scan's columns in order, each in a wire form that `decode` takes."""

    def cautious(self) -> Reader:
        """A reader of the same endpoint that is slower and gets further, or the same one, if it never starts over."""

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        """The rows with these keys, and perhaps others that the engine takes for the same."""

    def finds(self, scan: Scan) -> bool:
        """Whether `lookup` finds every row that has a key: not if an engine may write a key's value in several ways."""

    def count(self, scan: Scan, keys: KeyRange) -> int: ...

    def bounds(self, scan: Scan, keys: KeyRange, rows: int, most: int) -> list[Key]:
        """Up to `most` keys that cut the range every `rows` rows, counted by walking the key's index."""

    def digest(self, scan: Scan, keys: KeyRange, spec: HashSpec) -> Digest:
        """The digest of a range by the engine's own means."""

    def activity(self) -> str | None:
        """A mark that is the same only if nothing was written in between; None if it can't be told."""


@runtime_checkable
class SendsRows(Protocol):
    """A reader that can hand out rows as the server sends them."""

    def raw_rows(self, scan: Scan, keys: KeyRange) -> Iterator[pa.Array]:
        """The rows of a range, a value of bytes for each."""


@runtime_checkable
class Freezes(Protocol):
    """A reader that can read several times at one moment."""

    def freezes(self, scan: Scan) -> bool:
        """Whether that is so for this table."""

    def frozen(self) -> AbstractContextManager[Reader]:
        """A reader, until the block ends, that sees the moment at which it began. Not picklable."""


class MayStartOver(Protocol):
    """Its `cautious` is of the same sort."""

    def cautious(self) -> Any: ...


R = TypeVar("R", bound=MayStartOver)


def retry_cautiously(reader: R, consume: Callable[[R], T]) -> T:
    """`consume(reader)`, from the start with a more cautious one when the driver gives up. No half result gets out."""
    while True:
        try:
            return consume(reader)
        except NeedsCautiousReader:
            reader = reader.cautious()


class Endpoint(Protocol):
    """A database as the driver sees it. `close` gives back its connection."""

    capabilities: Capabilities
    version: str

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        """The tables of these schemas, of those there are; of the default one if none is named."""

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        """The tables in the order asked; MissingObjectError if one is not there."""

    def default_schema(self) -> str: ...

    def reader(self) -> Reader: ...

    @property
    def round_trip(self) -> float:
        """Seconds until the smallest of answers: what tells a slow link from a fast one."""

    def position(self) -> str | None:
        """The place in the change log that a read begun now would see, where there is one."""

    def close(self) -> None: ...
