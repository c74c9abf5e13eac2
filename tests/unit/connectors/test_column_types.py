"""The types in which an engine holds the columns of another one."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql.move import ddl_from_other_engine as mysql
from tieout.connectors.mysql.move.ddl_from_other_engine import structure_of as mysql_structure
from tieout.connectors.postgres.move import ddl_from_other_engine as postgres
from tieout.connectors.sql.ddl import TABLE, Structure, UnsupportedColumn, Wiring
from tieout.model.tables import Column, Index, Table, TableName
from tieout.model.types import LogicalType, TypeName


def text(name: str, length: int | None = None) -> Column:
    return Column(name, LogicalType(TypeName.TEXT, f"varchar({length})" if length else "text", length))


def table(*columns: Column, key: tuple[str, ...] = (), indexes: tuple[Index, ...] = ()) -> Table:
    return Table(TableName("s", "t"), columns, key, indexes)


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        (LogicalType(TypeName.DECIMAL, "numeric(3,5)", 3, 5), "DECIMAL(5, 5)"),
        (LogicalType(TypeName.DECIMAL, "numeric(8,-2)", 8, -2), "DECIMAL(10, 0)"),
        (LogicalType(TypeName.DECIMAL, "numeric(65,38)", 65, 38), "DECIMAL(65, 38)"),
        (LogicalType(TypeName.DECIMAL, "numeric(66,0)", 66, 0), None),
        (LogicalType(TypeName.DECIMAL, "numeric(60,39)", 60, 39), None),
        (LogicalType(TypeName.DECIMAL, "numeric"), None),
        (LogicalType(TypeName.BITS, "bit(64)", 64), "BIT(64)"),
        (LogicalType(TypeName.BITS, "bit(65)", 65), None),
        (LogicalType(TypeName.BITS, "varbit"), None),
        (LogicalType(TypeName.OPAQUE, "inet", engine="postgres"), None),
        (LogicalType(TypeName.ARRAY, "int[]", element=LogicalType(TypeName.INTEGER, "int4")), "JSON"),
        (LogicalType(TypeName.ARRAY, "pair[]", element=LogicalType(TypeName.OPAQUE, "pair")), None),
    ],
    ids=lambda value: value.native if isinstance(value, LogicalType) else "",
)
def test_types_of_mysql(kind: LogicalType, made: str | None) -> None:
    found = mysql.column_type(Column("c", kind))
    assert found == made or (made is None and isinstance(found, UnsupportedColumn) and kind.native in found.reason)


def test_labels_that_mysql_would_change() -> None:
    kind = LogicalType(TypeName.ENUM, "mood", values=("ok ", "b"))
    assert str(mysql.column_type(Column("c", kind))).startswith("VARCHAR(3)")


def test_texts_of_a_row_that_has_no_room_for_them() -> None:
    types = mysql.column_types(table(text("id", 100), *(text(f"c{n}", 5000 + n) for n in range(6)), key=("id",)))
    assert not isinstance(types, list)
    kinds = [kind.split()[0] for kind in types.values()]
    assert kinds == ["VARCHAR(100)", "VARCHAR(5000)", "VARCHAR(5001)", *["LONGTEXT"] * 4]


def test_a_text_without_a_length_in_a_key() -> None:
    types = mysql.column_types(table(text("a"), text("b"), key=("a", "b")))
    assert not isinstance(types, list)
    assert [kind.split()[0] for kind in types.values()] == ["VARCHAR(384)"] * 2


def test_an_index_takes_the_beginning_of_long_texts() -> None:
    index = Index("i", ("a", "b"))
    made = mysql_structure(table(text("a"), text("b", 20), indexes=(index,)), Wiring())
    assert isinstance(made, Structure)
    assert made.indexes[0].statement == f"ALTER TABLE {TABLE} ADD KEY `i` (`a`(191), `b`)"


def test_names_that_an_engine_does_not_take() -> None:
    refused = mysql.column_types(table(text("A"), text("a"), text("b ")))
    assert isinstance(refused, list)
    assert [column.column for column in refused] == ["a", "b "]
    refused = postgres.column_types(table(text("ctid"), text("é" * 32), text("e" * 63)))
    assert isinstance(refused, list)
    assert [column.column for column in refused] == ["ctid", "é" * 32]
