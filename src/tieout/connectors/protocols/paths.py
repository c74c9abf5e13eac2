"""Reading rows and index entries to check them.

Entries are read by two paths: through the table, which shows what the index should hold, and through the index itself.
Each path has `evidence` that the engine took it.

The engine itself finds rows that violate constraints, and values that break rules: Tieout writes the rules in the
engine's SQL, tests all rules of a table at once and reads only what breaks one. If the engine fails on a value,
everything that it reads with it ends in an error, so the check divides the key range until the value is alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.constraints import ConstraintInfo
from tieout.model.failures import FailureKind
from tieout.model.keys import Key
from tieout.model.tables import Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


class Path(Protocol):
    """A way to read rows or entries. Runs on executors: picklable. A batch has columns for `address`, then `columns`.

    An address leads from an entry to its row. Without addresses, rows and entries are compared as multisets.
    """

    @property
    def address(self) -> tuple[ScanColumn, ...]: ...

    @property
    def columns(self) -> tuple[ScanColumn, ...]: ...

    @property
    def evidence(self) -> str:
        """How it is known that the engine takes this path, for the report."""

    @property
    def division(self) -> Any:
        """What `parts` are computed from, as JSON. A resumed job passes it to `divided_by` to get the same parts."""

    def divided_by(self, division: Any) -> Self:
        """Returns this path with an earlier division."""

    def parts(self, most: int) -> Sequence[Any]:
        """Returns up to `most` parts of about the same size that together are the whole path. Parts are picklable."""

    def read(self, part: Any) -> Iterator[pa.RecordBatch]:
        """Yields the rows or entries of a part. May raise NeedsCautiousReader, even after the first batches."""

    def cautious(self) -> Self:
        """Returns a slower path that reads more values, or this one if it never raises NeedsCautiousReader."""

    def coverage_gap(self, entries: int) -> str | None:
        """Returns why there may be more entries than the number that was read; None if there can't be."""


Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Disorder:
    """Two adjacent entries of an index in the wrong order, as canonical text of their columns.

    `place`: where they are, in the engine's words. `page`: the page number of the first one, where there are pages.
    """

    first: Values
    second: Values
    place: str = field(compare=False)
    page: int = field(default=0, compare=False)


@runtime_checkable
class ChecksOrder(Protocol):
    """An index path that can also check the order of entries. `order_of` runs on executors, the rest on the driver."""

    def order_parts(self, most: int) -> Sequence[Any]:
        """Returns up to `most` parts that together are the whole index."""

    def order_of(self, part: Any) -> Any:
        """Returns what `disorders` needs to know about one part; picklable."""

    def disorders(self, parts: Sequence[Any]) -> list[Disorder]:
        """Returns the adjacent entries that seem to be in the wrong order, from the results for all parts."""

    def still_wrong(self, suspects: Sequence[Disorder]) -> list[Disorder]:
        """Reads again, at least where the suspects are, and returns what is in the wrong order now."""


@dataclass(frozen=True, slots=True)
class Unfound:
    """A row that an index does not lead to: its address, and the prefixes of columns by which it should be found."""

    address: Values
    beginnings: Values


@dataclass(frozen=True, slots=True)
class UnfoundRows:
    """`truncated`: there may be more rows."""

    rows: tuple[Unfound, ...]
    truncated: bool


@runtime_checkable
class LooksRowsUp(Protocol):
    """An index path that can't show all that its entries hold: it looks rows up by the rest."""

    def unfound(self, most: int) -> UnfoundRows:
        """Returns up to `most` rows of one snapshot that the index does not find by their values. Runs on executors."""


@runtime_checkable
class FollowsEntries(Protocol):
    """An index path without addresses that can still find the rows that entries lead to."""

    def follow(self, values: Sequence[str | None], columns: Sequence[ScanColumn]) -> pa.Table | None:
        """Returns the rows that entries with these values lead to: the address, then the columns. None if unknown."""


class RowVersions(Protocol):
    """Row versions that entries may point to besides the visible rows, in engines whose addresses are numbers."""

    def entry_addresses(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns the addresses that entries hold for the rows at these addresses."""

    def invisible(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns the addresses that entries may hold and that belong to none of these rows."""


class TablePath(Path, Protocol):
    """The path through the table, which shows what several indexes should hold.

    The condition of a partial index is a column too: an expression of type BOOLEAN. `has_versions`: entries may hold
    another address for a row than the row has. `can_share_snapshot`: several reads of this table can share a snapshot.
    """

    @property
    def has_versions(self) -> bool: ...

    @property
    def can_share_snapshot(self) -> bool: ...

    def shared_snapshot(self) -> AbstractContextManager[Callable[[Any], Any]]:
        """Gives the block a function that makes any path of this table read one snapshot. Runs on executors.

        Called only if `can_share_snapshot`.
        """

    def versions(self, part: Any) -> RowVersions | None:
        """Returns the row versions of a part; None if readers see everything that an entry may point to."""


@dataclass(frozen=True, slots=True)
class NotCheckable:
    """Why a check can't run: no path leads through the index, or the engine can't test rows for the constraint."""

    reason: str


SHOWN_BYTES = 200
"""How much of a value reports show."""


@dataclass(frozen=True, slots=True)
class ValueRule:
    """A rule for the values of a column. `says` is the rule in words, and part of what identifies a stored failure:
    another wording would make every known failure a new one.

    `broken`: a condition in the engine's SQL that is true for a row whose value is wrong.
    `shown`: what to report about such a row, as names and SQL expressions that return bytes or text.
    `constraint`: the name under which constraint checks test the same rule, if they do.
    """

    kind: FailureKind
    column: str
    says: str
    broken: str
    shown: tuple[tuple[str, str], ...]
    constraint: str | None = None


@dataclass(frozen=True, slots=True)
class BrokenValue:
    """A row that breaks a rule. `rule` is its number; None if the row can't be read at all.

    `place`: the row address as the engine writes it. `error`: the engine's message, if it failed.
    """

    rule: int | None
    kind: FailureKind
    place: str | None
    key: tuple[str | None, ...] | None
    shown: tuple[tuple[str, str | None], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """How many rows there are, and how many of them break each tested rule."""

    rows: int
    broken: tuple[int, ...]


class UnreadableValue(Exception):
    """The engine failed on a value. Never leaves the executor. `kind`: the failure, if the message shows which."""

    def __init__(self, kind: FailureKind | None, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class ValuePath(Protocol):
    """Tests the values of a table. Runs on executors: picklable.

    Methods that read raise UnreadableValue if the engine fails on a value. Any other error says nothing about the data.
    """

    @property
    def rules(self) -> tuple[ValueRule, ...]: ...

    @property
    def unchecked_columns(self) -> tuple[tuple[str, str], ...]:
        """Columns for which some rule can't be tested, and why."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify rows in failures."""

    @property
    def evidence(self) -> str:
        """How it is known that the engine takes this path, for the report."""

    def parts(self, most: int) -> Sequence[Any]:
        """Returns up to `most` parts that together are the whole table. Parts are picklable."""

    def pieces(self, part: Any) -> Iterator[Any]:
        """Divides a part into pieces, each for one statement."""

    def count_broken(self, piece: Any, rules: Sequence[int]) -> RuleCounts:
        """Counts the rows of a piece, and those that break each of these rules."""

    def broken(self, piece: Any, rules: Sequence[int]) -> list[BrokenValue]:
        """Returns the rows that break one of these rules, once for each rule."""

    def halves(self, piece: Any) -> Sequence[Any]:
        """Divides a piece in two; empty if it is a single row or place."""

    def row_of(self, piece: Any) -> tuple[str | None, tuple[str | None, ...] | None]:
        """Returns address and key of the only row of a piece, as far as the engine can read them."""


@dataclass(frozen=True, slots=True)
class EngineFinding:
    """A message of the engine's own checker, and what it is about, as far as the message says."""

    message: str
    index: str | None = None
    column: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """The result of the engine's own checker for one table. `unchecked`: why it did not finish.

    `absent`: it could not start because the server does not have it; `unchecked` says what to install.
    """

    name: str
    statement: str
    findings: tuple[EngineFinding, ...] = ()
    unchecked: str | None = None
    absent: bool = False


def shown_text(raw: bytes | str | None) -> str | None:
    """Returns a value as reports show it: text, or hexadecimal if the bytes are not valid text."""
    if raw is None:
        return None
    if isinstance(raw, str):
        try:
            raw.encode()
        except UnicodeEncodeError:
            return shown_text(raw.encode("utf-8", "surrogateescape"))
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        # The last character may have been cut in two.
        if len(raw) >= SHOWN_BYTES and error.start >= len(raw) - 3:
            return raw[: error.start].decode()
    return f"0x{raw.hex()}"


@dataclass(frozen=True, slots=True)
class OnlyRows:
    """Some rows of a table, by their keys: canonical text, in the order of `Table.key`.

    A constraint of single rows is tested on these. A key must be unique among these and all rows with the same values.
    A foreign key is tested on these and on the rows that refer to its `parents`: values of the parent's columns in the
    order of the reference, by the foreign key's name. The engine may use any index to find the rows.
    """

    keys: tuple[Key, ...] = ()
    parents: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)


class QueryRunner(Protocol):
    """Runs queries that only read. Runs on executors: picklable, opens its own connections."""

    def rows(self, statement: str, columns: Sequence[ScanColumn]) -> Iterator[pa.RecordBatch]:
        """Yields the result, each column in a wire form that `decode` takes."""

    def numbers(self, statement: str) -> tuple[int, int]:
        """Returns the two numbers of a result with one row."""


@dataclass(frozen=True, slots=True)
class ViolationQuery:
    """Two queries for a part of the rows. `probe` counts the tested rows, and those that may violate a constraint.

    If it counts none of the latter, `listing`, which returns them, need not run. If `sure`, each counted row does
    violate the constraint, so `listing` must return some.
    """

    probe: str
    listing: str
    sure: bool = True


@dataclass(frozen=True)
class Violations:
    """How to find the rows that violate constraints: several that each row can be tested for alone, or one other.

    A batch of a listing has columns for `address`, then for the row's `key`, then for `values`, the columns of the
    constraints, then for `marks`. For constraints of single rows, there is one mark for each: whether the row violates
    it. For a key, there is one: a number that rows with the same values share. For a foreign key, there is none.
    """

    constraints: tuple[ConstraintInfo, ...]
    runner: QueryRunner
    address: tuple[ScanColumn, ...]
    key: tuple[ScanColumn, ...]
    values: tuple[ScanColumn, ...]
    marks: tuple[ScanColumn, ...]
    parts: tuple[ViolationQuery, ...]
    evidence: str

    @property
    def columns(self) -> tuple[ScanColumn, ...]:
        return (*self.address, *self.key, *self.values, *self.marks)


def exact_columns(table: Table, names: Sequence[str]) -> list[ScanColumn]:
    """Returns those of the columns that can be read exactly."""
    kinds = [(table.column(name), common_kind(table.column(name).type, table.column(name).type)) for name in names]
    return [ScanColumn(column, kind) for column, kind in kinds if isinstance(kind, Kind)]


def exact_key(table: Table) -> tuple[ScanColumn, ...]:
    """Returns the key's columns, which identify rows; empty if one of them can't be read exactly."""
    columns = exact_columns(table, table.key)
    return tuple(columns) if len(columns) == len(table.key) else ()
