"""What a log only_told, without the place that it was read to."""

from __future__ import annotations

from collections.abc import Iterable

from tieout.model.changes import LogItem, Reached


def only_told(items: Iterable[LogItem]) -> list[LogItem]:
    """All but the last item, which says that all was only_told."""
    *found, last = items
    assert isinstance(last, Reached)
    return found
