"""What every repairer promises beyond a writer's: indexes made anew, rows put aside, what stands around a row."""

from __future__ import annotations

from contextlib import closing
from itertools import count

import pytest

from tests.contract.reading import described, scan_of, texts
from tieout.connectors.protocols.repair import Refused, quarantine_table
from tieout.connectors.registry import open_repairer
from tieout.model.keys import EVERYTHING

SUITE = "repairer"
_NUMBERS = count()


@pytest.fixture
def name(database):
    """A table with an index of the same name, and a child."""
    name = f"mended_{next(_NUMBERS)}"
    database.execute(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40) DEFAULT 'new', n INTEGER)")
    database.execute(f"INSERT INTO {name} VALUES (1, 'one', 1), (2, 'two', 2), (3, 'two', 3)")
    database.execute(f"CREATE INDEX by_{name} ON {name} (v)")
    key = f"CONSTRAINT to_{name} FOREIGN KEY (p) REFERENCES {name} (id)"
    database.execute(f"CREATE TABLE child_{name} (id INTEGER NOT NULL PRIMARY KEY, p INTEGER, {key})")
    return name


@pytest.fixture
def table(endpoint, name):
    return described(endpoint, name)


@pytest.fixture
def repairer(url, name):
    with closing(open_repairer(url)) as opened:
        yield opened


def rows(endpoint, name):
    scan = scan_of(endpoint, name)
    return sorted(texts(scan.columns, endpoint.reader().read(scan, EVERYTHING)))


def test_an_index_is_made_anew(repairer, table, name, endpoint):
    assert repairer.rebuild_statements(table, f"by_{name}")
    repairer.rebuild(table, f"by_{name}")
    assert f"by_{name}" in {index.name for index in described(endpoint, name).indexes}
    assert len(rows(endpoint, name)) == 3


def test_values_that_several_rows_have_are_known(repairer, table):
    assert repairer.duplicates(table, ["v"]) == [("two",)]
    assert repairer.duplicates(table, ["id"]) == []


def test_it_knows_what_a_foreign_key_refers_to(repairer, endpoint, table, name):
    parent = repairer.parent(described(endpoint, f"child_{name}"), f"to_{name}", ["p"])
    assert parent is not None
    assert (parent.table, parent.columns, parent.to) == (table.name, ("p",), ("id",))


def test_a_column_gets_its_default(repairer, endpoint, table, name):
    repairer.begin()
    assert repairer.execute(repairer.default_statement(table, {"id": "1"}, ["v"])) == 1
    repairer.commit()
    assert rows(endpoint, name)[0] == ("1", "new", "1")


def test_a_row_is_written_again_as_it_is(repairer, endpoint, table, name):
    before = rows(endpoint, name)
    row = dict(zip(table.column_names, before[0], strict=True))
    repairer.begin()
    for statement in repairer.rewrite_statements(table, {"id": "1"}, row):
        assert repairer.execute(statement) == 1
    repairer.commit()
    assert rows(endpoint, name) == before


def test_triggers_of_users_are_known(repairer, table):
    assert list(repairer.triggers(table)) == []
    assert repairer.is_transactional(table)


def test_rows_are_put_aside_in_the_same_transaction(repairer, endpoint, table):
    schema = endpoint.default_schema()
    repairer.run(repairer.make_quarantine(schema))
    repairer.run(repairer.make_quarantine(schema))
    kept = quarantine_table(schema)
    row = {"plan": f"p{next(_NUMBERS)}", "change_number": "1", "part": "1", "row_values": '{"v": "it\'s"}'}
    repairer.begin()
    assert repairer.execute(repairer.statements.insert(kept, row)) == 1
    repairer.execute(repairer.statements.delete(table, {"id": "3"}))
    repairer.rollback()
    found = rows(endpoint, kept.name.name)
    assert row["plan"] not in {each[0] for each in found}


def test_a_statement_that_is_wrong_is_refused(repairer):
    with pytest.raises(Refused) as caught:
        repairer.run("THIS IS NO STATEMENT")
    assert "\n" not in caught.value.message
