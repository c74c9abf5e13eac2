"""What every target of a move promises: rows and progress in one transaction, and only for the mover of the task."""

from __future__ import annotations

import pickle
from contextlib import closing
from dataclasses import replace
from itertools import count

import pytest

from tests.contract.reading import described, scan_of, texts
from tieout.config.urls import parse_url
from tieout.connectors.protocols.move import Destination
from tieout.connectors.registry import open_endpoint, open_source, open_target
from tieout.errors import EndpointError, FencedError, UnreachableError
from tieout.model.keys import EVERYTHING
from tieout.model.moves import Chunk, Held, Transfer, Version
from tieout.model.positions import Position
from tieout.model.tables import TableName

SUITE = "move_target"
HELD = Held(Position("5"))
_NUMBERS = count()


@pytest.fixture(scope="module")
def given(database):
    """Two rows as a source of the same engine writes them: what it reads, a target takes."""
    database.execute("CREATE TABLE seed (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40), n INTEGER)")
    database.execute("INSERT INTO seed VALUES (1, 'one', NULL), (2, 'tab\t2', 20)")
    url = parse_url(database.url)
    with closing(open_endpoint(url)) as endpoint:
        table = described(endpoint, "seed")
    seed = Transfer(table, table, tuple((column, column) for column in table.columns), (0,))
    source = open_source(url)
    source.begin_log("contract_seed", [table.name])
    with source.chunk_source().reading() as reader:
        found = b"".join(reader.lines(seed, EVERYTHING, same_engine=True))
    source.drop_task("contract_seed")
    return found


@pytest.fixture
def target(url):
    with closing(open_target(url)) as opened:
        opened.prepare()
        yield opened


@pytest.fixture
def transfer(database, endpoint):
    name = f"arrived_{next(_NUMBERS)}"
    database.execute(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40), n INTEGER)")
    table = described(endpoint, name)
    return Transfer(table, table, tuple((column, column) for column in table.columns), (0,))


@pytest.fixture
def fence(target, transfer):
    """Of a task with one chunk that is not copied yet."""
    taken = target.progress.take(f"contract_{next(_NUMBERS)}", "a test")
    target.chunks.plan(taken, [Chunk(transfer.source.name, 0, EVERYTHING)])
    return taken


def chunk_of(target, fence, transfer):
    (chunk,) = target.chunks.of(fence.task, [transfer.source.name])
    return chunk


def rows(endpoint, transfer):
    scan = scan_of(endpoint, transfer.target.name.name)
    return sorted(texts(scan.columns, endpoint.reader().read(scan, EVERYTHING)))


def test_it_is_prepared_once(target):
    assert target.is_prepared()
    target.prepare()
    assert target.is_prepared()


def test_tables_that_can_be_written_have_no_problems(target, transfer):
    table = transfer.target
    assert target.problems([Destination(table.name, table, False, False)]) == []


def test_it_knows_which_tables_have_rows(database, target, transfer):
    name = transfer.target.name
    assert target.tables_with_rows([name]) == set()
    database.execute(f"INSERT INTO {name.name} VALUES (1, 'a', 1)")
    assert target.tables_with_rows([name]) == {name}


@pytest.mark.parametrize(
    ("column", "value", "other"), [("v", "'A'", "'a'"), ("v", None, "'a'"), ("n", "7", "8"), ("n", "7", "NULL")]
)
def test_rows_that_have_another_value_get_this_one(database, target, transfer, fence, column, value, other):
    name, found = transfer.target.name, transfer.target.column(column)
    database.execute(f"INSERT INTO {name.name} (id, v, n) VALUES (1, 'x', 1), (2, 'y', 2)")
    if column == "n":
        database.execute(f"UPDATE {name.name} SET n = {other}")
    else:
        database.execute(f"UPDATE {name.name} SET v = {other} WHERE id = 1")
    only = {} if column == "v" else {"v": "x"}
    assert target.has_other_values(name, found, value, only)
    target.assign(fence, name, found, value, only)
    assert not target.has_other_values(name, found, value, only)
    assert target.has_other_values(name, found, value, {"v": "y"}) == (column == "n")


def test_a_chunk_is_written_with_its_progress(endpoint, target, transfer, fence, given):
    loader = pickle.loads(pickle.dumps(target.loader()))
    assert loader.load_chunk(fence, transfer, chunk_of(target, fence, transfer), HELD, [given]) == 2
    assert rows(endpoint, transfer) == [("1", "one", None), ("2", "tab\t2", "20")]
    done = chunk_of(target, fence, transfer)
    assert (done.held, done.rows) == (HELD, 2)


def test_a_chunk_is_written_once(endpoint, target, transfer, fence, given):
    chunk, loader = chunk_of(target, fence, transfer), target.loader()
    for _ in range(2):
        assert loader.load_chunk(fence, transfer, chunk, HELD, [given]) == 2
    assert len(rows(endpoint, transfer)) == 2


def test_nothing_is_truncated_or_left_out(endpoint, target, transfer, fence, given):
    """Neither a text that is too long, nor a row that is there: all of the chunk is refused."""
    chunk, loader = chunk_of(target, fence, transfer), target.loader()
    with pytest.raises(EndpointError):
        loader.load_chunk(fence, transfer, chunk, HELD, [given, given])
    assert rows(endpoint, transfer) == []
    assert chunk_of(target, fence, transfer).held is None


def test_one_who_lost_the_task_writes_nothing(endpoint, target, transfer, fence, given):
    chunk, loader = chunk_of(target, fence, transfer), target.loader()
    target.progress.take(fence.task, "another")
    with pytest.raises(FencedError):
        loader.load_chunk(fence, transfer, chunk, HELD, [given])
    with pytest.raises(FencedError):
        target.run(fence, transfer.target.name, [f"DROP TABLE {transfer.target.name.name}"])
    assert rows(endpoint, transfer) == []


def test_statements_of_a_structure_are_run(engine, endpoint, target, fence):
    name = TableName(endpoint.default_schema(), f"made_{next(_NUMBERS)}")
    quoted = f"{engine.quoted(name.schema)}.{engine.quoted(name.name)}"
    target.run(fence, name, [f"CREATE TABLE {quoted} (id INTEGER NOT NULL PRIMARY KEY)"])
    assert described(endpoint, name.name).key == ("id",)
    assert target.built(name).constraints is not None


def test_stages_are_made_and_dropped(endpoint, target, transfer, fence, given):
    stages = target.make_stages(fence, [transfer])
    assert list(stages) == [transfer.source.name]
    stage = stages[transfer.source.name].of_attempt("a1")
    staged = given.replace(b"\n", b"\t1\t0\t1\t\\N\t0\t0\n")
    assert target.loader().stage(stage, [staged], new=True) == 2
    target.drop_stages([stage, *stages.values()])
    assert rows(endpoint, transfer) == []


def test_a_task_that_is_dropped_leaves_its_tables_alone(endpoint, target, transfer, fence, given):
    target.loader().load_chunk(fence, transfer, chunk_of(target, fence, transfer), HELD, [given])
    target.drop_task(fence)
    assert target.progress.read(fence.task) is None
    assert len(rows(endpoint, transfer)) == 2


def test_tables_that_join_others_of_the_same_target_are_handed_over(target, transfer, fence):
    """Both tasks know the target's table: the later change counts, and each had written its half of it."""
    progress, name = target.progress, transfer.target.name
    joining = progress.take(f"{fence.task}+joining", "a test")
    other = TableName(name.schema, "other")
    for mine, source, at in ((fence, transfer.source.name, 5), (joining, other, 9)):
        progress.plan_columns(mine, source, ["id"], name)
        with progress.together(mine):
            progress.write_versions(mine.task, {name: Version(str(at), at)})
        target.restored_tables(mine, [transfer], [])
    progress.stop_table(joining, other, "a reason")
    assert progress.tables_into(name) == {(fence.task, str(transfer.source.name)), (joining.task, str(other))}
    for _ in range(2):
        target.restarts.hand_over(fence, joining)
        assert progress.read(joining.task) is None
        assert progress.versions(fence.task) == {str(name): Version("9", 9)}
        assert progress.planned_columns(fence.task).keys() == {str(transfer.source.name), str(other)}
        assert progress.stopped(fence.task) == {str(other): "a reason"}
        assert target.restored_tables(fence, [transfer], []) == {}
        joining = progress.take(joining.task, "a test")


def test_a_hand_over_whose_answer_was_lost_is_done(target, fence, monkeypatch):
    joining, commit = target.progress.take(f"{fence.task}+joining", "a test"), target.session.commit

    def lost():
        commit()
        raise UnreachableError("the connection is lost")

    with monkeypatch.context() as patched:
        patched.setattr(target.session, "commit", lost)
        with pytest.raises(UnreachableError):
            target.restarts.hand_over(fence, joining)
    target.restarts.hand_over(fence, joining)
    assert target.progress.read(joining.task) is None


def test_what_may_be_there_twice_is_known_after_a_hand_over(target, fence):
    progress = target.progress
    joining = progress.take(f"{fence.task}+joining", "a test")
    target.restarts.hand_over(fence, joining)
    assert not progress.is_inexact(fence.task)
    joining = progress.take(joining.task, "a test")
    progress.mark_inexact(joining)
    target.restarts.hand_over(fence, joining)
    assert progress.is_inexact(fence.task)


def test_a_mover_that_was_replaced_lets_no_table_join(target, fence):
    """Its successor may have let it join already: its rows would come twice."""
    target.progress.take(fence.task, "its successor")
    with pytest.raises(FencedError):
        target.progress.take(f"{fence.task}+joining", "a test", under=fence)
    assert target.progress.read(f"{fence.task}+joining") is None


def test_a_view_of_somebody_else_over_ours_prevents_nothing(database, target, transfer, fence):
    view = target.session.table(replace(transfer.target.name, schema=target.schema, name="tieout_table_versions"))
    database.execute(f"CREATE VIEW report_{transfer.target.name.name} AS SELECT * FROM {view}")
    for (task,) in target.session.rows(f"SELECT task FROM {target.progress.table('fence')}"):
        if task != fence.task:
            target.progress.forget(task)
    target.drop_task(fence)
    assert not target.is_prepared() or target.progress.read(fence.task) is None
    target.prepare()
    assert target.progress.read(fence.task) is None


def test_a_table_that_is_copied_again_is_forgotten_until_it_joins(target, transfer, fence):
    progress, source = target.progress, transfer.source.name
    progress.plan_columns(fence, source, ["id"], transfer.target.name)
    progress.stop_table(fence, source, "a reason")
    target.restarts.forget_table(fence, str(source), transfer.target.name)
    assert (progress.planned_columns(fence.task), progress.stopped(fence.task)) == ({}, {})
    assert target.chunks.of(fence.task, [source]) == []
    assert progress.forgotten(fence.task) == {str(source)}
    joining = progress.take(f"{fence.task}+joining", "a test")
    progress.plan_columns(joining, source, ["id", "v"], transfer.target.name)
    target.restarts.hand_over(fence, joining)
    assert progress.planned_columns(fence.task) == {str(source): ("id", "v")}
    assert progress.forgotten(fence.task) == set()


def test_a_connection_can_be_made_anew(target, transfer):
    target.reconnect()
    assert target.tables_with_rows([transfer.target.name]) == set()
