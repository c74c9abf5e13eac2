"""What every engine promises of constraints: each row that breaks one is found, and no other."""

from __future__ import annotations

import pickle
from contextlib import closing

import pytest

from tests.contract.reading import described, texts
from tieout.connectors.protocols.paths import NotCheckable, OnlyRows
from tieout.connectors.registry import open_checker
from tieout.model.constraints import ConstraintKind

SUITE = "constraints"


@pytest.fixture(scope="module", autouse=True)
def _tables(database, engine):
    database.execute("CREATE TABLE parent (id INTEGER NOT NULL PRIMARY KEY)")
    database.execute(
        "CREATE TABLE child (id INTEGER NOT NULL PRIMARY KEY, p INTEGER, n INTEGER, CONSTRAINT positive CHECK (n > 0), "
        "CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES parent (id))"
    )
    database.execute("INSERT INTO parent VALUES (1), (2)")
    database.execute("INSERT INTO child VALUES (10, 1, 1), (11, 2, 2), (12, NULL, NULL)")
    with database.connect() as connection:
        cursor = connection.cursor()
        for statement in (*engine.unchecked, "INSERT INTO child VALUES (13, 77, 3), (14, 78, 4)"):
            cursor.execute(statement)


@pytest.fixture
def checker(url):
    with closing(open_checker(url)) as opened:
        yield opened


@pytest.fixture
def child(endpoint):
    return described(endpoint, "child")


def of_kind(checker, table, kind):
    return [constraint for constraint in checker.constraints(table) if constraint.kind is kind]


def broken(checker, constraints, only=None):
    """How many rows were asked, and the keys of those that break one."""
    found = checker.violations(constraints, only)
    assert not isinstance(found, NotCheckable), found
    found = pickle.loads(pickle.dumps(found))
    assert found.evidence
    asked, keys = 0, set()
    for part in found.parts:
        rows, suspects = found.runner.numbers(part.probe)
        asked += rows
        listed = texts(found.columns, found.runner.rows(part.listing, found.columns))
        place = len(found.address)
        keys |= {row[place] for row in listed}
        assert not (part.sure and suspects and not listed)
    return asked, keys


def test_constraints_are_as_the_catalog_has_them(checker, child):
    kinds = {constraint.kind for constraint in checker.constraints(child)}
    assert {ConstraintKind.PRIMARY_KEY, ConstraintKind.FOREIGN_KEY, ConstraintKind.CHECK} <= kinds


def test_rows_without_their_parent_are_found(checker, child):
    asked, keys = broken(checker, of_kind(checker, child, ConstraintKind.FOREIGN_KEY))
    assert keys == {"13", "14"}
    assert asked >= 4


def test_some_rows_can_be_asked_alone(checker, child):
    _, keys = broken(checker, of_kind(checker, child, ConstraintKind.FOREIGN_KEY), OnlyRows((("10",), ("13",))))
    assert keys == {"13"}


@pytest.mark.parametrize("kind", [ConstraintKind.CHECK, ConstraintKind.PRIMARY_KEY])
def test_constraints_that_hold_are_broken_by_nobody(checker, child, kind):
    asked, keys = broken(checker, of_kind(checker, child, kind))
    assert keys == set()
    assert asked >= 5
