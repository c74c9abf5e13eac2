"""What every writer promises: rows changed in transactions, by statements that say just one thing."""

from __future__ import annotations

from contextlib import closing
from itertools import count

import pytest

from tests.contract.reading import described, texts
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.repair import Refused
from tieout.connectors.registry import open_writer

SUITE = "writer"
NAME = 'to "repair"; `--` %s'
HOSTILE = ["", " ", "it's", "'; DROP TABLE x; --", "\\", "\\'", "%s %d", "a\nb", "é \U0001f600", '"`']
_NUMBERS = count()


@pytest.fixture
def named(engine, database):
    """Names of new tables: id, a unique text, a number; a parent, and its child; a generated column."""
    names = [f"{name} {next(_NUMBERS)}" for name in (NAME, "parent", "child", "generated")]
    table, parent, child, generated = map(engine.quoted, names)
    key = f"FOREIGN KEY (p) REFERENCES {parent} (id)"
    twice = f"twice INTEGER GENERATED ALWAYS AS (n * 2){'' if engine.name == 'duckdb' else ' STORED'}"
    database.execute(
        f"CREATE TABLE {table} (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(200) UNIQUE, n INTEGER);"
        f"INSERT INTO {table} VALUES (1, 'one', 10), (2, 'two', 20), (3, NULL, NULL);"
        f"CREATE TABLE {parent} (id INTEGER NOT NULL PRIMARY KEY);"
        f"CREATE TABLE {child} (id INTEGER NOT NULL PRIMARY KEY, p INTEGER, {key});"
        f"INSERT INTO {parent} VALUES (1), (2);"
        f"INSERT INTO {child} VALUES (10, 1);"
        f"CREATE TABLE {generated} (id INTEGER NOT NULL PRIMARY KEY, n INTEGER, {twice})"
    )
    return names


@pytest.fixture
def table(endpoint, named):
    return described(endpoint, named[0])


@pytest.fixture
def family(endpoint, named):
    """A parent with rows 1 and 2, and a child of 1."""
    return described(endpoint, named[1]), described(endpoint, named[2])


@pytest.fixture
def writer(url, named):
    with closing(open_writer(url)) as opened:
        yield opened


@pytest.fixture
def scan(writer, table):
    return Scan(table, tuple(ScanColumn(column, writer.exact(column)) for column in table.columns), (0,), (0,))


def rows(writer, scan, *keys):
    return sorted(texts(scan.columns, writer.rows(scan, [(key,) for key in keys], lock=False)))


def test_rows_are_inserted_changed_and_deleted(writer, table, scan):
    statements = writer.statements
    writer.begin()
    assert writer.execute(statements.insert(table, {"id": "4", "v": "four", "n": None})) == 1
    assert writer.execute(statements.update(table, {"id": "1"}, {"v": None, "n": "11"})) == 1
    assert writer.execute(statements.delete(table, {"id": "2"})) == 1
    writer.commit()
    assert rows(writer, scan, "1", "2", "3", "4") == [("1", None, "11"), ("3", None, None), ("4", "four", None)]


def test_a_row_that_is_not_there_is_not_counted(writer, table):
    writer.begin()
    assert writer.execute(writer.statements.delete(table, {"id": "77"})) == 0
    assert writer.execute(writer.statements.update(table, {"id": "77"}, {"n": "1"})) == 0
    writer.rollback()


def test_what_is_rolled_back_was_never_there(writer, table, scan):
    writer.begin()
    writer.execute(writer.statements.delete(table, {"id": "1"}))
    assert rows(writer, scan, "1") == []
    writer.rollback()
    assert rows(writer, scan, "1") == [("1", "one", "10")]


def test_a_refused_statement_leaves_the_transaction_as_it_was(writer, table, scan):
    statements = writer.statements
    writer.begin()
    writer.execute(statements.update(table, {"id": "1"}, {"n": "11"}))
    with pytest.raises(Refused) as caught:
        writer.execute(statements.insert(table, {"id": "2", "v": "again", "n": None}))
    assert caught.value.collides
    assert "\n" not in caught.value.message
    writer.execute(statements.update(table, {"id": "3"}, {"n": "33"}))
    writer.commit()
    assert rows(writer, scan, "1", "2", "3") == [("1", "one", "11"), ("2", "two", "20"), ("3", None, "33")]


def test_what_is_refused_for_another_reason_does_not_collide(writer, family):
    _, child = family
    writer.begin()
    with pytest.raises(Refused) as caught:
        writer.execute(writer.statements.insert(child, {"id": "11", "p": "77"}))
    assert not caught.value.collides
    writer.rollback()


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_any_content_is_written_as_it_is(writer, table, scan, text):
    writer.begin()
    assert writer.execute(writer.statements.update(table, {"id": "2"}, {"v": text})) == 1
    writer.commit()
    assert rows(writer, scan, "1", "2") == [("1", "one", "10"), ("2", text, "20")]


def test_a_row_read_exactly_can_be_put_back(writer, table, scan):
    (before,) = rows(writer, scan, "1")
    row = dict(zip(table.column_names, before, strict=True))
    writer.begin()
    writer.execute(writer.statements.delete(table, {"id": "1"}))
    writer.execute(writer.statements.insert(table, row))
    writer.commit()
    assert rows(writer, scan, "1") == [before]


def test_rows_can_be_locked_and_none_are_asked_for(writer, table, scan):
    writer.begin()
    found = texts(scan.columns, writer.rows(scan, [("1",), ("77",)], lock=True))
    assert found == [("1", "one", "10")]
    writer.rollback()


def test_generated_columns_are_never_written(endpoint, writer, named):
    table = described(endpoint, named[3])
    assert [column.generated for column in table.columns] == [False, False, True]
    assert "twice" not in writer.statements.insert(table, {"id": "1", "n": "2", "twice": "4"})
    assert "twice" not in writer.statements.update(table, {"id": "1"}, {"n": "3", "twice": "6"})


def test_foreign_keys_that_refer_to_a_table_are_known(family, writer):
    parent, child = family
    (reference,) = writer.references(parent)
    assert (reference.child, reference.columns, reference.to) == (child.name, ("p",), ("id",))
    assert not reference.loses
    assert list(writer.references(child)) == []


def test_a_row_that_others_refer_to_can_be_kept(family, writer):
    parent, _ = family
    references = writer.references(parent)
    writer.begin()
    assert writer.execute(writer.statements.delete(parent, {"id": "1"}, references)) == 0
    assert writer.execute(writer.statements.delete(parent, {"id": "2"}, references)) == 1
    with pytest.raises(Refused):
        writer.execute(writer.statements.delete(parent, {"id": "1"}))
    writer.rollback()


def test_a_file_of_its_statements_runs_by_itself(database, endpoint, writer, table, scan):
    statements = writer.statements
    change = [statements.update(table, {"id": "2"}, {"v": "it's; --"}), statements.delete(table, {"id": "3"})]
    writer.close()
    with database.connect() as connection:
        cursor = connection.cursor()
        for statement in (*statements.opening, *statements.begin, *change, "COMMIT", *statements.closing):
            cursor.execute(statement)
    found = sorted(texts(scan.columns, endpoint.reader().lookup(scan, [("1",), ("2",), ("3",)])))
    assert found == [("1", "one", "10"), ("2", "it's; --", "20")]


def test_a_writer_that_is_closed_lets_go(writer, endpoint, table, scan):
    writer.begin()
    writer.execute(writer.statements.delete(table, {"id": "1"}))
    writer.close()
    writer.close()
    assert len(texts(scan.columns, endpoint.reader().lookup(scan, [("1",)]))) == 1
