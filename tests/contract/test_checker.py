"""What every checker promises: the table and its indexes by paths of their own, and each says how it was read."""

from __future__ import annotations

import pickle
from collections import Counter
from contextlib import closing
from importlib import import_module

import pytest

from tests.contract.reading import described, kind_of, texts
from tieout.connectors.protocols.check import ChangedRow, releasing_snapshot
from tieout.connectors.protocols.endpoint import ScanColumn, retry_cautiously
from tieout.connectors.protocols.paths import NotCheckable
from tieout.connectors.registry import open_checker

SUITE = "checker"
ROWS = 200


@pytest.fixture(scope="module", autouse=True)
def _tables(engine, database):
    database.execute("CREATE TABLE checked (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40), n INTEGER)")
    values = ", ".join(f"({i}, 'v{i % 17}', {'NULL' if i % 10 == 0 else i})" for i in range(ROWS))
    database.execute(f"INSERT INTO checked VALUES {values}")
    database.execute("CREATE INDEX by_v ON checked (v)")
    database.execute("CREATE UNIQUE INDEX by_n ON checked (n)")
    database.execute("CREATE TABLE corrupted (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40), n INTEGER)")
    database.execute("INSERT INTO corrupted VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
    database.execute("CREATE INDEX corrupted_v ON corrupted (v)")
    import_module(f"tests.corruption.{engine.corruption}").missing_entry(database, "corrupted", "corrupted_v", "id = 2")


@pytest.fixture
def checker(url):
    with closing(open_checker(url)) as opened, releasing_snapshot(opened):
        yield opened


@pytest.fixture
def table(endpoint):
    return described(endpoint, "checked")


def entries(path):
    """All that a path reads, in several parts: counted."""
    again = pickle.loads(pickle.dumps(path)).divided_by(path.division)
    columns = (*path.address, *path.columns)
    return retry_cautiously(
        again, lambda p: Counter(row for part in p.parts(3) for row in texts(columns, p.read(part)))
    )


def test_tables_are_listed_and_described(checker, endpoint, table):
    assert table.name in checker.tables()
    assert table.name in checker.all_tables()
    assert checker.leaves([table.name]) == [table.name]
    assert checker.default_schema() == endpoint.default_schema()
    assert [found.column_names for found in checker.describe([table.name])] == [table.column_names]


def test_indexes_are_as_the_catalog_has_them(checker, table):
    found = {index.name: index for index in checker.indexes(table)}
    assert {"by_v", "by_n"} <= set(found)
    assert (found["by_v"].unique, found["by_n"].unique) == (False, True)
    assert found["by_v"].column_names[0] == "v"
    assert all(index.unchecked is None for index in found.values())


def test_a_sound_table_and_its_indexes_hold_the_same(checker, table):
    for index in checker.indexes(table):
        by_index = checker.index_path(index)
        assert not isinstance(by_index, NotCheckable), by_index
        columns = [column.read for column in index.columns]
        by_table = checker.table_path(table, columns, addressed=bool(by_index.address))
        assert not isinstance(by_table, NotCheckable), by_table
        assert by_index.evidence != by_table.evidence
        held, should = entries(by_index), entries(by_table)
        assert held == should, index.name
        assert held.total() == ROWS
        assert by_index.coverage_gap(ROWS) != "", "a reason, or None"


def test_an_index_is_read_by_itself(checker, endpoint):
    """An entry that is missing is missing in what the path reads, though the row is there."""
    table = described(endpoint, "corrupted")
    (index,) = [index for index in checker.indexes(table) if index.name == "corrupted_v"]
    by_index = checker.index_path(index)
    by_table = checker.table_path(table, [column.read for column in index.columns], addressed=bool(by_index.address))
    (missing,) = entries(by_table) - entries(by_index)
    assert "b" in missing


def test_rows_and_entries_are_looked_up_by_key(checker, table):
    columns = tuple(ScanColumn(column, kind_of(column)) for column in table.columns)
    indexes = [index for index in checker.indexes(table) if index.name == "by_v"]
    lookup = pickle.loads(pickle.dumps(checker.lookup(table, columns, indexes)))
    (key,) = table.key
    literal = checker.literal(table.column(key), 7)
    shown = (*lookup.address, *lookup.columns)
    for read in (lookup.rows, lookup.all_rows):
        batches = list(read([(literal,)]))
        found = [row for batch in batches for row in texts(shown, [batch.select(range(len(shown)))])]
        assert [row[-3:] for row in found] == [("7", "v7", "7")]
    told = [text for batch in batches for text in batch.columns[-1].to_pylist()]
    entries_found = list(lookup.entries(0, [ChangedRow((literal,))], told))
    assert sum(found.batch.num_rows for found in entries_found) >= 1


def test_values_of_a_log_are_literals_and_canonical_text(checker, table):
    assert checker.canonical(table.column("id"), 7) == "7"
    assert checker.canonical(table.column("v"), "it's") == "it's"
    assert "7" in str(checker.literal(table.column("id"), 7))


def test_definitions_that_are_sound_have_no_defects(checker, table):
    found = {inspection.name: inspection for inspection in checker.inspect([table.name])}
    assert found[table.name].failures == []
    assert found[table.name].looked_at.total() > 0


def test_the_engines_own_checker_finds_nothing_wrong(checker, table):
    own = checker.engine_check(table, 30.0)
    assert own.findings == ()
    assert own.name
    assert own.absent == (not own.statement)
    assert own.absent == (own.unchecked is not None)


def test_nothing_is_written(checker, database, table):
    before = database.rows("SELECT COUNT(*) FROM checked")
    list(checker.inspect(None))
    assert database.rows("SELECT COUNT(*) FROM checked") == before
