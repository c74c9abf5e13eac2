"""What every endpoint promises: its catalog, as it is, whatever things are called."""

from __future__ import annotations

import pickle
from contextlib import closing

import pytest

from tests.contract.reading import described
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_endpoint
from tieout.errors import MissingObjectError
from tieout.model.tables import TableName
from tieout.model.types import TypeName

SUITE = "endpoint"
NAME = 'odd "name" `with` everything; -- ü%s{}'


@pytest.fixture(scope="module", autouse=True)
def _tables(engine, database):
    table, column = engine.quoted(NAME), engine.quoted('a "b" `c` %s')
    database.execute(f"CREATE TABLE {table} (id INTEGER NOT NULL PRIMARY KEY, {column} VARCHAR(40), n INTEGER)")
    database.execute(f"INSERT INTO {table} VALUES (1, 'x', NULL)")
    database.execute("CREATE TABLE bare (a INTEGER, b VARCHAR(10))")
    database.execute("CREATE TABLE pair (b INTEGER NOT NULL, a INTEGER NOT NULL, c INTEGER, PRIMARY KEY (a, b))")
    database.execute("CREATE TABLE unkeyed (maybe INTEGER UNIQUE, a INTEGER NOT NULL, b INTEGER NOT NULL, UNIQUE (b))")


def test_tables_are_listed_by_their_own_names(endpoint):
    names = endpoint.tables()
    assert {NAME, "bare", "pair", "unkeyed"} <= {name.name for name in names}
    assert {name.schema for name in names} == {endpoint.default_schema()}
    assert endpoint.tables([endpoint.default_schema()]) == names


def test_the_default_schema_is_among_the_schemas(endpoint):
    schemas = endpoint.schemas()
    assert endpoint.default_schema() in schemas
    assert not {"information_schema", "mysql", "pg_catalog", "pg_toast", "performance_schema", "sys"} & set(schemas)


def test_a_schema_that_is_not_there_has_no_tables(endpoint):
    assert endpoint.tables(["no_such_schema"]) == []


def test_tables_are_described_in_the_order_asked(endpoint):
    names = [TableName(endpoint.default_schema(), name) for name in ("pair", NAME, "bare")]
    assert [table.name for table in endpoint.describe(names)] == names
    assert [table.name for table in endpoint.describe(names[::-1])] == names[::-1]


def test_columns_have_names_types_and_nullability(endpoint):
    table = described(endpoint, NAME)
    assert table.column_names == ("id", 'a "b" `c` %s', "n")
    assert [column.type.name for column in table.columns] == [TypeName.INTEGER, TypeName.TEXT, TypeName.INTEGER]
    assert [column.nullable for column in table.columns] == [False, True, True]
    assert table.column("id").order == "numeric"


def test_the_key_is_the_primary_key_in_its_own_order(endpoint):
    assert described(endpoint, NAME).key == ("id",)
    assert described(endpoint, "pair").key == ("a", "b")


def test_without_a_primary_key_it_is_a_unique_one_without_nulls(endpoint):
    assert described(endpoint, "unkeyed").key == ("b",)
    assert described(endpoint, "bare").key == ()


def test_a_table_that_is_not_there_is_named(endpoint):
    with pytest.raises(MissingObjectError, match="nothing_here"):
        described(endpoint, "nothing_here")


def test_it_says_which_engine_it_is_and_how_far_away(endpoint):
    assert any(character.isdigit() for character in endpoint.version)
    assert endpoint.capabilities.family
    assert endpoint.round_trip >= 0
    position = endpoint.position()
    assert position is None or position


def test_its_reader_survives_pickling(endpoint):
    reader = pickle.loads(pickle.dumps(endpoint.reader()))
    assert reader == endpoint.reader()


def test_a_database_that_is_not_there_is_an_error_of_one_line(database):
    """A part of a URL that names a database or a file."""
    with pytest.raises(MissingObjectError) as caught:
        with closing(open_endpoint(parse_url(database.url + "_gone"))):
            pass
    assert "\n" not in str(caught.value)
    assert caught.value.hint
