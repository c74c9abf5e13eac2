"""How SQLite's values travel, and what is read out of the statements that SQLite keeps."""

from __future__ import annotations

import sqlite3

import pytest

from tieout.connectors.sql import copy_text
from tieout.connectors.sql.ddl import TABLE, Structure
from tieout.connectors.sqlite.capture.log import Real, real
from tieout.connectors.sqlite.move.ddl_same_engine import NAME, own_structure
from tieout.connectors.sqlite.tab_form import Undecodable, rows_of, texts
from tieout.model.tables import Column, Index, Table, TableName
from tieout.model.types import LogicalType, TypeName

VALUES = [
    *(None, 0, -(1 << 63), (1 << 63) - 1, 1.0, -0.0, 0.1 + 0.2, 5e-324, float("inf"), float("-inf")),
    *("", "t", "\\N", "a\tb\nc\rd\\e", "\\t", "ü\U0001f600\0", "1", b"", b"\0\xff\n", b"\\N"),
]


def test_values_arrive_as_they_were() -> None:
    column = texts(VALUES)
    found = rows_of(copy_text.lines([column, column]))
    assert [repr(row) for row in found] == [repr([value, value]) for value in VALUES]


def test_a_text_that_is_none() -> None:
    raw = b"a\xff\tb"
    (row,) = rows_of(copy_text.lines([texts([raw.decode("utf-8", "surrogateescape")])]))
    assert row == [Undecodable(raw)]


def test_a_real_is_only_itself() -> None:
    assert real(1.0) == Real(1.0) != 1
    assert len({1, real(1.0), real(-0.0), real(0.0), 0}) == 5
    assert real("1.0") == "1.0"


def structure(*statements: str, key: str = "id", ordered: bool = True, primary: bool = True) -> Structure:
    """Of the table t."""
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    column = Column(key, LogicalType(TypeName.INTEGER, "INTEGER"), False, order="numeric" if ordered else None)
    index = Index("PRIMARY KEY", (key,), True, True)
    return own_structure(connection, Table(TableName("main", "t"), (column,), (key,), (index,) if primary else ()))


def test_a_line_for_each_column() -> None:
    found = structure(
        """CREATE TABLE 't' ( -- it's a table (of ours,
          id INTEGER PRIMARY KEY /* , */, [a b] TEXT DEFAULT 'x, (y' CHECK (length("a b") < 9), `c``d`,
          "e""f" AS (id + 1), FOREIGN KEY (id) REFERENCES t (id), CHECK (id > 0)
        ) WITHOUT ROWID"""
    )
    assert found.create == (
        f"CREATE TABLE {TABLE} (\n"
        '  "id" INTEGER PRIMARY KEY,\n'
        """  "a b" TEXT DEFAULT 'x, (y' CHECK (length("a b") < 9),\n"""
        '  "c`d",\n'
        '  "e""f" AS (id + 1),\n'
        "  FOREIGN KEY (id) REFERENCES t (id),\n"
        "  CHECK (id > 0)\n"
        ") WITHOUT ROWID",
    )
    assert (found.indexes, found.unique, found.counters) == ((), (), ())


UNIQUE = """CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL UNIQUE COLLATE NOCASE, b INT CONSTRAINT only UNIQUE,
  c INT UNIQUE ON CONFLICT REPLACE, CONSTRAINT both UNIQUE (a, b COLLATE BINARY), UNIQUE (id, c) ON CONFLICT IGNORE)"""


def test_what_is_unique_waits_until_all_rows_are_of_one_position() -> None:
    found = structure(UNIQUE)
    assert '"a" TEXT NOT NULL COLLATE NOCASE' in found.create[0].replace("  COLLATE", " COLLATE")
    assert '"b" INT,' in found.create[0]
    assert '"c" INT UNIQUE ON CONFLICT REPLACE' in found.create[0]
    assert "UNIQUE (id, c) ON CONFLICT IGNORE" in found.create[0]
    assert [part.statement.partition(f" ON {TABLE} ")[2] for part in found.unique] == [
        '("a")',
        '("b")',
        "(a, b COLLATE BINARY)",
    ]


def test_in_a_table_of_one_chunk_it_stays_where_it_is() -> None:
    found = structure(UNIQUE, ordered=False)
    assert "CONSTRAINT both UNIQUE (a, b COLLATE BINARY)" in found.create[0]
    assert found.unique == ()


def test_indexes() -> None:
    found = structure(
        "CREATE TABLE t (id INT NOT NULL, a INT)",
        "CREATE INDEX [plain one] ON t (a DESC) WHERE a > 0",
        "CREATE UNIQUE INDEX key ON t(id)",
        'CREATE UNIQUE INDEX other ON "t"(a)',
        ordered=False,
        primary=False,
    )
    assert found.create[1:] == (f'CREATE UNIQUE INDEX "key" ON {TABLE} (id)',), "rows are found by it"
    assert [part.statement for part in found.indexes] == [f'CREATE INDEX "plain one" ON {TABLE} (a DESC) WHERE a > 0']
    assert [part.statement for part in found.unique] == [f'CREATE UNIQUE INDEX "other" ON {TABLE} (a)']


def test_numbers_go_on_where_they_were() -> None:
    made = "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT)"
    found = structure(made, "INSERT INTO t VALUES (41)", "DELETE FROM t")
    assert f"seq = MAX(seq, 41) WHERE name = {NAME}" in found.counters[1]


@pytest.mark.parametrize("made", ["CREATE TABLE t AS SELECT 1 AS id, 'x' AS \"a b\"", "CREATE TABLE t(id,[a b])"])
def test_short_ways_to_write_it(made: str) -> None:
    with sqlite3.connect(":memory:") as connection:
        (statement,) = structure(made, ordered=False).create
        connection.execute(statement.replace(TABLE, "t"))
        assert [row[1] for row in connection.execute("PRAGMA table_info(t)")] == ["id", "a b"]
