"""Where a sequence of a target continues."""

from __future__ import annotations

import pytest

from tieout.connectors.postgres.move.finish import _following


@pytest.mark.parametrize(
    ("current", "wanted", "used", "increment", "following"),
    [
        (1, 6, 5, 1, 6),
        (9, 6, 5, 1, 9),  # never back
        (1, None, 41, 1, 42),  # a column that the source does not number
        (1, 401, 395, 10, 401),
        (1, 401, 401, 10, 411),  # stays in its series: another server may number the rest
        (1, 401, 437, 10, 441),
        (-1, -4, -3, -1, -4),
        (-1, None, -9, -1, -10),
        (1, None, None, 1, 1),
    ],
)
def test_following(current: int, wanted: int | None, used: int | None, increment: int, following: int) -> None:
    assert _following(current, wanted, used, increment) == following
