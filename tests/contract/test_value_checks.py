"""What every engine promises of values: all rows are judged, piece by piece, and only what breaks a rule is sent."""

from __future__ import annotations

import pickle
from contextlib import closing

import pytest

from tests.contract.reading import described
from tieout.connectors.protocols.paths import NotCheckable, exact_key
from tieout.connectors.registry import open_checker

SUITE = "values"
ROWS = 200


@pytest.fixture(scope="module", autouse=True)
def _tables(database):
    database.execute("CREATE TABLE judged (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40), d DATE, n DECIMAL(10,2))")
    values = ", ".join(f"({i}, 'v{i}', '2024-02-29', {i}.5)" for i in range(ROWS))
    database.execute(f"INSERT INTO judged VALUES {values}")


@pytest.fixture
def path(url, endpoint):
    table = described(endpoint, "judged")
    with closing(open_checker(url)) as checker:
        found = checker.value_path(table, exact_key(table))
        assert not isinstance(found, NotCheckable), found
        yield pickle.loads(pickle.dumps(found))


def pieces(path):
    return [piece for part in path.parts(3) for piece in path.pieces(part)]


def test_it_has_rules_in_words_and_says_how_it_reads(path):
    assert path.rules
    assert all(rule.says and rule.broken and rule.column in ("id", "v", "d", "n") for rule in path.rules)
    assert path.evidence
    assert path.key == ("id",)


def test_sound_rows_are_all_judged_and_break_nothing(path):
    rules = range(len(path.rules))
    judged = [path.count_broken(piece, rules) for piece in pieces(path)]
    assert sum(each.rows for each in judged) == ROWS
    assert {count for each in judged for count in each.broken} <= {0}
    assert [row for piece in pieces(path) for row in path.broken(piece, rules)] == []


def test_pieces_are_halved_down_to_single_places(path):
    (piece, *_) = pieces(path)
    rules = range(len(path.rules))
    whole, depth = path.count_broken(piece, rules).rows, 0
    halves = list(path.halves(piece))
    assert sum(path.count_broken(half, rules).rows for half in halves) == whole
    while halves:
        depth += 1
        halves = list(path.halves(halves[0]))
    assert depth > 1
