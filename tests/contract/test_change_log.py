"""What every change log promises: each committed change once, in order, between the ends of transactions."""

from __future__ import annotations

import pickle
import time
from itertools import count

import pytest

from tieout.connectors.registry import open_source
from tieout.model.row_changes import KEPT, Begin, ChangeKind, Commit, LogTable, Reached, Rows
from tieout.model.tables import TableName

SUITE = "change_log"
NAME = 'odd "name" `with` everything; -- ü%s{}'
COLUMNS = ('x "y', "%s {} ?", "new", "rowid")
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
    if not position.offset:
        position = source.log(task).now()  # the log of a feed begins with its first event, in earlier tests
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


def of_kind(items, kind):
    return (item for item in items if isinstance(item, Rows) and item.kind is kind)


def session(database, *statements):
    with database.connect() as connection:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)


def were(images, *rows):
    """Whether old images are of these rows: a log may leave out what is not their key."""
    pairs = zip(images, rows, strict=True)
    return all(int(old[0]) == row[0] and (old[1] is KEPT or old[1] == row[1]) for old, row in pairs)


def test_changes_come_once_and_in_order(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    database.execute("UPDATE followed SET v = 'c' WHERE id > 1")
    database.execute("DELETE FROM followed WHERE id > 1")
    found = changes(read(log, began, names))
    assert found[:5] == [
        ("followed", ChangeKind.INSERT, "1", "a"),
        ("followed", ChangeKind.INSERT, "2", "b"),
        ("followed", ChangeKind.INSERT, "3", "None"),
        ("followed", ChangeKind.UPDATE, "2", "c"),
        ("followed", ChangeKind.UPDATE, "3", "c"),
    ]
    assert [change[1:3] for change in found[5:]] == [(ChangeKind.DELETE, "2"), (ChangeKind.DELETE, "3")]


def test_old_rows_are_as_they_were(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a'), (2, NULL)")
    database.execute("UPDATE followed SET v = 'b'")
    database.execute("DELETE FROM followed")
    _, updated, deleted = (list(of_kind(read(log, began, names), kind)) for kind in ChangeKind)
    befores = [old for item in updated for old in item.before or ()]
    assert not any(befores) or were(befores, (1, "a"), (2, None)), "none are needed where keys stay"
    assert were([row for item in deleted for row in item.rows], (1, "b"), (2, "b"))


def test_a_change_of_the_key_shows_both_keys(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    database.execute("UPDATE followed SET id = 7")
    (changed,) = of_kind(read(log, began, names), ChangeKind.UPDATE)
    assert were(changed.before, (1, "a"))
    assert tuple(map(str, changed.rows[0])) == ("7", "a")


def test_an_insert_that_finds_its_row_is_an_update(engine, database, log, began, names):
    otherwise = "ON DUPLICATE KEY UPDATE" if engine.name == "mysql" else "ON CONFLICT (id) DO UPDATE SET"
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    database.execute(f"INSERT INTO followed VALUES (1, 'taken') {otherwise} v = 'b'")
    assert changes(read(log, began, names))[1:] == [("followed", ChangeKind.UPDATE, "1", "b")]


def test_names_are_as_the_database_has_them(engine, database, source, endpoint):
    name, (key, *others) = TableName(endpoint.default_schema(), NAME), map(engine.quoted, COLUMNS)
    columns = ", ".join([f"{key} INTEGER NOT NULL PRIMARY KEY", *(f"{other} INTEGER UNIQUE" for other in others)])
    database.execute(f"CREATE TABLE {engine.quoted(NAME)} ({columns})")
    began = source.begin_log("odd", [name])
    database.execute(f"INSERT INTO {engine.quoted(NAME)} VALUES (1, 2, 3, 4)")
    log = source.log("odd")
    (rows,) = (item for item in log.read(began, log.now(), frozenset([name])) if isinstance(item, Rows))
    source.drop_task("odd")
    assert rows.table == LogTable(name, COLUMNS)
    assert [tuple(map(str, row)) for row in rows.rows] == [("1", "2", "3", "4")]


def test_the_end_is_behind_every_commit(database, log, began, names):
    """Though what was committed need not have reached the disk: PostgreSQL's synchronous_commit is off here."""
    _, at = began
    for number in range(20):
        database.execute(f"INSERT INTO followed VALUES ({number}, 'a')")
        end = log.now()
        assert [change[2] for change in changes(log.read(at, end, frozenset(names)))] == [str(number)]
        at = end


def test_only_rows_of_the_tables_asked_for(database, log, began, names):
    database.execute("INSERT INTO other VALUES (1, 'a')")
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    assert [change[0] for change in changes(read(log, began, names))] == ["followed"]
    assert [change[0] for change in changes(read(log, began, names[1:]))] == []


def test_what_belongs_to_a_transaction_stands_between_its_ends(database, log, began, names):
    session(
        database,
        *("BEGIN", "INSERT INTO followed VALUES (1, 'a')", "INSERT INTO other VALUES (1, 'a')"),
        *("INSERT INTO sibling VALUES (2, 'b')", "DELETE FROM followed", "COMMIT"),
        "INSERT INTO other VALUES (2, 'b')",
    )
    begin, *rows, commit = read(log, began, names)
    assert isinstance(begin, Begin)
    assert isinstance(commit, Commit)
    assert [change[:3] for change in changes(rows)] == [
        ("followed", ChangeKind.INSERT, "1"),
        ("sibling", ChangeKind.INSERT, "2"),
        ("followed", ChangeKind.DELETE, "1"),
    ]
    assert begin.transaction == commit.transaction
    assert begin.position.reaches(began[1])
    assert not begin.position.reaches(commit.position)


def test_a_commit_says_when(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    (commit,) = (item for item in read(log, began, names) if isinstance(item, Commit))
    assert 0 <= time.time() - commit.at / 1e6 < 60


def test_two_transactions_have_two_ends(database, log, began, names):
    database.execute("INSERT INTO followed VALUES (1, 'a')")
    database.execute("INSERT INTO sibling VALUES (1, 'a')")
    commits = [item for item in read(log, began, names) if isinstance(item, Commit)]
    assert len({commit.transaction for commit in commits}) == 2
    assert commits[1].position.reaches(commits[0].position)


def test_what_was_rolled_back_is_not_there(database, log, began, names):
    session(database, "BEGIN", "INSERT INTO followed VALUES (9, 'gone')", "ROLLBACK")
    assert read(log, began, names) == []
    session(
        database,
        *("BEGIN", "INSERT INTO followed VALUES (1, 'outer')", "SAVEPOINT a", "DELETE FROM followed"),
        *("INSERT INTO followed VALUES (8, 'gone')", "ROLLBACK TO a", "SAVEPOINT b"),
        *("INSERT INTO followed VALUES (2, 'inner')", "RELEASE SAVEPOINT b", "COMMIT"),
    )
    assert [change[1:] for change in changes(read(log, began, names))] == [
        (ChangeKind.INSERT, "1", "outer"),
        (ChangeKind.INSERT, "2", "inner"),
    ]


def test_what_is_not_committed_is_not_told(database, log, began, names):
    with database.connect() as connection:
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO followed VALUES (1, 'a')")
        assert changes(read(log, began, names)) == []
        cursor.execute("INSERT INTO followed VALUES (2, 'a')")
        cursor.execute("COMMIT")
    assert [change[2] for change in changes(read(log, began, names))] == ["1", "2"]


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
