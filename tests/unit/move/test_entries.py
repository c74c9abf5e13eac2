"""A preflight says of each entry of a task what `run` would say: it refuses no task that `run` takes."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.model.preflight import Severity
from tieout.model.requests import MoveRequest, TableRequest
from tieout.model.tables import TableName
from tieout.move.preflight import MovePreflight
from tieout.move.ways import Ways

NOTE, PREVENTS = Severity.NOTE, Severity.PREVENTS
MERGED = TableRequest("orders_*", "orders", expressions={"shard": ("_table", "")})


@dataclass
class Side:
    """An endpoint as far as routes need it."""

    schema: str
    names: tuple[str, ...]
    names_schema: bool = False
    capabilities: Side | None = None
    family: str = "one"
    moves_only_within: bool = False

    def default_schema(self) -> str:
        return self.schema

    def schemas(self) -> list[str]:
        return [self.schema]

    def tables(self, schemas: list[str]) -> list[TableName]:
        return [TableName(self.schema, name) for name in self.names]


def told(
    *entries: TableRequest, of: tuple[str, ...] = ("t", "u"), there: tuple[str, ...] = ("t", "orders")
) -> tuple[list[str], list[tuple[Severity, str]]]:
    """The tables that are looked at further, and what is said of the others."""
    engine = Side("", ())
    source, target = Side("shop", of, capabilities=engine), Side("public", there, capabilities=engine)
    problems: list[object] = []
    preflight = MovePreflight(Ways(MoveRequest("task", "", "", entries), (source, target), None, None))  # type: ignore[arg-type]
    found = preflight._known_routes(problems)  # type: ignore[arg-type]
    return [route.source.name for route in found], [(each.severity, each.message) for each in problems]  # type: ignore[attr-defined]


def test_an_entry_without_tables_prevents_nothing() -> None:
    assert told(MERGED, TableRequest("t")) == (["t"], [(NOTE, "no table matches orders_*")])
    assert told(TableRequest("x_*"), TableRequest("t")) == (["t"], [(NOTE, "no table matches x_*")])
    assert told(TableRequest("orders"), TableRequest("t")) == (["t"], [(NOTE, "there is no table orders")])
    assert told(TableRequest("t"), TableRequest("t*")) == (["t"], [])


def test_no_entry_with_tables_prevents() -> None:
    assert told(MERGED, TableRequest("x_*")) == ([], [(PREVENTS, "there are no tables to move")])
    assert told(of=()) == ([], [(PREVENTS, "there are no tables to move")])


def test_a_wrong_entry_does_not_hide_the_others() -> None:
    keyed = TableRequest("u", key=("id",))
    assert told(keyed, TableRequest("nope"), MERGED, TableRequest("t")) == (
        ["t"],
        [
            (PREVENTS, "u: a move does not support `key` yet"),
            (PREVENTS, "neither side has a table nope"),
            (NOTE, "no table matches orders_*"),
        ],
    )
    assert told(keyed, MERGED) == ([], [(PREVENTS, "u: a move does not support `key` yet")])


def test_an_entry_is_wrong_beside_those_before_it() -> None:
    """Alone, these patterns would merge two tables that nothing tells apart: an entry before them has one."""
    archived = TableRequest("t", "archive")
    rest = TableRequest("?", "orders")
    assert told(archived, rest) == (["t", "u"], [])
    ((table,), ((severity, words),)) = told(TableRequest("t"), TableRequest("t", "archive"))
    assert (table, severity, words) == ("t", PREVENTS, "shop.t would go to public.archive and to public.t")
