"""A source's table at the mover's position in the log, which may be earlier than its columns are now."""

from __future__ import annotations

from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.move.schema_changes import as_planned


def column(name: str, kind: TypeName) -> Column:
    return Column(name, LogicalType(kind, str(kind)), nullable=True)


def table(*columns: Column) -> Table:
    return Table(TableName("shop", "t"), columns)


ID = column("id", TypeName.INTEGER)
NOTE = column("note", TypeName.TEXT)


def test_a_dropped_column_has_the_type_that_is_stored() -> None:
    """The target's may be wider."""
    there = table(ID, column("note", TypeName.JSON))
    assert as_planned(table(ID), ("id", "note"), lambda: there, {"id": ID, "note": NOTE}).columns == (ID, NOTE)


def test_only_the_target_knows_a_type_that_is_not_stored() -> None:
    there = column("old", TypeName.DATE)
    assert as_planned(table(ID), ("id", "old"), lambda: table(ID, there)).columns == (ID, there)


def test_a_dropped_column_that_the_target_does_not_have_is_left_out() -> None:
    types = {"id": ID, "note": NOTE}
    assert as_planned(table(ID), ("id", "note", "away"), lambda: table(ID), types).columns == (ID,)


def test_a_column_that_came_later_is_left_out() -> None:
    assert as_planned(table(ID, NOTE), ("id",), table, {}).columns == (ID,)
