"""Chooses the key that identifies a table's rows."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.model.tables import Column, Index


def choose_key(columns: Sequence[Column], indexes: Sequence[Index]) -> tuple[str, ...]:
    """The primary key, else the shortest unique index without nullable columns, else none."""
    nullable = {column.name for column in columns if column.nullable}
    for index in indexes:
        if index.primary:
            return index.columns
    candidates = [i for i in indexes if i.unique and not nullable & set(i.columns)]
    best = min(candidates, key=lambda i: (len(i.columns), i.name), default=None)
    return best.columns if best else ()
