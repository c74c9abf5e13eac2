"""Which column of the source goes to which column of the target."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from tieout.errors import TieoutError, UnsupportedError, UsageError
from tieout.model.requests import MoveRequest, TableRequest
from tieout.model.tables import Column, Index, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.tasks.created import key_of_created
from tieout.tasks.routing import NothingToMove, Route, match_columns, routes, routes_and_rest, transfer_of, uncomputable
from tieout.tasks.shards import alike_shards
from tieout.tasks.transforms import expressions_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def entry(*left_out: str, **expressions: str) -> TableRequest:
    texts = {name: (text, "") for name, text in expressions.items()}
    return TableRequest("t", exclude_columns=left_out, expressions=texts)


def test_a_computed_column_takes_no_other_one_s_place() -> None:
    source, target = table("id", "Total", "total", "price"), table("id", "Total", "total")
    matched = match_columns(entry("price", total="price * 2"), source, target)
    assert [(column.name, text) for column, text in matched.computed] == [("total", "price * 2")]
    assert [(one.name, other.name) for one, other in matched.pairs] == [("id", "id"), ("Total", "Total")]
    assert matched.missing == ()
    both = match_columns(entry("price", total="price * 2", Total="price"), source, target)
    assert [(column.name, text) for column, text in both.computed] == [("Total", "price"), ("total", "price * 2")]
    assert pairs(source, target, entry("price", total="price * 2", Total="price")) == [("id", "id")]


def test_a_column_that_nothing_computes_and_nothing_takes_is_missed() -> None:
    """The target's only column of that name is computed, from something else."""
    source, target = table("id", "Total", "total", "price"), table("id", "total")
    assert [each.name for each in match_columns(entry("price", total="price * 2"), source, target).missing] == ["Total"]
    with pytest.raises(UnsupportedError, match="it has no column Total;"):
        transfer_of(entry(total="price * 2"), source, target, same_engine=False, logs_generated_columns=False)


def test_a_computed_column_may_be_written_in_another_case() -> None:
    source, target = table("id", "Total", "price"), table("id", "TOTAL")
    matched = match_columns(entry("price", total="price * 2"), source, target)
    assert ([column.name for column, _ in matched.computed], matched.missing) == (["TOTAL"], ())
    assert uncomputable(entry("price", total="price * 2"), source, target) == []


@pytest.mark.parametrize(
    ("columns", "names", "words"),
    [
        (("total",), ("total", "Total"), "total and Total would be one column of t"),
        (("total",), ("Total", "total"), "Total and total would be one column of t"),
        (("TOTAL",), ("total", "Total"), "total and Total would be one column of t"),
        (("Total", "total"), ("total", "TOTAL"), "TOTAL could be Total or total of t"),
        ((), ("total", "Total"), "total and Total would be one column of t"),
    ],
)
def test_no_two_names_compute_one_column(columns: tuple[str, ...], names: tuple[str, ...], words: str) -> None:
    request = entry(**dict.fromkeys(names, "price"))
    with pytest.raises(UsageError, match=words):
        match_columns(request, table("id", "price"), table("id", "price", *columns))


def test_what_can_not_be_computed_is_the_column_that_is_named() -> None:
    bits = Column("Flags", LogicalType(TypeName.BITS, "bit(4)", 4))
    request = entry(flags="price")
    assert uncomputable(request, table("id", "price"), table("id", "flags", bits)) == []
    assert uncomputable(request, table("id", "price"), table("id", bits)) == ["Flags: a transform can't compute bit(4)"]


def test_the_type_of_the_column_that_is_named_takes_the_value() -> None:
    target = table("id", "at", Column("At", MOMENT))
    transfer = expressions_of(entry(at="id"), table("id"), target)
    assert transfer is not None
    assert [column.type for column in transfer.target_columns] == [INT]


def test_a_column_of_another_case_does_not_tell_merged_tables_apart() -> None:
    """The key has `Shard`, which the row's key decides, and not `shard`."""
    source, target = table("id"), table("id", "shard", Column("Shard", INT, nullable=False))
    target = replace(target, indexes=(Index("PRIMARY", ("id", "Shard"), True, True),))
    request = entry(shard="_table", Shard="CAST(id AS STRING)")
    names = [TableName("s", "t_1"), TableName("s", "t_2")]
    found = [Route(name, target.name, True, request) for name in names]
    refused = alike_shards(
        found, {name: replace(source, name=name) for name in names}, {target.name: target}, not_asked
    )
    assert sorted(refused) == names
    assert "no column of its key is computed from _table" in str(refused[names[0]])


@pytest.mark.parametrize(
    ("expression", "nullable", "words"),
    [
        ("_table", False, None),
        ("substr(_table, id)", False, None),
        ("_table", True, "more takes NULL, which equals nothing"),
        ("current_date()", False, "more is not computed from the key alone"),
        ("concat(_table, uuid())", False, "more is not computed from the key alone"),
        ("note", False, "more is not computed from the key alone"),
    ],
)
def test_what_may_be_in_the_target_s_key(expression: str, nullable: bool, words: str | None) -> None:
    """A row has to be found by it again, also if the log tells nothing but the source's key."""
    source = table("id", "note")
    target = replace(
        table("id", "note", Column("more", TEXT, nullable=nullable)), indexes=(Index("u", ("id", "more"), unique=True),)
    )
    refusal = nullcontext() if words is None else pytest.raises(UnsupportedError, match=words)
    with refusal:
        moved = transfer_of(entry(more=expression), source, target, same_engine=False, logs_generated_columns=False)
        assert [moved.target_columns[place].name for place in moved.key] == ["id", "more"]


def test_a_created_key_has_nothing_that_changes() -> None:
    keys = {text: key_of_created(entry(shard=text), table("id")) for text in ("_table", "concat(_table, uuid())")}
    assert keys == {"_table": ("id", "shard"), "concat(_table, uuid())": ("id",)}


def not_asked() -> SparkSession:
    raise AssertionError("nothing of the key is computed from the table's name")


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


def test_tables_whose_rows_nothing_tells_apart_do_not_go_to_one() -> None:
    entries = [TableRequest(name, "orders") for name in ("orders_2023", "orders_2024")]
    with pytest.raises(UsageError, match=r"orders_2024 and shop\.orders_2023 would both go to"):
        routed(*entries)
    with pytest.raises(UsageError, match=r"orders_2023 and shop\.orders_2024 would both go to"):
        routed(replace(entries[0], expressions={"shard": ("_table", "")}), entries[1])


@pytest.mark.parametrize("entry", [TableRequest("t", key=("a",)), TableRequest("t", expressions={"a": ("b", "c")})])
def test_what_only_a_verification_takes_is_refused_with_what_makes_it_a_move(entry: TableRequest) -> None:
    sides = Side("shop", ("t",)), Side("public", ("t",))
    for request, said in (
        (MoveRequest("t", "", "", (entry,)), r"\(remove (it|its SQL for the target)\)$"),
        (MoveRequest("t", "", "", (entry,), delivery="exactly-once"), ": its delivery says that the task is moved"),  # type: ignore[arg-type]
        (MoveRequest("t", "", "", (entry,), consistency="row"), ": its consistency says that the task is moved"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TieoutError, match=said):
            routes(*sides, request)  # type: ignore[arg-type]


def test_a_merging_pattern_whose_tables_others_have_leaves_its_target_without_rows() -> None:
    source, target = Side("shop", ("orders_2023",)), Side("public", ("archive", "orders"))
    found, rest = routes_and_rest(source, target, MoveRequest("t", "", "", (ARCHIVED, MERGED)))  # type: ignore[arg-type]
    assert [each.target.name for each in found] == ["archive"]
    assert [str(pair.target) for pair in rest] == ["public.orders"]


@pytest.mark.parametrize("entry", [MERGED, TableRequest("orders"), TableRequest("o*"), TableRequest("gone", "orders")])
def test_a_source_whose_tables_are_all_gone(entry: TableRequest) -> None:
    """A verification finds what the target has of the task; a mover has nothing to do."""
    source, target, request = Side("shop", ()), Side("public", ("orders",)), MoveRequest("t", "", "", (entry,))
    found, rest = routes_and_rest(source, target, request)  # type: ignore[arg-type]
    assert (found, [str(pair.target) for pair in rest]) == ([], ["public.orders"])
    with pytest.raises(NothingToMove, match="there are no tables to move"):
        routes(source, target, request)  # type: ignore[arg-type]
    with pytest.raises(NothingToMove):
        routes_and_rest(source, Side("public", ()), replace(request, tables=(MERGED,)))  # type: ignore[arg-type]


def test_a_target_table_whose_namesake_goes_elsewhere_is_left_over() -> None:
    names = ("orders_2023", "orders_2024", "t")
    source, target = Side("shop", names), Side("public", ("archive", "orders", *names))
    request = MoveRequest("t", "", "", (ARCHIVED, MERGED, TableRequest("*")))
    found, rest = routes_and_rest(source, target, request)  # type: ignore[arg-type]
    assert {each.target.name for each in found} == {"archive", "orders", "t"}
    assert {str(pair.target) for pair in rest} == {"public.orders_2023", "public.orders_2024"}
    assert {pair.source for pair in rest} == {None}


@pytest.mark.parametrize("there", [("archive", "orders"), ()])
@pytest.mark.parametrize("first", [MERGED, TableRequest("*"), TableRequest("orders_2023", "old")])
def test_a_table_does_not_go_to_two_tables(first: TableRequest, there: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"shop\.orders_2023 would go to public\.archive and to public\."):
        routed(first, ARCHIVED, there=there)
    assert routed(ARCHIVED, ARCHIVED, there=there) == {("orders_2023", "archive")}
