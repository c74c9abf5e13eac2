"""Indexes whose entries are not in the order that they are looked for by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tieout.connectors.index_info import IndexInfo
from tieout.connectors.index_paths import Disorder, Ordered, Path
from tieout.connectors.neighbours import MOST
from tieout.errors import TieoutError
from tieout.model.failures import Failure, FailureKind
from tieout.runtime.dispatch import done


@dataclass(frozen=True)
class ReadOrder:
    path: Ordered
    part: Any

    def run(self) -> Iterator[Any]:
        yield self.path.order_of(self.part)


@dataclass(frozen=True)
class OrderFound:
    """`cut`: there may be more. `unsettled`: other entries at every look. `error` kept it from being told."""

    disorders: tuple[Disorder, ...] = ()
    cut: bool = False
    unsettled: bool = False
    error: TieoutError | None = None


def find_disorder(
    spark: SparkSession, paths: Sequence[Path], rest: Callable[[], None], times: int
) -> list[OrderFound | None]:
    """For each path what it found; None for one that can't tell. What seems wrong is looked at again, after a rest.

    In order is what is so at a whole look. Neighbours of a disorder may be written, and then others are wrong.
    """
    found: list[OrderFound | None] = [OrderFound() if isinstance(path, Ordered) else None for path in paths]
    ordered = {number: path for number, path in enumerate(paths) if isinstance(path, Ordered)}
    for _ in range(max(1, times)):
        suspects = _look(spark, ordered, found)
        if not suspects:
            return found
        rest()
        for number, each in suspects.items():
            found[number] = _settled(ordered[number], each)
        ordered = {number: ordered[number] for number in suspects if found[number] == OrderFound()}
    return [OrderFound(unsettled=True) if number in ordered else each for number, each in enumerate(found)]


def _look(
    spark: SparkSession, paths: Mapping[int, Ordered], found: list[OrderFound | None]
) -> dict[int, list[Disorder]]:
    """At all of some indexes: what seems wrong in those of them where something does. Errors go to `found`."""
    most = max(1, spark.sparkContext.defaultParallelism)
    pieces = [(number, ReadOrder(path, part)) for number, path in paths.items() for part in path.order_parts(most)]
    outcomes = done(spark, [piece for _, piece in pieces])
    suspects = {}
    for number, path in paths.items():
        own = [outcome for (of, _), outcome in zip(pieces, outcomes, strict=True) if of == number]
        error = next((outcome.error for outcome in own if outcome.error is not None), None)
        found[number] = OrderFound(error=error)
        wrong = [] if error else path.disorders([outcome.only() for outcome in own])
        if wrong:
            suspects[number] = wrong
    return suspects


def _settled(path: Ordered, suspects: Sequence[Disorder]) -> OrderFound:
    try:
        again = path.still_wrong(suspects[:MOST])
    except TieoutError as error:
        return OrderFound(error=error)
    return OrderFound(tuple(again[:MOST]), cut=bool(again) and max(len(suspects), len(again)) > MOST)


def order_failure(database: str, index: IndexInfo, disorder: Disorder) -> Failure:
    keys = [(place, column.name) for place, column in enumerate(index.columns) if not column.included]
    sides = (("first", disorder.first), ("second", disorder.second))
    return Failure(
        FailureKind.INDEX_ORDER,
        database,
        str(index.table.name),
        tuple(name for _, name in keys),
        index=index.name,
        place=disorder.place,
        details={f"{side}.{name}": values[place] for side, values in sides for place, name in keys},
    )
