"""Describing and reading a database: all that a verification needs.

An `Endpoint` lives on the driver and describes a database. A `Reader` runs on executors: it is picklable, does not
import Spark and opens its own connections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from tieout.errors import UnsupportedError
from tieout.model.canonical_kinds import Kind
from tieout.model.digests import Digest
from tieout.model.keys import Key, KeyRange
from tieout.model.tables import Column, Table, TableName

if TYPE_CHECKING:
    import pyarrow as pa  # a command that only lists jobs must not wait for this import

    from tieout.connectors.protocols.paths import Path, TablePath

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint can do. A flow refuses what needs a missing capability, or plans around it, and says why.

    `family`: the same for endpoints whose own hashes are comparable.
    `native_hash`: the engine's own hash, mixed so that its sum is a digest.
    `bucket_hash`: the engine's own hash by bucket of the key, so that both sides need no common order.
    `sql_hash`: a cryptographic hash of canonical text.
    `activity`: `Reader.activity` can show that nobody wrote between two moments.
    `raw_row_format`: names the format in which the server sends rows, if `Reader.raw_rows` can return them unparsed.
    Two endpoints with the same name send equal values of one type as equal bytes.
    `writable`: the connector has a `Writer`.
    `moves_only_within`: rows can move only between endpoints of this family.
    `classed`: values have classes of their own, whatever their column's type is. `ScanColumn.classed` and
    `Reader.stored` deal with them.
    `rows`: it has rows to compare; a feed of changes has none.
    `untested`: names a dialect that no test runs on.
    """

    family: str
    native_hash: bool = False
    bucket_hash: bool = False
    sql_hash: bool = False
    activity: bool = False
    raw_row_format: str | None = None
    writable: bool = False
    moves_only_within: bool = False
    classed: bool = False
    rows: bool = True
    untested: str | None = None


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """A column to read in the canonical form `kind`.

    `expression`, the user's SQL, replaces it if it is set: `column` has the type of the result (`Endpoint.computed`).
    `classed`: reads it in a mover's tab form instead, in which a letter is the class of a value.
    """

    column: Column
    kind: Kind
    expression: str | None = None
    classed: bool = False

    @property
    def name(self) -> str:
        return self.column.name


@dataclass(frozen=True, slots=True)
class Scan:
    """The columns to read from one table, in order, and the condition on its rows.

    `key` has the places of the key's columns in `columns`. `ordered_by` is the same as `key` if the engine sorts it in
    an order that key ranges can use; otherwise it is empty. `through` is SQL behind the table's name that forces the
    path by which the engine reads it.
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
    """How the engine hashes rows: with its `native` hash or a cryptographic one. Each job has its own seed."""

    native: bool
    bits: int
    seed: int


class NeedsCautiousReader(Exception):
    """The driver can't represent a value. The caller drops what it has read and reads again with `cautious()`."""


class Reader(Protocol):
    """Reads one endpoint, and writes nothing. Runs on executors: picklable, does not import Spark.

    Every method may raise an EndpointError; transient ones are retried. Connectors inherit from this class: methods
    with a body are optional, and their body is what an engine without the capability does.
    """

    def read(self, scan: Scan, keys: KeyRange) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a key range: the scan's columns in order, each in a wire form that `decode` takes.

        May raise NeedsCautiousReader, even after the first batches.
        """

    def cautious(self) -> Reader:
        """Returns a slower reader that reads more values, or this one if it never raises NeedsCautiousReader."""
        return self

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        """Yields the rows with these keys. May also yield rows whose keys the engine considers equal to them."""

    def finds(self, scan: Scan) -> bool:
        """Returns whether `lookup` finds every row: False if the engine may write a key's value in several ways."""

    def count(self, scan: Scan, keys: KeyRange) -> int:
        """Returns the exact number of rows in a key range."""

    def bounds(self, scan: Scan, keys: KeyRange, rows: int, most: int) -> list[Key]:
        """Returns up to `most` keys that divide the key range every `rows` rows, in the order of the key's index."""

    def digest(self, scan: Scan, keys: KeyRange, spec: HashSpec) -> Digest:
        """Returns the digest of a key range, computed by the engine (`native_hash`, `sql_hash`)."""
        raise UnsupportedError("the engine has no hash that Tieout uses")

    def stored(self, column: ScanColumn, texts: pa.Array) -> pa.Array:
        """Returns what `read` would yield of a column into which a mover has written these texts of tab form, in which
        a letter is the class of a value.
        """
        raise UnsupportedError("values have no classes of their own")

    def activity(self) -> str | None:
        """Returns a mark that changes whenever anybody writes to the database; None if the engine has none."""
        return None

    def raw_rows(self, scan: Scan, keys: KeyRange) -> Iterator[pa.Array]:
        """Yields the rows of a key range, each as the bytes that the server sent (`raw_row_format`)."""
        raise UnsupportedError("the connector can't return unparsed rows")

    def can_share_snapshot(self, scan: Scan) -> bool:
        """Returns whether several reads of this table can share a snapshot."""
        return False

    def shared_snapshot(self) -> AbstractContextManager[Reader]:
        """Gives the block a reader that sees the snapshot taken at its start. That reader is not picklable."""
        raise UnsupportedError("several reads can't share a snapshot")


R = TypeVar("R", "Reader", "TablePath", "Path")


def retry_cautiously(reader: R, consume: Callable[[R], T]) -> T:
    """Returns `consume(reader)`. If the driver gives up, calls it again with the cautious reader: no partial result."""
    while True:
        try:
            return consume(reader)
        except NeedsCautiousReader:
            reader = reader.cautious()


class Endpoint(Protocol):
    """Describes a database. Lives on the driver and writes nothing. Every method may raise an EndpointError."""

    capabilities: Capabilities
    version: str
    """Engine and version, as people read them."""

    @property
    def names_schema(self) -> bool:
        """Whether the URL names the default schema: then nobody expects to read tables of another one by default."""

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        """Returns the tables of those of these schemas that exist; without `schemas`, those of the default schema.

        Neither views nor temporary tables. Tieout's own tables are among them: flows leave them out.
        """

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        """Returns the tables' descriptions in the same order. MissingObjectError if one does not exist.

        A verification needs names, types, orders, the key and its indexes; a repair constraints, defaults and generated
        columns, too. An unknown number of rows is None.
        """

    def schemas(self) -> list[str]:
        """Returns the schemas whose tables the user may read, even empty ones; without the engine's own."""

    def computed(self, table: Table, column: Column, expression: str) -> Column:
        """Returns the column as the user's SQL computes it: with the type of the result, where the engine has types.

        An EndpointError if the engine refuses the expression. Reads no rows.
        """

    def default_schema(self) -> str:
        """Returns the schema of names that are written without one."""

    def reader(self) -> Reader:
        """Returns a reader for executors. Does not connect."""

    @property
    def round_trip(self) -> float:
        """Seconds that the smallest query takes, from which plans tell a slow link from a fast one."""

    def position(self) -> str | None:
        """Returns the position in the change log that a read started now would see; None without such a log."""

    def close(self) -> None:
        """Closes the connection, if one is open. Readers stay usable."""
