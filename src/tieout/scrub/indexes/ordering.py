"""Indexes whose entries are not in the order that they are looked for by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tieout.connectors.checking import Disorder, IndexInfo, Ordered, Path
from tieout.errors import TieoutError
from tieout.model.failures import Failure, FailureKind
from tieout.scrub.dealing import done

MOST = 10_000
"""A collation that has changed makes a good part of all neighbours wrong."""


@dataclass(frozen=True)
class ReadOrder:
    path: Ordered
    part: Any

    def run(self) -> Iterator[Any]:
        yield self.path.order_of(self.part)


@dataclass(frozen=True)
class OrderFound:
    """`error` is what kept it from being told; `cut`: there may be more."""

    disorders: tuple[Disorder, ...] = ()
    cut: bool = False
    error: TieoutError | None = None


def find_disorder(
    spark: SparkSession, paths: Sequence[Path], rest: Callable[[float], None], recheck_after: float
) -> list[OrderFound | None]:
    """For each path what it found; None for one that can't tell. What seems wrong is looked at again, after a rest."""
    most = max(1, spark.sparkContext.defaultParallelism)
    pieces = [
        (number, ReadOrder(path, part))
        for number, path in enumerate(paths)
        if isinstance(path, Ordered)
        for part in path.order_parts(most)
    ]
    outcomes = done(spark, [piece for _, piece in pieces])
    found: list[OrderFound | None] = [None] * len(paths)
    suspects: dict[int, list[Disorder]] = {}
    for number, path in enumerate(paths):
        if not isinstance(path, Ordered):
            continue
        own = [outcome for (of, _), outcome in zip(pieces, outcomes, strict=True) if of == number]
        errors = [outcome.error for outcome in own if outcome.error is not None]
        found[number] = OrderFound(error=errors[0]) if errors else OrderFound()
        if not errors:
            suspects[number] = path.disorders([outcome.only() for outcome in own])
    if any(suspects.values()):
        rest(recheck_after)
    for number, each in suspects.items():
        path = paths[number]
        if each and isinstance(path, Ordered):
            found[number] = OrderFound(tuple(path.still_wrong(each[:MOST])), cut=len(each) > MOST)
    return found


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
