"""Tab form there and back."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tieout.connectors.sql import copy_text

values = st.none() | st.text(max_size=6) | st.sampled_from(["", "\\N", "\\x00ff", "\\\\", "a\tb\nc\rd\\", "\0", "\\t"])


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(values, min_size=n, max_size=n), min_size=1, max_size=8)))
def test_cells_are_what_lines_were_made_of(rows: list[list[str | None]]) -> None:
    columns = [pa.array(column, pa.large_string()) for column in zip(*rows, strict=True)]
    found = copy_text.cells(copy_text.lines(columns), len(columns))
    assert [column.to_pylist() for column in found] == [column.to_pylist() for column in columns]
