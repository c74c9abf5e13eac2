"""Rows and entries brought together by Spark, at their addresses; what does not agree there."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

from tieout.checks.indexes.reading import CELLS, ENTRY, EXCLUDED, INVISIBLE, ROW
from tieout.model.truncated import restored
from tieout.spark.interrupts import interruptible
from tieout.spark.work import Work, cell_name, spark_errors, work_frame

MOST = 50_000
"""Of one index: a function redefined under it makes every entry wrong."""

_SIDE, _PLACE, _PRINT, _VALUES, _KEY = map(cell_name, range(CELLS))

Values = tuple[str | None, ...]
Place = tuple[int, object]
"""An index's number, and an address in it."""

AT_ONE_MOMENT, AT_NO_MOMENT = 2, 3
"""How many looks in a row must agree, where rows and entries are seen at one moment, and where they are not.

Two do not where addresses are used again by the second: a row that was written meanwhile may be back where it was, and
its entry not yet, as at the look before.
"""


@dataclass(frozen=True, slots=True)
class RowThere:
    """What the table says: an index's columns, and the row's key."""

    print: str
    values: Values
    key: Values


@dataclass(frozen=True, slots=True)
class EntryThere:
    print: str
    values: Values


@dataclass(frozen=True, slots=True)
class Mismatch:
    """All that there is at one address of one index. `rows` should have an entry; `excluded` should have none.

    Without an address (None), a row and an entry are here because they are alike, and there are more of one.
    """

    index: int
    address: Values | None
    rows: tuple[RowThere, ...]
    excluded: tuple[RowThere, ...]
    entries: tuple[EntryThere, ...]

    @property
    def place(self) -> Place:
        alike = [*(row.print for row in self.rows), *(entry.print for entry in self.entries)]
        return self.index, self.address or alike[0]


Places = dict[Place, Mismatch]
"""What disagrees, by where it does."""


def find_mismatches(spark: SparkSession, tasks: Sequence[Sequence[Work]]) -> list[Mismatch]:
    """Up to MOST of each index, the same ones at each look. The work of the tasks yields Cells, of both sides."""
    first = Window.partitionBy("bucket").orderBy(F.col("payload").isNull(), _PLACE)  # an error is never what is cut off

    def collected() -> list[Row]:
        found = _disagreeing(work_frame(spark, tasks, CELLS))
        return found.withColumn("number", F.row_number().over(first)).where(F.col("number") <= MOST).collect()

    with spark_errors():
        found = interruptible(spark, collected)
    for row in found:
        if row.payload is not None:
            raise pickle.loads(row.payload)
    return [_mismatch(row) for row in found]


def _disagreeing(frame: DataFrame) -> DataFrame:
    """One row for each address at which the two sides are not the same; an error is in a row of its own.

    NULLs are in fingerprints as what they are, and every row and every entry counts: neither cancels another.
    """
    side = F.col(_SIDE)
    counted = F.when(side.isin(ROW, ENTRY), F.col(_PRINT))
    grouped = frame.groupBy("bucket", _PLACE).agg(
        F.first("payload", ignorenulls=True).alias("payload"),
        F.count_if(side == ROW).alias("rows"),
        F.count_if(side == ENTRY).alias("entries"),
        F.count_if(side == EXCLUDED).alias("excluded"),
        F.count_if(side == INVISIBLE).alias("invisible"),
        (F.min(counted) == F.max(counted)).alias("alike"),
        F.collect_list(F.struct(_SIDE, _PRINT, _VALUES, _KEY)).alias("found"),
    )
    nobody = F.col("entries") == 0
    agree = (F.col("rows") == F.col("entries")) & F.col("alike")
    unseen = (F.col("rows") == 0) & (F.col("excluded") == 0) & (F.col("invisible") > 0)
    fine = agree | ((F.col("rows") == 0) & nobody) | unseen
    return grouped.where(F.col("payload").isNotNull() | ~F.coalesce(fine, F.lit(False)))


def _mismatch(row: Row) -> Mismatch:
    by_side: dict[str, list[tuple[str, Values, Values]]] = {ROW: [], EXCLUDED: [], ENTRY: [], INVISIBLE: []}
    for side, mark, values, key in row.found:
        by_side[side].append((mark, _values(values), _values(key)))
    place = row[_PLACE]
    return Mismatch(
        row.bucket,
        _values(place) if place.startswith("[") else None,
        tuple(RowThere(*each) for each in sorted(by_side[ROW])),
        tuple(RowThere(*each) for each in sorted(by_side[EXCLUDED])),
        tuple(EntryThere(mark, values) for mark, values, _ in sorted(by_side[ENTRY])),
    )


def _values(text: str) -> Values:
    return tuple(map(restored, json.loads(text)))
