"""The statements that every SQL engine reads with, and where to split a key range. A Dialect knows how to write their
parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.sql.dialect import Dialect
from tieout.connectors.sql.rows_to_arrow import key_of
from tieout.model.keys import Key, KeyRange


def select(dialect: Dialect, scan: Scan, condition: str) -> str:
    return f"SELECT {wires(dialect, scan.columns)} FROM {_source(dialect, scan)}{_where(scan, condition)}"


def count(dialect: Dialect, scan: Scan, condition: str) -> str:
    return f"SELECT COUNT(*) FROM {_source(dialect, scan)}{_where(scan, condition)}"


def aggregate(dialect: Dialect, scan: Scan, condition: str, expressions: str) -> str:
    return f"SELECT {expressions} FROM {_source(dialect, scan)}{_where(scan, condition)}"


def bound(dialect: Dialect, scan: Scan, keys: KeyRange, rows: int) -> str:
    """Selects the key that is `rows` rows into a range: the next key to split at."""
    order = ", ".join(dialect.quote(c.name) for c in scan.order_columns)
    source = f"{_source(dialect, scan)}{_where(scan, within(dialect, scan, keys))}"
    return f"SELECT {wires(dialect, scan.order_columns)} FROM {source} ORDER BY {order} LIMIT 1 OFFSET {rows:d}"


def wires(dialect: Dialect, columns: Sequence[ScanColumn]) -> str:
    # Named by column index: a column may have any name, and expressions may repeat one.
    return ", ".join(f"{dialect.wire(c, reference(dialect, c))} AS c{place}" for place, c in enumerate(columns))


def reference(dialect: Dialect, column: ScanColumn) -> str:
    return f"({column.expression})" if column.expression else dialect.quote(column.name)


def within(dialect: Dialect, scan: Scan, keys: KeyRange) -> str:
    """The condition of a range; empty for the range of all rows."""
    parts = []
    if keys.low is not None:
        parts.append(_beyond(dialect, scan, keys.low, ">", inclusive=True))
    if keys.high is not None:
        parts.append(_beyond(dialect, scan, keys.high, "<", inclusive=False))
    return " AND ".join(parts)


def among(dialect: Dialect, scan: Scan, keys: Sequence[Key]) -> str:
    """The condition that a row has one of these keys."""
    columns = scan.key_columns
    if len(columns) == 1:
        return dialect.among(scan, columns[0].column, [dialect.literal(columns[0].column, key[0]) for key in keys])
    return "(" + " OR ".join(_equal(dialect, columns, key) for key in keys) + ")"


def places_among(dialect: Dialect, scan: Scan, bounds: Sequence[Key], keys: Sequence[Key]) -> str:
    """Selects, for each key's number, how many of the bounds it has reached, in the order of the columns.

    Literals take type and collation from the table's own columns; the statement reads no row of the table.
    """
    columns = [c.column for c in scan.order_columns]
    names = [dialect.quote(c.name) for c in columns]
    empty = f"SELECT 0 AS number, {', '.join(names)} FROM {dialect.table(scan.table.name)} WHERE 1 = 0"

    def rows(values: Sequence[Key]) -> str:
        literals = (
            ", ".join(dialect.literal(c.column, v) for c, v in zip(scan.order_columns, key, strict=True))
            for key in values
        )
        return empty + "".join(f" UNION ALL SELECT {n}, {literal}" for n, literal in enumerate(literals))

    cases = []
    for place in range(len(names)):
        signs = [*["="] * place, "<=" if place == len(names) - 1 else "<"]
        parts = zip(columns, names, signs, strict=False)
        cases.append("(" + " AND ".join(dialect.compared(c, f"b.{n}", sign, f"k.{n}") for c, n, sign in parts) + ")")
    return (
        f"SELECT k.number, (SELECT COUNT(*) FROM ({rows(bounds)}) AS b WHERE {' OR '.join(cases)}) "
        f"FROM ({rows(keys)}) AS k ORDER BY 1"
    )


def finds(dialect: Dialect, scan: Scan) -> bool:
    return all(c.expression is None and c.kind.tolerance is None and dialect.finds(c) for c in scan.key_columns)


def _equal(dialect: Dialect, columns: Sequence[ScanColumn], key: Key) -> str:
    pairs = zip(columns, key, strict=True)
    parts = (dialect.compared(c.column, dialect.quote(c.name), "=", dialect.literal(c.column, v)) for c, v in pairs)
    return "(" + " AND ".join(parts) + ")"


def _beyond(dialect: Dialect, scan: Scan, key: Key, sign: str, *, inclusive: bool) -> str:
    """(a, b) beyond (x, y), written out: MySQL uses no index to compare row values.

    The first column's own bound comes first, so that every planner sees a range on the index.
    """
    columns = [c.column for c in scan.order_columns]
    values = [dialect.literal(c, v) for c, v in zip(columns, key, strict=True)]

    def part(place: int, wanted: str) -> str:
        return dialect.compared(columns[place], dialect.quote(columns[place].name), wanted, values[place])

    at_the_end = f"{sign}{'=' if inclusive else ''}"
    if len(columns) == 1:
        return part(0, at_the_end)
    cases = []
    for place in range(len(columns)):
        last = at_the_end if place == len(columns) - 1 else sign
        cases.append(" AND ".join([*(part(before, "=") for before in range(place)), part(place, last)]))
    return f"{part(0, f'{sign}=')} AND ({' OR '.join(f'({case})' for case in cases)})"


def _source(dialect: Dialect, scan: Scan) -> str:
    table = dialect.table(scan.table.name)
    return table if scan.through is None else f"{table} {scan.through}"


def _where(scan: Scan, condition: str) -> str:
    # The user's condition may contain OR or end in a comment: hence parentheses, and a new line before the closing one.
    parts = [condition] if condition else []
    if scan.where:
        parts.append(f"({scan.where}\n)")
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def cut(scan: Scan, keys: KeyRange, most: int, next_bound: Callable[[KeyRange], Sequence[Any] | None]) -> list[Key]:
    """The keys at which to split a range. `next_bound` returns the row to split the rest at, as `bound` finds it, or
    None.
    """
    found: list[Key] = []
    while len(found) < most:
        row = next_bound(keys)
        key = None if row is None else key_of(scan, row)
        if key is None:
            break
        found.append(key)
        keys = KeyRange(key, keys.high)
    return found
