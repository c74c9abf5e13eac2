"""Waiting for a slot: one connection at a time can use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import stamina

from tieout.connectors.postgres.wal.faults import IN_USE

T = TypeVar("T")

_SECONDS = 30.0


def when_free(use: Callable[[], T]) -> T:
    """What `use` returns; it is called again and again while the slot is in use, for half a minute."""
    retries = stamina.retry_context(
        on=_in_use, attempts=None, timeout=_SECONDS, wait_initial=0.02, wait_max=0.2, wait_jitter=0.02
    )
    for attempt in retries:
        with attempt:
            return use()
    raise AssertionError("the last attempt returns or raises")


def _in_use(error: Exception) -> bool:
    return getattr(error, "sqlstate", None) == IN_USE
