"""Finds index entries that are in the wrong order, so that lookups miss them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.paths import ChecksOrder, Disorder, Path
from tieout.connectors.sql.index_scan import MOST
from tieout.errors import TieoutError
from tieout.model.failures import Failure, FailureKind
from tieout.runtime.dispatch import run_dealt, slots
from tieout.runtime.recheck import RecheckPolicy, recheck


@dataclass(frozen=True)
class ReadOrder:
    path: ChecksOrder
    part: Any

    def run(self) -> Iterator[Any]:
        yield self.path.order_of(self.part)


@dataclass(frozen=True)
class OrderFound:
    """`cut`: there may be more. `unstable`: other entries on every recheck. `error` kept the order from being read."""

    disorders: tuple[Disorder, ...] = ()
    cut: bool = False
    unstable: bool = False
    error: TieoutError | None = None


def find_disorder(
    spark: SparkSession, paths: Sequence[Path], policy: RecheckPolicy, wait: Callable[[float], None]
) -> list[OrderFound | None]:
    """What each path found; None for a path that can't show the order. An index in order in one full reading is
    fine.
    """
    return _Looks(spark, paths).run(policy, wait)


_Suspect = tuple[int, int]
"""The number of an index, and of the full reading that found it in disorder."""


class _Looks:
    """A full reading of an index finds what seems wrong. What is still wrong later is certain; if nothing is, somebody
    may have written the neighbours, and another full reading decides.
    """

    def __init__(self, spark: SparkSession, paths: Sequence[Path]) -> None:
        self._spark = spark
        self._paths = {number: path for number, path in enumerate(paths) if isinstance(path, ChecksOrder)}
        self._found: list[OrderFound | None] = [
            OrderFound() if isinstance(path, ChecksOrder) else None for path in paths
        ]
        self._whole_looks = 0
        self._truncated: set[int] = set()

    def run(self, policy: RecheckPolicy, wait: Callable[[float], None]) -> list[OrderFound | None]:
        rechecked = recheck(self._look(self._paths), self._look_again, policy, wait)
        for (number, _), found in rechecked.certain.items():
            self._found[number] = OrderFound(tuple(found[:MOST]), cut=number in self._truncated)
        for number, _ in rechecked.unstable:
            self._found[number] = OrderFound(unstable=True)
        return self._found

    def _look(self, numbers: Collection[int]) -> dict[_Suspect, list[Disorder]]:
        """Reads some indexes completely, and returns what seems wrong in them."""
        self._whole_looks += 1
        pieces = [
            (number, ReadOrder(self._paths[number], part)) for number in numbers for part in self._order_parts(number)
        ]
        outcomes = run_dealt(self._spark, [piece for _, piece in pieces])
        suspects: dict[_Suspect, list[Disorder]] = {}
        for number in numbers:
            own = [outcome for (of, _), outcome in zip(pieces, outcomes, strict=True) if of == number]
            error = next((outcome.error for outcome in own if outcome.error is not None), None)
            self._found[number] = OrderFound(error=error)
            wrong = [] if error else self._paths[number].disorders([outcome.only() for outcome in own])
            if wrong:
                suspects[number, self._whole_looks] = wrong
        return suspects

    def _order_parts(self, number: int) -> Sequence[Any]:
        return self._paths[number].order_parts(slots(self._spark))

    def _look_again(self, suspects: Mapping[_Suspect, list[Disorder]]) -> dict[_Suspect, list[Disorder]]:
        found: dict[_Suspect, list[Disorder]] = {}
        cleared = []
        for (number, look), wrong in suspects.items():
            try:
                again = self._paths[number].still_wrong(wrong[:MOST])
            except TieoutError as error:
                self._found[number] = OrderFound(error=error)
                continue
            if again:
                found[number, look] = again
                if max(len(wrong), len(again)) > MOST:
                    self._truncated.add(number)
            else:
                cleared.append(number)
        return found | self._look(cleared) if cleared else found


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
