"""Names that statements give, in a real catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tieout.checks.language import parse_statement
from tieout.checks.planner import plan
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_checker
from tieout.errors import UnsupportedError, UsageError

if TYPE_CHECKING:
    from tests.servers.sqlite import SqliteDatabase
    from tieout.connectors.protocols.check import Checker


@pytest.fixture
def checker(sqlite_db: Callable[[str], SqliteDatabase]) -> Iterator[Checker]:
    database = sqlite_db("shop")
    database.execute("CREATE TABLE Orders (id INTEGER PRIMARY KEY, sku TEXT); CREATE INDEX by_sku ON Orders (sku)")
    database.execute("CREATE TABLE lines (id INTEGER PRIMARY KEY, qty INT CONSTRAINT many CHECK (qty > 1))")
    database.execute("CREATE INDEX by_qty ON lines (qty)")
    with closing(open_checker(parse_url(database.url))) as checker:
        yield checker


def planned(checker: Checker, text: str) -> dict[str, list[str]]:
    return {str(t.table.name): [i.name for i in t.indexes] for t in plan(parse_statement(text), checker)}


@pytest.mark.parametrize("name", ["shop", "main", "MAIN"])
def test_all_of_a_database(checker: Checker, name: str) -> None:
    """SQLite calls a file main, whatever the file is called."""
    assert planned(checker, f"INSPECT DATABASE {name}") == {"main.Orders": ["by_sku"], "main.lines": ["by_qty"]}


@pytest.mark.parametrize("fixture", ["pg_db", "mysql_db"])
def test_main_means_nothing_to_a_server(fixture: str, request: pytest.FixtureRequest) -> None:
    database = request.getfixturevalue(fixture)
    with closing(open_checker(parse_url(database.url))) as checker, pytest.raises(UsageError) as error:
        planned(checker, "CHECK DATABASE main")
    assert error.value.message == f"this is the database {database.name}, not main"


def test_a_name_is_meant_whatever_its_case(checker: Checker) -> None:
    assert planned(checker, "CHECK TABLE orders, LINES, lines") == {"main.Orders": ["by_sku"], "main.lines": ["by_qty"]}


def test_constraints_of_several_tables(checker: Checker) -> None:
    planned = plan(parse_statement("CHECK TABLE orders, lines CONSTRAINT primary_key, many"), checker)
    assert {str(t.table.name): [c.name for c in t.constraints] for t in planned} == {
        "main.Orders": ["primary_key"],
        "main.lines": ["many", "primary_key"],
    }


def test_indexes_of_several_tables(checker: Checker) -> None:
    assert planned(checker, "CHECK TABLE orders, lines INDEX by_qty") == {"main.Orders": [], "main.lines": ["by_qty"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CHECK TABLE order, x", 'shop has no table order, x (did you mean "Orders"?)'),
        (
            "CHECK TABLE orders INDEX by_skuu, by_sku, nothing",
            'main.Orders has no indexes by_skuu, nothing (did you mean "by_sku"?)',
        ),
        (
            "CHECK TABLE lines CONSTRAINT many, meny, nothing",
            'main.lines has no constraints meny, nothing (did you mean "many"?)',
        ),
        (
            "CHECK DATABASE other",
            "this is the database shop, not other (use the URL of the database to check)",
        ),
    ],
)
def test_names_that_mean_nothing_are_told_at_once(checker: Checker, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        planned(checker, text)
    assert str(error.value) == message


def test_the_past(checker: Checker) -> None:
    with pytest.raises(UnsupportedError, match="can't read the past"):
        planned(checker, "CHECK TABLE orders AS OF '-10s'")
