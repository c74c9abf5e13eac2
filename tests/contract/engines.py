"""The connectors that keep the contracts. A new one joins with one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.servers.debezium import FeedDatabase
from tests.servers.duckdb import DuckDBDatabase
from tests.servers.sqlite import SqliteDatabase

Make = Callable[[pytest.FixtureRequest], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Engine:
    """`make` gives an empty database. `lacks`: promises that the engine can't keep, by the name of the test, and why.

    `unchecked`: statements after which a session may break foreign keys.
    A promise that it lacks must fail: the reason is shown, and one that is kept after all fails the run.
    """

    name: str
    make: Make
    suites: frozenset[str]
    lacks: Mapping[str, str] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()
    quote: str = '"'

    @property
    def corruption(self) -> str:
        """The module of tests.corruption that corrupts it."""
        return {"mysql": "mariadb"}.get(self.name, self.name)

    def quoted(self, name: str) -> str:
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


def _server(fixture: str) -> Make:
    return lambda request: request.getfixturevalue(fixture).fresh_database()


def _file(kind: Callable[..., Any], ending: str) -> Make:
    @contextmanager
    def make(request: pytest.FixtureRequest) -> Iterator[Any]:
        folder = request.getfixturevalue("tmp_path_factory").mktemp("contract")
        made = kind(folder / f"contract.{ending}")
        made.path.touch()
        yield made

    return make


@contextmanager
def _feed(request: pytest.FixtureRequest) -> Iterator[FeedDatabase]:
    yield FeedDatabase(request.getfixturevalue("tmp_path_factory").mktemp("contract") / "feed")


DESCRIBE = frozenset({"endpoint"})
READ = frozenset({"reader"})
ROWS = frozenset({"writer"})
CHECK = frozenset({"checker", "constraints", "values", "repairer"})
FOLLOW = frozenset({"change_log", "move_source"})
TARGET = frozenset({"move_target"})

ALL = DESCRIBE | READ | ROWS | CHECK | FOLLOW | TARGET

_NATIVE = "test_its_native_digest_adds_up_and_sees_a_change"
_SQL = "test_its_digest_in_sql_adds_up_and_sees_a_change"
_TWO_COLUMNS = "test_ranges_of_a_key_of_two_columns_cover_every_row_once"

_NO_ENDS = "SQLite does not tell triggers where a transaction ends"

_MYSQL_LACKS = {_NATIVE: "its own hashes are of 32 bits"}
_SQLITE_LACKS = {
    _NATIVE: "SQLite has no hash functions",
    _SQL: "SQLite has no hash functions",
    _TWO_COLUMNS: "SQLite holds only an INTEGER PRIMARY KEY to one class of values, and sorts others by class",
    "test_what_belongs_to_a_transaction_stands_between_its_ends": _NO_ENDS,
    "test_two_transactions_have_two_ends": _NO_ENDS,
    "test_another_engine_learns_what_a_description_lacks": "rows of SQLite are moved to SQLite alone",
}
_DUCKDB_LACKS = {_NATIVE: "DuckDB's hashes differ between versions", _SQL: "executors hash as fast"}
_EVENTS_ALONE = "a feed describes only the tables that its events are of"
_NOTHING_TO_COPY = "a feed has no rows to copy: the snapshot of a table is among its events"
_SORTS_NOTHING = "a feed sorts no keys"
_FEED_LACKS = {
    "test_tables_are_listed_by_their_own_names": _EVENTS_ALONE,
    "test_tables_are_described_in_the_order_asked": _EVENTS_ALONE,
    "test_the_key_is_the_primary_key_in_its_own_order": _EVENTS_ALONE,
    "test_without_a_primary_key_it_is_a_unique_one_without_nulls": _EVENTS_ALONE,
    "test_columns_have_names_types_and_nullability": _SORTS_NOTHING,
    "test_its_reader_survives_pickling": "a feed has no rows to compare",
    "test_a_change_of_the_key_shows_both_keys": "Debezium writes a delete and an insert",
    "test_what_belongs_to_a_transaction_stands_between_its_ends": "a feed tells no transactions",
    "test_a_chunk_is_read_whole": _NOTHING_TO_COPY,
    "test_ranges_divide_a_table": _NOTHING_TO_COPY,
    "test_its_chunk_source_survives_pickling": _NOTHING_TO_COPY,
    "test_changes_are_written_as_chunks_are": _NOTHING_TO_COPY,
    "test_a_chunk_knows_which_changes_it_holds": "its chunk holds nothing: it is before the first event",
    "test_keys_are_sorted_as_the_engine_sorts_them": _SORTS_NOTHING,
    "test_its_structure_makes_the_table_again": "a feed can't be a target",
}

ENGINES = (
    Engine("mysql", _server("mariadb"), ALL, _MYSQL_LACKS, ("SET foreign_key_checks = 0",), "`"),
    Engine("postgres", _server("postgres"), ALL, {}, ("SET session_replication_role = replica",)),
    Engine("sqlite", _file(SqliteDatabase, "db"), ALL, _SQLITE_LACKS),
    Engine("duckdb", _file(DuckDBDatabase, "duckdb"), DESCRIBE | READ | ROWS, _DUCKDB_LACKS),
    Engine("debezium", _feed, DESCRIBE | FOLLOW, _FEED_LACKS),
)
