"""The measure itself: expressions mean to the interpreter what they mean to Spark, and the judge finds faults."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import functions as fn
from pyspark.sql import types as spark_types

from tests.faults.kills.record import Step
from tests.faults.tasks import expressions as ex
from tests.faults.tasks import values
from tests.faults.tasks.judge import Evidence, judge
from tests.faults.tasks.random_expressions import computations, conditions
from tests.faults.tasks.task import STAMP, Column, Entry, Task
from tests.faults.tasks.writer import History, Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = (
    *(Column(name, kind) for name, kind in (("id", "int"), ("a b", "int"), ("part", "big"), ("price", "decimal"))),
    *(
        Column(name, kind)
        for name, kind in (("Größe", "decimal"), ("name", "text"), ("select", "text"), ("flag", "flag"))
    ),
    *(Column(name, kind) for name, kind in (("day", "day"), ("at", "at"), ("seen", "instant"), ("raw", "raw"))),
)
_TYPES = {
    "int": spark_types.LongType(),
    "big": spark_types.LongType(),
    "decimal": spark_types.DecimalType(10, 2),
    "text": spark_types.StringType(),
    "flag": spark_types.BooleanType(),
    "day": spark_types.DateType(),
    "at": spark_types.TimestampNTZType(),
    "instant": spark_types.StringType(),
    "raw": spark_types.BinaryType(),
}
_AT_ONCE = 60


def test_expressions_mean_what_they_mean_to_spark(spark: SparkSession) -> None:
    drawn: dict[str, ex.Expression] = {}

    @settings(
        max_examples=180, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @seed(1)
    @given(computations(COLUMNS) | conditions(COLUMNS))
    def draw(expression: ex.Expression) -> None:
        drawn[expression.sql] = expression

    draw()
    chance = random.Random(1)
    rows = [{**values.row(chance, COLUMNS, (), STAMP), "_table": "t_1", "_schema": "s"} for _ in range(80)]
    schema = spark_types.StructType(
        [
            *(spark_types.StructField(column.name, _TYPES[column.kind]) for column in COLUMNS),
            *(spark_types.StructField(name, spark_types.StringType()) for name in ("_table", "_schema")),
        ]
    )
    data = [{**row, "seen": row["seen"] and f"{row['seen']}+00:00"} for row in rows]
    frame = spark.createDataFrame(data, schema).withColumn("seen", fn.expr("CAST(seen AS TIMESTAMP)")).cache()
    asked = [expression for expression in drawn.values() if expression.kind not in ("instant", "raw")]
    assert len(asked) > 100
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        answers = frame.select(*(fn.expr(each.sql).alias(f"c{n}") for n, each in enumerate(some))).collect()
        for row, answer in zip(rows, answers, strict=True):
            for expression, value in zip(some, answer, strict=True):
                assert value == expression.of(row), (expression.sql, row)
    frame.unpersist()


# ------------------------------------------------------------------------------------------------------- the judge

KEYED = Entry(
    ("t",),
    (Column("id", "int"), Column("n", "int"), Column(STAMP, "int")),
    ("id",),
    "t",
    where=ex.compared(">", ex.column("n", "int"), ex.literal(0, "int")),
)
KEYLESS = Entry(("t",), (Column("n", "int"), Column(STAMP, "int")), (), "t")


def _row(id_: int, n: int, number: int) -> dict[str, Any]:
    return {"id": id_, "n": n, STAMP: number}


KEYED_HISTORIES: dict[int, History] = {
    1: [(-1, None), (1, _row(1, 1, 1)), (3, _row(1, 2, 3)), (5, _row(1, 3, 5))],
    2: [(-1, None), (2, _row(2, 1, 2)), (4, None)],
    3: [(-1, None), (2, _row(3, 1, 2)), (5, _row(3, -1, 5))],  # it leaves the filter
    4: [(-1, None), (6, _row(4, 7, 6))],
}
KEYLESS_HISTORIES: dict[int, History] = {
    number: [(-1, None), (number, {"n": 1, STAMP: number}), *([(5, None)] if number == 2 else [])]
    for number in (1, 2, 3)
}


def _violations(
    delivery: str, target: list[tuple[Any, ...]], consistency: str = "transaction", entry: Entry = KEYED, kills: int = 1
) -> list[str]:
    histories = KEYED_HISTORIES if entry is KEYED else KEYLESS_HISTORIES
    record = Record(
        [Step(number, number, 10 * number) for number in range(1, 7)],
        {("t", (id_,)): history for id_, history in histories.items()},
    )
    task = Task("t", 1, "sqlite-sqlite", delivery, (entry,), (), consistency)
    moments = [float(6 - number) for number in reversed(range(kills))]
    seen = Evidence(record, moments, 0, "main", {"t": record.now("t")}, {"t": Counter(target)}, 1_000)
    return judge(task, seen).violations


RIGHT = [(1, 3, 5), (4, 7, 6)]


def test_what_is_right_is_right() -> None:
    for delivery in ("exactly-once", "at-least-once", "at-most-once"):
        assert _violations(delivery, RIGHT) == []


def test_with_a_key_nothing_is_lost_or_there_twice() -> None:
    for delivery in ("exactly-once", "at-least-once"):
        for wrong in (RIGHT[:1], [*RIGHT, (2, 1, 2)], [*RIGHT, (3, 1, 2)], [(1, 2, 3), (4, 7, 6)], [*RIGHT, RIGHT[0]]):
            (said,) = _violations(delivery, wrong)
            assert said.startswith("t (id, n, s): ")


def test_at_most_once_loses_one_batch_for_each_kill() -> None:
    assert _violations("at-most-once", [(1, 2, 3), (3, 1, 2), (4, 7, 6)]) == []  # 5 is lost
    assert _violations("at-most-once", [(1, 2, 3), (3, 1, 2)]) == []  # 5 and 6
    # 4 was lost and 5 was not: that takes a second batch for 6.
    lost = [(1, 3, 5), (2, 1, 2)]
    assert "2 runs of transactions were lost by 1 kills" in _violations("at-most-once", lost)[0]
    assert _violations("at-most-once", lost, kills=2) == []


def test_at_most_once_loses_transactions_as_a_whole() -> None:
    half = [(1, 3, 5), (3, 1, 2), (4, 7, 6)]
    assert _violations("at-most-once", half) == ["transactions 5 were lost in part"]
    assert _violations("at-most-once", half, "row") == []


def test_at_most_once_repeats_nothing_and_makes_nothing_up() -> None:
    assert "never had" in _violations("at-most-once", [*RIGHT, (9, 9, 9)])[0]
    assert "twice" in _violations("at-most-once", [*RIGHT, RIGHT[0]])[0]
    assert "doubled" in _violations("at-most-once", [(1, 1), (1, 3), (1, 3)], entry=KEYLESS)[0]


def test_at_least_once_may_repeat_rows_without_a_key_and_lose_none() -> None:
    right = [(1, 1), (1, 3)]
    assert _violations("at-least-once", right, entry=KEYLESS) == []
    assert _violations("at-least-once", [*right, (1, 3)], entry=KEYLESS) == []
    assert _violations("at-least-once", [*right, (1, 2)], entry=KEYLESS) == []  # its deletion was applied once
    assert "lost" in _violations("at-least-once", right[:1], entry=KEYLESS)[0]
    assert "were applied again in part" not in str(_violations("at-least-once", [*right, (1, 3)], entry=KEYLESS))
    assert _violations("at-least-once", [*right, (1, 1)], entry=KEYLESS, kills=0) != []


def test_nulls_have_three_values() -> None:
    null = ex.literal(None, ex.CONDITION)
    true, false = (ex.is_null(ex.literal(value, "int")) for value in (None, 1))
    assert [ex.both(a, b).of({}) for a in (true, false, null) for b in (true, null)] == [
        *(True, None),
        *(False, False),
        *(None, None),
    ]
    assert [ex.either(null, each).of({}) for each in (true, false, null)] == [True, None, None]
    assert ex.negation(null).of({}) is None
    some = [ex.literal(value, "int") for value in (1, None)]
    assert [ex.among(ex.literal(value, "int"), some).of({}) for value in (1, 2, None)] == [True, None, None]
    assert ex.remainder(ex.literal(-7, "int"), 3).of({}) == -1
    assert ex.without_digits(ex.literal(Decimal("-2.99"), "decimal")).of({}) == -2
