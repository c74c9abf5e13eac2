"""What a task makes of the rows of a source: the measure that targets are held to. Knows no Tieout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.faults.tasks.task import Entry, Task

Row = Mapping[str, Any]
Image = tuple[Any, ...]
"""A row of a target table, in the order of the entry's target columns."""


def image(entry: Entry, schema: str, table: str, row: Row) -> Image | None:
    """The row of the target; None if the task leaves the row out."""
    values = {**row, "_schema": schema, "_table": table}
    if entry.where is not None and entry.where.of(values) is not True:
        return None
    unchanged = [row[column.name] for column in entry.unchanged]
    return (*unchanged, *(text.of(values) for text in entry.computed.values()))


def expected(task: Task, schema: str, source: Mapping[str, list[dict[str, Any]]]) -> dict[str, Counter[Image]]:
    """What each target table must hold. `source` has the rows of each source table."""
    found: dict[str, Counter[Image]] = {entry.target: Counter() for entry in task.entries}
    for entry in task.entries:
        for table in entry.tables:
            images = (image(entry, schema, table, row) for row in source[table])
            found[entry.target].update(each for each in images if each is not None)
    return found


def key_of(entry: Entry, row: Image) -> tuple[Any, ...]:
    """Of a row of the target."""
    names = [column.name for column in entry.target_columns]
    return tuple(row[names.index(name)] for name in entry.target_key)
