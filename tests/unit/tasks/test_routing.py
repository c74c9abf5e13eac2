"""Which column of the source goes to which column of the target."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import pytest

from tieout.errors import UnsupportedError, UsageError
from tieout.model.requests import MoveRequest, TableRequest
from tieout.model.tables import Column, Index, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.tasks.routing import match_columns, routes, routes_and_rest, transfer_of

INT, TEXT = LogicalType(TypeName.INTEGER, "int", 32), LogicalType(TypeName.TEXT, "text")
MOMENT, DAY = LogicalType(TypeName.TIMESTAMP, "datetime(6)", 6), LogicalType(TypeName.DATE, "date")


def table(*columns: str | Column) -> Table:
    found = tuple(each if isinstance(each, Column) else Column(each, INT) for each in columns)
    key = (found[0].name,)
    return Table(TableName("s", "t"), found, key, (Index("PRIMARY", key, True, True),))


def pairs(source: Table, target: Table, request: TableRequest) -> list[tuple[str, str]]:
    return [(one.name, other.name) for one, other in match_columns(request, source, target).pairs]


ANY = TableRequest("t")


def test_names_match_as_written_and_else_but_for_case() -> None:
    assert pairs(table("Id", "note"), table("id", "NOTE"), ANY) == [("Id", "id"), ("note", "NOTE")]
    assert pairs(table("id", "A", "a"), table("id", "a", "A"), ANY) == [("id", "id"), ("A", "A"), ("a", "a")]


def test_no_two_columns_go_to_one() -> None:
    """PostgreSQL and SQLite may have columns whose names differ only by case, or not."""
    source, target = table("id", "A", "a"), table("id", "a")
    assert pairs(source, target, ANY) == [("id", "id"), ("a", "a")]
    assert [each.name for each in match_columns(ANY, source, target).missing] == ["A"]


def test_columns_whose_names_differ_only_by_case_are_chosen_as_written() -> None:
    source = table("id", "A", "a")
    assert pairs(source, source, TableRequest("t", columns=("id", "a"))) == [("id", "id"), ("a", "a")]
    assert pairs(source, source, TableRequest("t", exclude_columns=("A",))) == [("id", "id"), ("a", "a")]
    assert pairs(table("ID", "a"), table("id", "a"), TableRequest("t", columns=("id",))) == [("ID", "id")]
    with pytest.raises(UsageError, match="has no column b"):
        pairs(source, source, TableRequest("t", columns=("id", "b")))


@pytest.mark.parametrize(("expression", "is_refused"), [("at", True), ("`AT`", True), ("CAST(at AS DATE)", False)])
def test_a_column_that_is_only_renamed_has_to_fit(expression: str, is_refused: bool) -> None:
    """As one that keeps its name has to. What is lost on purpose is written down."""
    source, target = table("id", Column("at", MOMENT)), table("id", Column("day", DAY))
    request = TableRequest("t", exclude_columns=("at",), expressions={"day": (expression, "")})
    refusal = pytest.raises(UnsupportedError, match="at: date has no time of day") if is_refused else nullcontext()
    with refusal:
        transfer_of(request, source, target, same_engine=False, logs_generated_columns=False)


@dataclass
class Side:
    """An endpoint as far as routes need it."""

    schema: str
    names: tuple[str, ...]
    names_schema: bool = False

    def default_schema(self) -> str:
        return self.schema

    def schemas(self) -> list[str]:
        return [self.schema]

    def tables(self, schemas: list[str]) -> list[TableName]:
        return [TableName(self.schema, name) for name in self.names]


ARCHIVED = TableRequest("orders_2023", "archive")
MERGED = TableRequest("orders_*", "orders", expressions={"shard": ("_table", "")})


def routed(*entries: TableRequest, there: tuple[str, ...] = ("archive", "orders")) -> set[tuple[str, str]]:
    source, target = Side("shop", ("orders_2023", "orders_2024")), Side("public", there)
    request = MoveRequest("t", "", "", entries)
    return {(each.source.name, each.target.name) for each in routes(source, target, request)}  # type: ignore[arg-type]


def test_a_table_goes_where_the_first_entry_that_names_it_says() -> None:
    """Also if a later pattern, whose tables are merged, matches it."""
    assert routed(ARCHIVED, MERGED) == {("orders_2023", "archive"), ("orders_2024", "orders")}
    assert routed(MERGED, TableRequest("*")) == {("orders_2023", "orders"), ("orders_2024", "orders")}
    assert routed(TableRequest("orders_2024"), TableRequest("*", "public.*"), MERGED) == {
        ("orders_2023", "orders_2023"),
        ("orders_2024", "orders_2024"),
    }


def test_a_merging_pattern_whose_tables_others_have_leaves_its_target_without_rows() -> None:
    source, target = Side("shop", ("orders_2023",)), Side("public", ("archive", "orders"))
    found, rest = routes_and_rest(source, target, MoveRequest("t", "", "", (ARCHIVED, MERGED)))  # type: ignore[arg-type]
    assert [each.target.name for each in found] == ["archive"]
    assert [str(pair.target) for pair in rest] == ["public.orders"]


@pytest.mark.parametrize("there", [("archive", "orders"), ()])
@pytest.mark.parametrize("first", [MERGED, TableRequest("*"), TableRequest("orders_2023", "old")])
def test_a_table_does_not_go_to_two_tables(first: TableRequest, there: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"shop\.orders_2023 would go to public\.archive and to public\."):
        routed(first, ARCHIVED, there=there)
    assert routed(ARCHIVED, ARCHIVED, there=there) == {("orders_2023", "archive")}
