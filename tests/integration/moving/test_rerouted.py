"""A table that would go to another target table than its rows went to: what follows would be there without them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.test_redefined import looked
from tests.integration.moving.test_work_on_the_way import asking
from tieout import api
from tieout.errors import UnsupportedError, UsageError, WriteError
from tieout.model.requests import TableRequest

ORDERS = TableRequest("orders", "public.orders")
OTHER = replace(ORDERS, target="public.other")
WORDS = r"orders: its rows were copied to public\.orders, and the task has public\.other for it now"


def begun(moving: Moving) -> Moving:
    moving.source.execute("CREATE TABLE orders (id INT PRIMARY KEY, a INT)")
    moving.source.execute("INSERT INTO orders VALUES (1, 1), (2, 2)")
    asked = asking(moving, ORDERS)
    asked.run()
    moving.source.execute("INSERT INTO orders VALUES (3, 3)")
    return asked


def refused(moving: Moving, words: str) -> None:
    """By run, and by a preflight in the same words."""
    with pytest.raises(UnsupportedError, match=words) as error:
        moving.run()
    assert str(error.value.hint).startswith("let it go to public.orders again")
    ((line, fix),) = looked(moving.request, moving.meta).items()
    assert line.endswith(error.value.message)
    assert fix == error.value.hint


@pytest.mark.parametrize("there", [True, False])
def test_another_target(mariadb_to_postgres: Moving, there: bool) -> None:
    moving = mariadb_to_postgres
    asked = begun(moving)
    if there:
        moving.target.execute("CREATE TABLE other (id INT PRIMARY KEY, a INT)")
    refused(asking(moving, OTHER), WORDS)
    if there:
        assert moving.target.rows("SELECT id FROM other") == []
    asked.run()
    assert moving.rows("orders", "id")[1] == [(1,), (2,), (3,)]


def test_a_schema_of_the_source_s_name_comes_later(mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    moving.source.execute("CREATE TABLE orders (id INT PRIMARY KEY)")
    moving.source.execute("INSERT INTO orders VALUES (1)")
    asked = asking(moving, TableRequest(f"{moving.source.name}.orders"))
    asked.run()
    assert moving.target.rows("SELECT id FROM public.orders") == [(1,)]
    moving.target.execute(f"CREATE SCHEMA {moving.source.name}")
    moving.target.execute(f"CREATE TABLE {moving.source.name}.orders (id INT PRIMARY KEY)")
    moving.source.execute("INSERT INTO orders VALUES (2)")
    refused(asked, rf"copied to public\.orders, and the task has {moving.source.name}\.orders for it now")
    assert moving.target.rows(f"SELECT id FROM {moving.source.name}.orders") == []
    asking(moving, replace(asked.request.tables[0], target="public.orders")).run()
    assert sorted(moving.target.rows("SELECT id FROM public.orders")) == [(1,), (2,)]


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_restart_leaves_another_target_alone(mariadb_to_postgres: Moving, asked_first: bool) -> None:
    """Its rows are somebody else's, also if the restart was asked for before `to` was edited."""
    moving = mariadb_to_postgres
    asked = begun(moving)
    moving.target.execute("CREATE TABLE other (id INT PRIMARY KEY, a INT)")
    moving.target.execute("INSERT INTO other VALUES (7, 7)")
    other = asking(moving, OTHER)
    if asked_first:
        api.restart_table(asked.request, "orders", asked.meta)
    else:
        with pytest.raises(UsageError, match=r"can't be copied again: it was copied to public\.orders, and the task"):
            api.restart_table(other.request, "orders", other.meta)
    refused(other, WORDS)
    assert moving.target.rows("SELECT id FROM other") == [(7,)]
    moving.drop()
    moving.target.execute("DROP TABLE orders")
    with pytest.raises(UnsupportedError, match="it already has rows"):
        other.run()
    assert moving.target.rows("SELECT id FROM other") == [(7,)]


def test_nothing_was_copied_to_the_first_target(mariadb_to_postgres: Moving) -> None:
    """Its author corrects it, and nothing else is known of the table from then on."""
    moving = mariadb_to_postgres
    moving.source.execute("CREATE TABLE orders (id INT PRIMARY KEY, a INT)")
    moving.source.execute("INSERT INTO orders VALUES (1, 70000)")
    moving.target.execute("CREATE TABLE other (id INT PRIMARY KEY, a INT CHECK (a < 9))")
    with pytest.raises(WriteError):
        asking(moving, OTHER).run()
    asked = asking(moving, ORDERS)
    asked.run()
    assert moving.target.rows("SELECT a FROM orders") == [(70000,)]
    with pytest.raises(UnsupportedError, match=r"copied to public\.orders, and the task has public\.other"):
        asking(moving, OTHER).run()
