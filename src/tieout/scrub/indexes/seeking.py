"""Rows that an index does not lead to, where what it holds can't be read: each is looked up through it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.connectors.index_info import IndexInfo
from tieout.connectors.index_paths import Path, Sought, Unfound, UnfoundRows
from tieout.connectors.neighbours import MOST
from tieout.errors import TieoutError
from tieout.model.failures import Failure, FailureKind
from tieout.runtime.dispatch import done
from tieout.scrub.indexes.classify import AddressText
from tieout.scrub.indexes.mismatches import Values


@dataclass(frozen=True)
class SeekRows:
    path: Sought

    def run(self) -> Iterator[UnfoundRows]:
        yield self.path.unfound(MOST)


@dataclass(frozen=True)
class SeekFound:
    """`cut`: there may be more. `unsettled`: other rows at every look. `error` kept rows from being looked up."""

    rows: tuple[Unfound, ...] = ()
    cut: bool = False
    unsettled: bool = False
    error: TieoutError | None = None


def find_unfound(spark: SparkSession, paths: Sequence[Path], rest: Callable[[], None]) -> list[SeekFound | None]:
    """For each path what it found; None for one that shows all that its entries hold. Told is what two looks found."""
    sought = {number: path for number, path in enumerate(paths) if isinstance(path, Sought)}
    first = _look(spark, sought)
    again = {number: sought[number] for number, each in first.items() if each.rows}
    if again:
        rest()
    found = first | {number: _both(first[number], each) for number, each in _look(spark, again).items()}
    return [found.get(number) for number in range(len(paths))]


def _look(spark: SparkSession, paths: Mapping[int, Sought]) -> dict[int, SeekFound]:
    if not paths:
        return {}
    outcomes = done(spark, [SeekRows(path) for path in paths.values()])
    return {
        number: SeekFound(error=outcome.error) if outcome.error else _found(outcome.only())
        for number, outcome in zip(paths, outcomes, strict=True)
    }


def _found(found: UnfoundRows) -> SeekFound:
    return SeekFound(found.rows, found.cut)


def _both(first: SeekFound, second: SeekFound) -> SeekFound:
    seen = {row.address for row in first.rows}
    rows = tuple(row for row in second.rows if row.address in seen or first.cut)
    unsettled = bool(second.rows) and not rows
    return SeekFound(rows, first.cut or second.cut, unsettled, second.error)


def seek_failures(
    database: str,
    index: IndexInfo,
    found: Sequence[Unfound],
    known: Collection[Values | None],
    address_text: AddressText,
) -> Iterator[Failure]:
    """One for each row whose address is not `known`: that has its entry, but where nobody looks for it."""
    names = [name for name, _ in index.shortened]
    for row in found:
        if row.address not in known:
            yield Failure(
                FailureKind.STALE_INDEX_ENTRY,
                database,
                str(index.table.name),
                tuple(names),
                index=index.name,
                primary_key=dict(zip(index.table.key, row.address, strict=True)),
                place=address_text(row.address),
                details={f"row.{name}": text for name, text in zip(names, row.beginnings, strict=True)},
            )
