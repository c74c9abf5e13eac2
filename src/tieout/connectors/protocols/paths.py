"""How rows are read to be checked: entries of indexes, rows that break constraints, values that break rules.

Entries are read by two paths: through the table, where they are what the index should hold, and through the index
itself. Each says how it is known to have taken that path.

Rows that break constraints are found by the engine itself; so are values: rules in its own SQL, all of a table's asked
at once, and only what breaks one is sent. A value that the engine itself fails on makes an error of all that is read
with it: the path is then asked of ever smaller parts.
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
    """A way to read, on executors: picklable. A batch has columns for `address`, then for `columns`.

    An address leads from an entry to its row. Without one, rows and entries are compared as multisets.
    """

    @property
    def address(self) -> tuple[ScanColumn, ...]: ...

    @property
    def columns(self) -> tuple[ScanColumn, ...]: ...

    @property
    def evidence(self) -> str: ...

    @property
    def division(self) -> Any:
        """What `parts` are cut by, as JSON."""

    def divided_by(self, division: Any) -> Self:
        """The same, cut as it was when that was its extent."""

    def parts(self, most: int) -> Sequence[Any]:
        """Up to so many, of about the same size, that are all of it; picklable."""

    def read(self, part: Any) -> Iterator[pa.RecordBatch]:
        """May raise NeedsCautiousReader, even after batches were handed out."""

    def cautious(self) -> Self:
        """The same, that never raises NeedsCautiousReader."""

    def coverage_gap(self, entries: int) -> str | None:
        """Why there may be more than the entries that were read, of which there were so many; None if not."""


Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Disorder:
    """Two neighbours in an index, of which the second should be before the first; by their columns' canonical text.

    `place` is where they are, in the engine's own words, `page` the number of the first one's, if there are pages.
    """

    first: Values
    second: Values
    place: str = field(compare=False)
    page: int = field(default=0, compare=False)


@runtime_checkable
class ChecksOrder(Protocol):
    """A path that can tell in which order entries are."""

    def order_parts(self, most: int) -> Sequence[Any]:
        """Up to so many that are all of it."""

    def order_of(self, part: Any) -> Any:
        """What it takes to know of one part; picklable."""

    def disorders(self, parts: Sequence[Any]) -> list[Disorder]:
        """What seems wrong in all parts together."""

    def still_wrong(self, suspects: Sequence[Disorder]) -> list[Disorder]:
        """What is wrong at another look, at least where these were."""


@dataclass(frozen=True, slots=True)
class Unfound:
    """A row that an index does not lead to: its address, and the beginnings of columns that it should be found by."""

    address: Values
    beginnings: Values


@dataclass(frozen=True, slots=True)
class UnfoundRows:
    """`cut`: there may be more."""

    rows: tuple[Unfound, ...]
    cut: bool


@runtime_checkable
class LooksRowsUp(Protocol):
    """A path that does not show all that its entries hold: rows are looked up by the rest."""

    def unfound(self, most: int) -> UnfoundRows:
        """Up to so many of the rows, of one moment, that are not found by what they are. On executors."""


@runtime_checkable
class AtMoments(Protocol):
    """A path of an engine that can show several reads one moment. `freezes`: if it does for this table."""

    @property
    def freezes(self) -> bool: ...

    def frozen(self) -> AbstractContextManager[Callable[[Any], Any]]:
        """In the block, what makes of a path of this table the same path at that moment. On executors."""


@runtime_checkable
class FollowsEntries(Protocol):
    """A path without addresses that can still tell where entries lead."""

    def follow(self, values: Sequence[str | None], columns: Sequence[ScanColumn]) -> pa.Table | None:
        """The rows that entries of these values lead to: the address, then the columns. None if it can't be told."""


class RowVersions(Protocol):
    """What entries may point to beside the rows that a reader sees. Of engines whose addresses are numbers."""

    def entry_addresses(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What entries have for the rows at these addresses."""

    def invisible(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Addresses that entries may have, and that are none of these rows'."""


class TablePath(Path, Protocol):
    """The path through the table: what its indexes should hold, for several of them at once.

    A condition is a column, too: an expression of type BOOLEAN. `has_versions`: entries may have another address for a
    row than it has.
    """

    @property
    def has_versions(self) -> bool: ...

    def versions(self, part: Any) -> RowVersions | None:
        """None if a reader sees all that an entry may point to."""


@dataclass(frozen=True, slots=True)
class NotCheckable:
    """An index that no path leads through, or a constraint that rows can't be asked, and why."""

    reason: str


SHOWN_BYTES = 200
"""Of a value that is shown, no more than this."""


@dataclass(frozen=True, slots=True)
class ValueRule:
    """`broken` is a condition in the engine's SQL: true of a row whose value is wrong. `says` is the rule in words.

    `shown` are what to tell of such a row: names, and expressions that give bytes or text. `constraint` is what the
    checks of constraints call it, if it is one.
    """

    kind: FailureKind
    column: str
    says: str
    broken: str
    shown: tuple[tuple[str, str], ...]
    constraint: str | None = None


@dataclass(frozen=True, slots=True)
class BrokenValue:
    """A row that breaks the `rule`th of the rules; None: the row can't be read at all.

    `place` is where it lies in the engine's own words. `error` is what the engine said, if it failed.
    """

    rule: int | None
    kind: FailureKind
    place: str | None
    key: tuple[str | None, ...] | None
    shown: tuple[tuple[str, str | None], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """How many rows there are, and how many break each of the rules that were asked."""

    rows: int
    broken: tuple[int, ...]


class UnreadableValue(Exception):
    """The engine fails on a value, in these words. It never leaves the piece of work. `kind`, if they tell it."""

    def __init__(self, kind: FailureKind | None, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class ValuePath(Protocol):
    """A way through the table, on executors: picklable. May raise UnreadableValue."""

    @property
    def rules(self) -> tuple[ValueRule, ...]: ...

    @property
    def unchecked_columns(self) -> tuple[tuple[str, str], ...]:
        """Columns that some rule can't be asked of, and why."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that rows are called by."""

    @property
    def evidence(self) -> str: ...

    def parts(self, most: int) -> Sequence[Any]:
        """Up to so many, that are all of it; picklable."""

    def pieces(self, part: Any) -> Iterator[Any]:
        """The part in smaller ones, each for one statement."""

    def count_broken(self, piece: Any, rules: Sequence[int]) -> RuleCounts: ...

    def broken(self, piece: Any, rules: Sequence[int]) -> list[BrokenValue]:
        """The rows that break one of these rules, for each of them."""

    def halves(self, piece: Any) -> Sequence[Any]:
        """Two smaller ones; none if it is a single place."""

    def row_of(self, piece: Any) -> tuple[str | None, tuple[str | None, ...] | None]:
        """Place and key of the row that is all of the piece, as far as they can be read."""


@dataclass(frozen=True, slots=True)
class EngineFinding:
    """What the engine's own checker says, in its words; and what they are about, as far as they tell."""

    message: str
    index: str | None = None
    column: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """What came of the engine's own checker for one table. `unchecked`: what kept it from going to the end.

    `absent`: it could not even begin, since the server does not have it; `unchecked` says what to install.
    """

    name: str
    statement: str
    findings: tuple[EngineFinding, ...] = ()
    unchecked: str | None = None
    absent: bool = False


def shown_text(raw: bytes | str | None) -> str | None:
    """A value as a reader sees it; what is no text, in hexadecimal."""
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

    What is asked of a row alone is asked of these. A key has to be unique among these and all that have the same
    values. A foreign key is asked of these, and of the rows that refer to its `parents`: by the foreign key's name,
    values of the parent's columns, in the order of the reference. They are read through whatever index leads to them.
    """

    keys: tuple[Key, ...] = ()
    parents: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)


class QueryRunner(Protocol):
    """Sends statements, on executors: picklable, opens its own connections. Reads only."""

    def rows(self, statement: str, columns: Sequence[ScanColumn]) -> Iterator[pa.RecordBatch]:
        """Each column in a wire form that `decode` takes."""

    def numbers(self, statement: str) -> tuple[int, int]:
        """The only row."""


@dataclass(frozen=True, slots=True)
class Part:
    """`probe` counts the rows that are asked, and those that may break something: if there are none of these, there is
    nothing to list. If `sure`, they do break it: then something has to be listed.
    """

    probe: str
    listing: str
    sure: bool = True


@dataclass(frozen=True)
class Violations:
    """A way to find the rows that break some constraints: several that are asked of each row alone, or one other.

    A batch of the listing has columns for `address`, then for the row's `key`, then for `values`, which are what the
    constraints are about. Behind these are `marks`. Of constraints that are asked of a row alone: for each, whether the
    row breaks it. Of a key: a number that rows of the same values have in common. Of a foreign key: none.
    """

    constraints: tuple[ConstraintInfo, ...]
    runner: QueryRunner
    address: tuple[ScanColumn, ...]
    key: tuple[ScanColumn, ...]
    values: tuple[ScanColumn, ...]
    marks: tuple[ScanColumn, ...]
    parts: tuple[Part, ...]
    evidence: str

    @property
    def columns(self) -> tuple[ScanColumn, ...]:
        return (*self.address, *self.key, *self.values, *self.marks)


def exact_columns(table: Table, names: Sequence[str]) -> list[ScanColumn]:
    """Those of these columns that can be read exactly."""
    kinds = [(table.column(name), common_kind(table.column(name).type, table.column(name).type)) for name in names]
    return [ScanColumn(column, kind) for column, kind in kinds if isinstance(kind, Kind)]


def exact_key(table: Table) -> tuple[ScanColumn, ...]:
    """The columns that rows are called by; none if one of them can't be read exactly."""
    columns = exact_columns(table, table.key)
    return tuple(columns) if len(columns) == len(table.key) else ()
