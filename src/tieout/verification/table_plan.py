"""The plan of one table: what is read on each side, how it is hashed, how the work is cut."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.connectors.protocols.endpoint import HashSpec, Reader, Scan, ScanColumn
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.model.canonical_kinds import Tolerance
from tieout.model.redaction import Redaction
from tieout.model.results import Strategy
from tieout.model.tables import Table
from tieout.verification.columns import ColumnPair, SchemaComparison


@dataclass(frozen=True)
class Side:
    """One side of a table's comparison. Picklable: it goes to executors."""

    reader: Reader
    scan: Scan

    @property
    def is_frame(self) -> bool:
        """Whether only a Spark session can read it: its work is the driver's to start, and it has no ranges."""
        return isinstance(self.reader, SessionOnly)


@dataclass(frozen=True)
class TablePlan:
    """Both sides of a table, their columns in the same order and in the same forms.

    `aligned`: both engines sort the key the same way, so one range of keys means the same rows on both.
    Otherwise each side is cut in its own order, and rows meet in buckets by the hash of their key.
    `as_sent`: both servers send the same bytes for the same row, and those are hashed.
    `redaction` hides the values of rows that differ.
    """

    name: str
    source: Side
    target: Side
    columns: tuple[str, ...]
    key: tuple[int, ...]
    aligned: bool
    strategy: Strategy
    hash: HashSpec | None
    buckets: int = 0
    as_sent: bool = False
    redaction: Redaction | None = None

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(self.columns[place] for place in self.key)

    @property
    def tolerances(self) -> dict[int, Tolerance]:
        kinds = enumerate(column.kind for column in self.source.scan.columns)
        return {place: kind.tolerance for place, kind in kinds if kind.tolerance is not None}


def scans(
    source: Table, target: Table, comparison: SchemaComparison, where: tuple[str | None, str | None]
) -> tuple[Scan, Scan, bool]:
    """The two scans, and whether they are aligned."""
    left = tuple(ScanColumn(pair.source, pair.kind, pair.source_expression) for pair in comparison.pairs)
    right = tuple(ScanColumn(pair.target, pair.kind, pair.target_expression) for pair in comparison.pairs)
    key = comparison.key
    keyed = [comparison.pairs[place] for place in key]
    aligned = bool(keyed) and all(_aligned(pair) for pair in keyed)
    return (
        Scan(source, left, key, _rangeable(left, key), where[0]),
        Scan(target, right, key, _rangeable(right, key), where[1]),
        aligned,
    )


def _aligned(pair: ColumnPair) -> bool:
    plain = pair.plain and not pair.source.nullable and not pair.target.nullable
    return plain and pair.source.order is not None and pair.source.order == pair.target.order


def _rangeable(columns: tuple[ScanColumn, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """The key, if ranges can be cut in it: a NULL, or a value computed by the user's SQL, would be in none."""
    fit = all(
        columns[place].column.order is not None
        and not columns[place].column.nullable
        and columns[place].expression is None
        for place in key
    )
    return key if fit else ()
