"""Connections that stay open while a task does one unit of work after another.

Some drivers read half a catalog when they connect: for a task with a few ranges, that takes longer than reading them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_HERE = threading.local()


@contextmanager
def kept_open() -> Iterator[None]:
    """Keeps connections that are leased on this thread inside the block open until its end."""
    _HERE.kept = {}
    try:
        yield
    finally:
        for connection in _HERE.kept.values():
            _close(connection)
        del _HERE.kept


@contextmanager
def lease(key: Hashable, connect: Callable[[], Any]) -> Iterator[Any]:
    """A connection that nobody else uses. It is closed after an error, and outside of `kept_open`."""
    kept: dict[Hashable, Any] = getattr(_HERE, "kept", {})
    connection = kept.pop(key, None) or connect()
    try:
        yield connection
    except BaseException:
        _close(connection)
        raise
    if kept is getattr(_HERE, "kept", None) and key not in kept:
        kept[key] = connection
    else:
        _close(connection)


def _close(connection: Any) -> None:
    # A lost connection can't be closed properly, and what was read is complete.
    with suppress(Exception):
        connection.close()
