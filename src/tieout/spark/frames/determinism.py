"""What Spark knows of an expression that returns something else each time, once it has resolved functions and types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession

from tieout.model.moves import Shape
from tieout.model.relative_moments import is_relative_moment
from tieout.model.tables import Table
from tieout.spark.frames.transforms import resolved_condition

_REPLACEABLE = "org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable"
_MOMENTS = frozenset({"date", "timestamp", "timestamp_ntz"})


def nondeterministic_part(session: SparkSession, table: Table, shape: Shape) -> str | None:
    """The part of a condition on a table that returns something else each time. Reads nothing, and starts no Spark job.

    Spark calls `d >= 'today'` deterministic: the text becomes a date in the optimizer.
    """
    plan: Any = resolved_condition(session, table, shape)._jdf.queryExecution().analyzed()
    gateway = session.sparkContext._gateway
    for top in _all(plan.expressions()):
        for each in _with_parts(gateway, top):
            if not each.deterministic() and all(part.deterministic() for part in _all(each.children())):
                return f"{each.prettyName()}()"
            if (text := _cast_text(each)) is not None and is_relative_moment(text):
                return repr(text)
    return None


def _with_parts(gateway: Any, expression: Any) -> Iterator[Any]:
    yield expression
    for part in _all(expression.children()):
        yield from _with_parts(gateway, part)
    if is_instance_of(gateway, expression, _REPLACEABLE):  # to_date(…) becomes a cast
        yield from _with_parts(gateway, expression.replacement())


def _cast_text(expression: Any) -> str | None:
    """The constant text that is cast to a date or a timestamp."""
    if expression.getClass().getSimpleName() != "Cast" or expression.dataType().simpleString() not in _MOMENTS:
        return None
    child = expression.child()
    if child.dataType().simpleString() != "string" or not child.foldable():
        return None
    text = child.eval(None)
    return None if text is None else str(text)


def _all(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(place) for place in range(sequence.size()))
