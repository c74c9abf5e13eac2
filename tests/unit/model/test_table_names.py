"""A table by its name: no two are called alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tieout.model.tables import TableName

PARTS = st.text('".ab', min_size=1, max_size=6)


def test_names_as_most_people_have_them() -> None:
    assert str(TableName("public", "orders")) == "public.orders"
    assert str(TableName("main", "a.b")) == "main.a.b"
    assert str(TableName("a.b", "c")) == '"a.b".c'
    assert TableName.parse("orders") is None


@given(PARTS, PARTS)
def test_a_name_is_read_as_it_was_written(schema: str, name: str) -> None:
    assert TableName.parse(str(TableName(schema, name))) == TableName(schema, name)
