"""The columns and the key of a table that a task creates."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tieout.connectors.sql.ddl import Reference, Wiring
from tieout.connectors.sql.selection import selected
from tieout.errors import UsageError
from tieout.model.requests import TableRequest
from tieout.model.tables import Column, Index, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.tasks.created import disagreement, selection_of

INT, TEXT = LogicalType(TypeName.INTEGER, "int", 32), LogicalType(TypeName.TEXT, "varchar(20)", 20)
TABLE = Table(
    TableName("shop", "orders"),
    (Column("id", INT, nullable=False), Column("client", TEXT, nullable=False), Column("total", INT)),
    ("id",),
    (Index("PRIMARY", ("id",), True, True), Index("u", ("client", "id"), True), Index("t", ("total",))),
)
WIRING = Wiring({"id": 7}, (Reference("f", ("client",), TableName("shop", "c"), ("name",), "CASCADE", "CASCADE"),))


def test_a_renamed_column_keeps_its_definition() -> None:
    request = TableRequest("orders", exclude_columns=("client",), expressions={"customer": ("`client`", "")})
    selection = selection_of(request, TABLE, [TABLE.columns[0], TABLE.columns[2]], shared=False)
    assert selection is not None
    made, wiring, left_out = selected(TABLE, WIRING, selection)
    assert made.columns[2] == replace(TABLE.columns[1], name="customer")
    assert {index.columns for index in made.indexes} == {("id",), ("customer", "id"), ("total",)}
    assert wiring.references[0].columns == ("customer",)
    assert left_out == []


def test_merged_tables_share_no_unique_value() -> None:
    request = TableRequest("orders", expressions={"shard": ("upper(_table)", ""), "label": ("_table || client", "")})
    selection = selection_of(request, TABLE, TABLE.columns, shared=True)
    assert selection is not None
    assert selection.key == ("id", "shard")  # a deleted row has no client, so `label` can't be part of it
    made, wiring, left_out = selected(TABLE, WIRING, selection)
    assert [index.columns for index in made.indexes if index.unique] == [("id", "shard")]
    assert (wiring.numbers, wiring.references) == ({"id": 7}, ())
    assert [words.partition(",")[0] for words in left_out] == ["unique index u", "foreign key f"]
    assert [column.nullable for column in made.columns] == [False, False, True, False, True]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (TableRequest("orders", expressions={"label": ("_table || client", "")}), "could not be distinguished"),
        (TableRequest("orders", expressions={"s": ("_table", ""), "n": ("nothing", "")}), "has no column nothing"),
        (TableRequest("orders", expressions={"id": ("id + 1", "")}), "key column id must be moved unchanged"),
    ],
)
def test_refused(request_: TableRequest, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        selection_of(request_, TABLE, TABLE.columns, shared=True)


def test_a_computed_column_replaces_no_column_of_another_case() -> None:
    table = replace(TABLE, columns=(*TABLE.columns, Column("Total", INT)))
    request = TableRequest("orders", expressions={"total": ("id * 2", "")})
    selection = selection_of(request, table, table.columns, shared=False)
    assert selection is not None
    assert [name for name, _ in selection.columns] == ["id", "client", "Total", "total"]
    alone = selection_of(
        TableRequest("orders", expressions={"TOTAL": ("id * 2", "")}), TABLE, TABLE.columns, shared=False
    )
    assert alone is not None
    assert [name for name, _ in alone.columns] == ["id", "client", "TOTAL"]
    for twice in ({"total": ("id", ""), "Total": ("id", "")}, {"x": ("id", ""), "X": ("id", "")}):
        with pytest.raises(UsageError, match="would be one column of orders"):
            selection_of(TableRequest("orders", expressions=twice), TABLE, TABLE.columns, shared=False)


def test_what_tables_disagree_on() -> None:
    assert disagreement(TABLE, replace(TABLE, name=TableName("shop", "other"))) is None
    for other, words in (
        (replace(TABLE, columns=TABLE.columns[:2]), "only one has the column total"),
        (replace(TABLE, columns=(*TABLE.columns[:2], Column("total", TEXT))), r"total is int in one and varchar\(20\)"),
        (replace(TABLE, columns=(*TABLE.columns[:2], Column("total", INT, nullable=False))), "total is NOT NULL"),
        (replace(TABLE, key=("client",)), "different keys"),
    ):
        found = disagreement(TABLE, other)
        assert found is not None
        assert re.search(words, found), found
