"""Where a range of keys is cut, one place after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tieout.connectors.protocols.endpoint import Scan
from tieout.connectors.sql.key_decode import key_of
from tieout.model.keys import Key, KeyRange


def cut(scan: Scan, keys: KeyRange, most: int, next_bound: Callable[[KeyRange], Sequence[Any] | None]) -> list[Key]:
    """`next_bound` is the row at the first place to cut what is left, as `sql.bound` finds it; None: there is none."""
    found: list[Key] = []
    while len(found) < most:
        row = next_bound(keys)
        key = None if row is None else key_of(scan, row)
        if key is None:
            break
        found.append(key)
        keys = KeyRange(key, keys.high)
    return found
