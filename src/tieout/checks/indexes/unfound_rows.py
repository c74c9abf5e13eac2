"""Finds rows that an index does not lead to, where the engine can't show its entries (a prefix index): looks up each
row through the index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.checks.indexes.classify import AddressText
from tieout.checks.indexes.compare import Values
from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.paths import LooksRowsUp, Path, Unfound, UnfoundRows
from tieout.connectors.sql.index_scan import MOST
from tieout.errors import TieoutError
from tieout.model.failures import Failure, FailureKind
from tieout.runtime.dispatch import run_dealt
from tieout.runtime.recheck import RecheckPolicy, recheck

_Place = tuple[int, Values]


@dataclass(frozen=True)
class LookUpRows:
    path: LooksRowsUp

    def run(self) -> Iterator[UnfoundRows]:
        yield self.path.unfound(MOST)


@dataclass(frozen=True)
class LookedUp:
    """`cut`: there may be more. `unstable`: other rows on every recheck. `error` kept rows from being looked up."""

    rows: tuple[Unfound, ...] = ()
    cut: bool = False
    unstable: bool = False
    error: TieoutError | None = None


def find_unfound(
    spark: SparkSession, paths: Sequence[Path], after: float, wait: Callable[[float], None]
) -> list[LookedUp | None]:
    """What each path found; None for a path that shows complete entries. Two readings must find a row."""
    looked_up = {number: path for number, path in enumerate(paths) if isinstance(path, LooksRowsUp)}
    first = _look(spark, looked_up)
    second: dict[int, LookedUp] = {}

    def look_again(suspects: Mapping[_Place, Unfound]) -> dict[_Place, Unfound]:
        second.update(_look(spark, {number: looked_up[number] for number in dict.fromkeys(n for n, _ in suspects)}))
        return _places(second)

    certain = recheck(_places(first), look_again, RecheckPolicy(after, times=1, grows=True), wait).certain
    for number, each in second.items():
        # After a truncated listing, a new row may be one that was not listed.
        rows = tuple(row for row in each.rows if first[number].cut or (number, row.address) in certain)
        unstable = bool(each.rows) and not rows
        first[number] = LookedUp(rows, first[number].cut or each.cut, unstable, each.error)
    return [first.get(number) for number in range(len(paths))]


def _places(found: Mapping[int, LookedUp]) -> dict[_Place, Unfound]:
    return {(number, row.address): row for number, each in found.items() for row in each.rows}


def _look(spark: SparkSession, paths: Mapping[int, LooksRowsUp]) -> dict[int, LookedUp]:
    if not paths:
        return {}
    outcomes = run_dealt(spark, [LookUpRows(path) for path in paths.values()])
    return {
        number: LookedUp(error=outcome.error) if outcome.error else _found(outcome.only())
        for number, outcome in zip(paths, outcomes, strict=True)
    }


def _found(found: UnfoundRows) -> LookedUp:
    return LookedUp(found.rows, found.truncated)


def unfound_failures(
    database: str,
    index: IndexInfo,
    found: Sequence[Unfound],
    known: Collection[Values | None],
    address_text: AddressText,
) -> Iterator[Failure]:
    """One failure for each row whose address is not `known`: it has an entry, but where no lookup finds it."""
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
