"""Connections that stay open while a task does one piece of work after another.

Some drivers read half a catalog when they connect: with a few ranges to a task that is longer than the
reading itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_HERE = threading.local()


@contextmanager
def kept_open() -> Iterator[None]:
    """In the block, connections leased on this thread are closed at its end and not before."""
    _HERE.kept = {}
    try:
        yield
    finally:
        for connection in _HERE.kept.values():
            _close(connection)
        del _HERE.kept


@contextmanager
def lease(key: Hashable, connect: Callable[[], Any]) -> Iterator[Any]:
    """A connection that nobody else holds. After an error, or outside of `kept_open`, it is closed."""
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
    # A connection that was lost can't say goodbye, and what it read is complete.
    with suppress(Exception):
        connection.close()
