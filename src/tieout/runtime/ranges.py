"""Where to cut a table, by what its engine knows of it."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.model.keys import Key


def sampled_bounds(sample: Sequence[str], rows: int, chunk_rows: int) -> list[Key]:
    """Every so many-th value of a sample that divides `rows` rows into equal parts."""
    step = max(1, round(chunk_rows * (len(sample) - 1) / rows))
    return [(value,) for value in sample[step:-1:step]]
