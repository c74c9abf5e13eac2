"""Updates that want each other's unique values, in circles: no order of them can be carried out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from tieout.canonical.numbers import plain_number
from tieout.connectors.writing import Row
from tieout.model.tables import Column, Table
from tieout.model.types import TypeName
from tieout.repair.from_differences.steps import Step


def circles(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps in groups: each wants a value that another of its group has."""
    holders = {value: place for place, step in enumerate(steps) for value in held(step)}
    group = list(range(len(steps)))
    for place, step in enumerate(steps):
        for value in wanted(step):
            holder = holders.get(value)
            if holder is not None and _root(group, holder) != _root(group, place):
                group[_root(group, place)] = _root(group, holder)
    grouped: dict[int, list[Step]] = defaultdict(list)
    for place, step in enumerate(steps):
        grouped[_root(group, place)].append(step)
    return list(grouped.values())


def _root(group: list[int], place: int) -> int:
    while group[place] != place:
        group[place] = group[group[place]]
        place = group[place]
    return place


def held(step: Step) -> Iterable[Hashable]:
    """The unique values that an update's row has before, and gives up."""
    before = {**step.whole, **(step.change.new_row or {})} if step.backwards else (step.change.old_row or {})
    return _unique_values(step, before)


def wanted(step: Step) -> Iterable[Hashable]:
    """The unique values that an update's row is to have."""
    return _unique_values(step, step.whole)


def _unique_values(step: Step, row: Row) -> Iterator[Hashable]:
    table = step.table.table
    for index in unique_indexes(table, step.table.key):
        texts = [row.get(name) for name in index]
        if None not in texts and step.values.keys() & set(index):
            yield (
                str(table.name),
                index,
                tuple(_folded(table.column(n), t or "") for n, t in zip(index, texts, strict=True)),
            )


def _folded(column: Column, text: str) -> str:
    """Alike for values that an engine takes for one, and for some others: a group too large does no harm."""
    if column.type.name is TypeName.DECIMAL:
        return plain_number(text)
    return text.casefold().rstrip()


def unique_indexes(table: Table, key: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (index.columns for index in table.indexes if index.unique and set(index.columns) != set(key))
