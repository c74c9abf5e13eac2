"""What every source of a move promises: chunks of rows at one moment, in a form that targets read."""

from __future__ import annotations

import pickle
from itertools import count

import pytest

from tests.contract.reading import described
from tieout.connectors.registry import open_source
from tieout.connectors.sql.copy_text import lines
from tieout.model.keys import EVERYTHING, KeyRange
from tieout.model.moves import Transfer

SUITE = "move_source"
ROWS = 300
_NUMBERS = count()


@pytest.fixture(scope="module", autouse=True)
def _tables(database):
    database.execute("CREATE TABLE moved (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40), n INTEGER)")
    values = ", ".join(f"({i}, 'tab\t{i}', {'NULL' if i % 10 == 0 else i})" for i in range(ROWS))
    database.execute(f"INSERT INTO moved VALUES {values}")


@pytest.fixture
def source(url):
    return open_source(url)


@pytest.fixture
def task(source, endpoint):
    name = f"contract_{next(_NUMBERS)}"
    source.begin_log(name, [described(endpoint, "moved").name])
    yield name
    source.drop_task(name)


@pytest.fixture
def transfer(endpoint):
    table = described(endpoint, "moved")
    return Transfer(table, table, tuple((column, column) for column in table.columns), (0,))


def lines_of(source, transfer, keys):
    """What they are is for a target of the same engine to know; each begins with the key."""
    with source.chunk_source().reading() as reader:
        blocks = list(reader.lines(transfer, keys, same_engine=True))
    assert all(block.endswith(b"\n") for block in blocks)
    return b"".join(blocks).splitlines(keepends=True)


def ids(found):
    return sorted(int(line.partition(b"\t")[0]) for line in found)


def test_a_table_that_can_be_moved_has_no_problems(source, endpoint):
    table = described(endpoint, "moved")
    assert source.problems("contract", [table]) == []
    assert source.refuses(table) is None


def test_a_chunk_is_read_whole(source, transfer, task):
    found = lines_of(source, transfer, EVERYTHING)
    assert ids(found) == list(range(ROWS))
    assert {line.count(b"\t") for line in found} == {2}


def test_ranges_divide_a_table(source, transfer, task):
    assert ids(lines_of(source, transfer, KeyRange(None, ("100",)))) == list(range(100))
    assert ids(lines_of(source, transfer, KeyRange(("100",), None))) == list(range(100, ROWS))


def test_its_chunk_source_survives_pickling(source, transfer, task):
    chunks = pickle.loads(pickle.dumps(source.chunk_source()))
    with chunks.reading() as reader:
        assert sum(block.count(b"\n") for block in reader.lines(transfer, EVERYTHING, same_engine=True)) == ROWS


def test_a_chunk_knows_which_changes_it_holds(database, source, transfer, task):
    """What was committed before it was read lies before its position, and what comes later does not."""
    log = source.log(task)
    before = log.now()
    with source.chunk_source().reading() as reader:
        list(reader.lines(transfer, KeyRange(None, ("5",)), same_engine=True))
        held = reader.held
    database.execute("UPDATE moved SET n = 7 WHERE id = 7")
    assert held.position.reaches(before)
    assert log.now().reaches(held.position)
    assert log.now() != held.position


def test_keys_are_sorted_as_the_engine_sorts_them(source, transfer):
    chunks = source.chunk_source()
    assert chunks.chunks_of(transfer, [("9",), ("100",)], [("8",), ("9",), ("99",), ("100",), ("1000",)]) == [
        0,
        1,
        1,
        2,
        2,
    ]


def test_changes_are_written_as_chunks_are(source, transfer, task):
    texts = source.chunk_source().texts(transfer, same_engine=True)
    written = lines([text([value]) for text, value in zip(texts, (5, "tab\t5", 5), strict=True)])
    assert [written] == lines_of(source, transfer, KeyRange(("5",), ("6",)))


def test_its_structure_makes_the_table_again(database, source, endpoint):
    """Under another name, which statements leave open."""
    structure = source.structure(described(endpoint, "moved"))
    assert structure.create
    assert {"id", "v", "n"} <= set(structure.columns)


def test_another_engine_learns_what_a_description_lacks(source, endpoint):
    assert source.wiring(described(endpoint, "moved")) is not None


def test_a_task_that_is_dropped_leaves_nothing(source, task, endpoint):
    names = endpoint.tables()
    source.drop_task(task)
    source.drop_task(task)
    assert {name.name for name in endpoint.tables()} <= {name.name for name in names}
