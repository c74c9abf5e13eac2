"""Rows that break constraints, found by the engine itself: what there is to ask, and whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.constraints import ConstraintInfo
from tieout.model.keys import Key
from tieout.model.kinds import Kind, common_kind
from tieout.model.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class OnlyRows:
    """Some rows of a table, by their keys: canonical text, in the order of `Table.key`.

    What is asked of a row alone is asked of these. A key has to be unique among these and all that have the same
    values. A foreign key is asked of these, and of the rows that refer to its `parents`: by the foreign key's name,
    values of the parent's columns, in the order of the reference. They are read through whatever index leads to them.
    """

    keys: tuple[Key, ...] = ()
    parents: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)


class Asking(Protocol):
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
    asking: Asking
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
