"""Where to cut a large table: keys that divide it into equal parts, by the optimiser's index dives.

EXPLAIN of a range reads a few pages at its two ends and says how many rows lie between. As numbers these
are out by a factor of two and more; as shares of a table they are good, and no row is read.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import accumulate

from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.session import MySQLSession
from tieout.errors import EndpointError
from tieout.model.tables import Table
from tieout.model.types import TypeName

_LEAST_ROWS, _MOST_ROWS = 500_000, 60_000_000
"""A smaller table is a key range or two; a larger one gets its ranges while it is read."""
_PART_ROWS = 100_000
_SECONDS = 0.3

Estimate = Callable[[int, int], int]
"""About how many rows have a key above the first and up to the second."""


def is_worth_it(table: Table) -> bool:
    is_integer = len(table.key) == 1 and table.column(table.key[0]).type.name is TypeName.INTEGER
    return is_integer and _LEAST_ROWS <= (table.estimated_rows or 0) <= _MOST_ROWS


def sampled_keys(session: MySQLSession, server_kind: ServerKind, table: Table, round_trip: float) -> tuple[str, ...]:
    """Sampled keys of a table, in order; none if the server does not dive into indexes, or is too far away."""
    dialect = MySQLDialect(server_kind)
    column, name = dialect.quote(table.key[0]), dialect.table(table.name)
    index = next((dialect.quote(index.name) for index in table.indexes if index.columns == table.key), None)
    if index is None or server_kind is ServerKind.TIDB:
        return ()
    statement = f"SELECT 1 FROM {name} FORCE INDEX ({index})"

    def estimate(low: int, high: int) -> int:
        (step,) = session.plan(f"{statement} WHERE {column} > {low:d} AND {column} <= {high:d}")
        return int(step["rows"] or 0)

    try:
        ((low, high),) = session.rows(f"SELECT MIN({column}), MAX({column}) FROM {name}")
        if low is None:
            return ()
        parts = (table.estimated_rows or 0) // _PART_ROWS
        return tuple(map(str, equal_parts(low - 1, high, parts, estimate, int(_SECONDS / round_trip))))
    except EndpointError:
        return ()  # whoever reads the table reports what is wrong


def equal_parts(low: int, high: int, parts: int, estimate: Estimate, most_dives: int) -> list[int]:
    """Keys from `low` to `high` that divide the rows between them into `parts` of about equal size.

    Halves the heaviest interval until none holds more than half a part. Empty if that takes too many dives.
    """
    heap = [(-estimate(low, high), low, high)]
    total = 0
    for _ in range(most_dives // 2):
        weight, start, end = heap[0]
        if (total and -weight * parts * 2 <= total) or end - start == 1:
            return _ends(sorted((start, end, -weight) for weight, start, end in heap), parts)
        heappop(heap)
        middle = (start + end) // 2
        for half in ((start, middle), (middle, end)):
            heappush(heap, (-estimate(*half), *half))
        # Added up again: a dive into most of a table estimates half of it, and its halves are more exact.
        total = -sum(weight for weight, _, _ in heap)
    return []


def _ends(intervals: list[tuple[int, int, int]], parts: int) -> list[int]:
    """Where the first part starts, and where each part ends: with the interval of its last row."""
    upto = list(accumulate(weight for _, _, weight in intervals))
    ends = [intervals[0][0]]
    for (_, end, _), rows in zip(intervals[:-1], upto, strict=False):
        if rows * parts >= upto[-1] * len(ends):
            ends.append(end)
    return [*ends, intervals[-1][1]]
