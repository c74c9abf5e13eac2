"""What every change log promises: each committed change once, in order, between the ends of transactions."""

from __future__ import annotations

import pickle
from itertools import count

import pytest

from tieout.connectors.registry import open_source
from tieout.model.row_changes import Begin, ChangeKind, Commit, Reached, Rows
from tieout.model.tables import TableName

SUITE = "change_log"
_NUMBERS = count()


@pytest.fixture(scope="module", autouse=True)
def _tables(database):
    for name in ("followed", "sibling", "other"):
        database.execute(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40))")


@pytest.fixture
def source(url):
    return open_source(url)


@pytest.fixture
def names(endpoint):
    return [TableName(endpoint.default_schema(), name) for name in ("followed", "sibling")]


@pytest.fixture
def began(database, source, names):
    """A task's log from now on, of empty tables: its name and where it begins."""
    for name in ("followed", "sibling", "other"):
        database.execute(f"DELETE FROM {name}")
    task = f"contract_{next(_NUMBERS)}"
    position = source.begin_log(task, names)
    yield task, position
    source.drop_task(task)


@pytest.fixture
def log(source, began):
    return pickle.loads(pickle.dumps(source.log(began[0])))


def read(log, began, names):
    """All there is: the items without the last, which must be Reached."""
    upto = log.now()
    *items, last = log.read(began[1], upto, frozenset(names))
    assert isinstance(last, Reached)
    return items


def changes(items):
    """Kinds and images in the order of the log, row by row."""
    return [(i.table.name.name, i.kind, *map(str, row)) for i in items if isinstance(i, Rows) for row in i.rows]


def transaction(database, *statements):
    with database.connect() as connection:
        cursor = connection.cursor()
        for statement in ("BEGIN", *statements, "COMMIT"):
            cursor.execute(statement)


def test_changes_come_once_and_in_order(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    database.execute("UPDATE followed SET v = 'b' WHERE id = 1")
    database.execute("DELETE FROM followed WHERE id = 1")
    found = changes(read(log, began, names))
    assert [change[:3] for change in found] == [
        ("followed", ChangeKind.INSERT, "1"),
        ("followed", ChangeKind.UPDATE, "1"),
        ("followed", ChangeKind.DELETE, "1"),
    ]
    assert [change[3] for change in found[:2]] == ["a", "b"]


def test_only_rows_of_the_tables_asked_for(database, log, began, names):
    database.execute("INSERT INTO other VALUES (1, 'a')")
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    assert [change[0] for change in changes(read(log, began, names))] == ["followed"]
    assert [change[0] for change in changes(read(log, began, names[1:]))] == []


def test_what_belongs_to_a_transaction_stands_between_its_ends(database, log, began, names):
    transaction(database, "INSERT INTO followed VALUES (1, 'a')", "INSERT INTO sibling VALUES (2, 'b')")
    items = [item for item in read(log, began, names) if isinstance(item, Begin | Rows | Commit)]
    assert [type(item) for item in items] == [Begin, Rows, Rows, Commit]
    assert items[0].transaction == items[-1].transaction
    assert items[-1].position.reaches(items[0].position)


def test_two_transactions_have_two_ends(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    database.execute("INSERT INTO sibling VALUES (1, 'a')")
    commits = [item for item in read(log, began, names) if isinstance(item, Commit)]
    assert len({commit.transaction for commit in commits}) == 2
    assert commits[1].position.reaches(commits[0].position)


def test_what_was_rolled_back_is_not_there(database, log, began, names):
    with database.connect() as connection:
        cursor = connection.cursor()
        for statement in ("BEGIN", "INSERT INTO followed VALUES (9, 'gone')", "ROLLBACK"):
            cursor.execute(statement)
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    assert [change[2] for change in changes(read(log, began, names))] == ["1"]


def test_ends_divide_the_log_and_no_transaction(database, log, began, names):
    for number in range(6):
        database.execute(f"INSERT INTO followed VALUES ({number}, '{'x' * 30}')")
    assert 1 <= len(log.ends(began[1], 1, 3)) <= 3, "no more than asked for"
    found, after = [], began[1]
    for end in log.ends(began[1], 2000, 100):
        found += changes(log.read(after, end, frozenset(names)))
        after = end
    assert [change[2] for change in found] == [str(number) for number in range(6)]


def test_reading_again_gives_the_same(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    assert changes(read(log, began, names)) == changes(read(log, began, names))


def test_a_log_is_resumed_where_it_was(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    after = log.now()
    database.execute("INSERT INTO followed VALUES (2, 'b')")
    resumed = log.resume(after)
    assert [change[2] for change in changes(log.read(resumed, log.now(), frozenset(names)))] == ["2"]


def test_lag_grows_with_what_is_written(database, log, began):
    behind = log.lag(began[1]).behind
    database.execute(f"INSERT INTO followed VALUES (1, '{'x' * 40}')")
    log.now()
    assert log.lag(began[1]).behind > behind >= 0


def test_what_is_confirmed_is_not_needed_any_more(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    after = log.now()
    log.confirm(after)
    database.execute("INSERT INTO followed VALUES (2, 'b')")
    assert [change[2] for change in changes(log.read(after, log.now(), frozenset(names)))] == ["2"]


def test_tables_that_are_as_they_were_can_be_followed(log, names, began):
    coverage = log.coverage(names)
    assert (coverage.reasons, coverage.remarks) == ({}, [])
