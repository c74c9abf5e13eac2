"""Indexes of MariaDB that hold only the beginning of columns. All faults are made in one stop of the server."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import mariadb
from tests.corruption.mariadb.files import pages_of, purge, put_back
from tests.integration.checking.checks import Checking
from tests.variants import later
from tieout.config.urls import parse_url
from tieout.connectors.mysql.check.prefix_lookups import fails_at_dangling
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.protocols.paths import LooksRowsUp, NotCheckable, Unfound
from tieout.connectors.registry import open_checker
from tieout.errors import UnsupportedError
from tieout.model.failures import Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TABLE = """CREATE TABLE {} (id INT PRIMARY KEY, name VARCHAR(60) {}, v INT,
    KEY begins (name(4)), KEY after_v (v, name(4)), KEY before_v (name(4), v))"""
# Half of them begin alike, in letters of both cases; one has what sorts below a space.
ROWS = """INSERT INTO {} SELECT seq, CASE WHEN seq = 60 THEN CHAR(9)
    WHEN seq % 2 THEN CONCAT(IF(seq % 4 = 1, 'äbcd', 'ÄBCD'), seq)
    ELSE CONCAT(CHAR(64 + seq DIV 4 USING utf8mb4), seq, 'xyz') END, seq % 2 FROM seq_1_to_100"""


def faulty(database: Database, null: str) -> list[tuple[str, str, str, str]]:
    """What is wrong then: kind, table, index and key."""
    changes = {
        "stale": "UPDATE stale SET name = 'other' WHERE id = 8",
        "crowd": "UPDATE crowd SET name = 'zzzz' WHERE id = 7; UPDATE crowd SET name = 'äbcdX' WHERE id = 10",
        "missing": "INSERT INTO missing VALUES (101, 'new', 0), (102, 'äbcdnew', 1)",
        "dangling": "DELETE FROM dangling WHERE id IN (7, 8)",
    }
    for table in ("clean", *changes):
        database.execute(TABLE.format(table, null))
        database.execute(ROWS.format(table))
    purge(database)
    pages = [pages_of(database, table, index) for table in changes for index in ("begins", "after_v", "before_v")]
    for statements in changes.values():
        for statement in statements.split("; "):
            database.execute(statement)
    put_back(database, *pages)
    keys = {"stale": [8], "crowd": [7, 10], "missing": [101, 102]}
    kinds = {"crowd": "stale", "stale": "stale", "missing": "missing"}
    indexes = ("begins", "after_v", "before_v")
    # At an entry that leads to no row, the server itself fails: it reads none without its row, nor tells which.
    dangling = [("invalid_index", "dangling", index, "None") for index in indexes]
    return sorted(
        [
            (f"{kinds[table]}_index_entry", table, index, str(key))
            for table, each in keys.items()
            for index in indexes
            for key in each
        ]
        + dangling
    )


@pytest.mark.parametrize("null", ["NOT NULL", later("NULL")])
def test_what_is_wrong(own: Database, spark: SparkSession, tmp_path: Path, null: str) -> None:
    expected = faulty(own, null)
    report = Checking(own.url, spark, tmp_path).run("CHECK TABLE clean, stale, crowd, missing, dangling")
    assert sorted(map(told, report.failures)) == expected
    status = {(check.table.rpartition(".")[2], check.name): (check.status, check.reason) for check in report.checks}
    for index in ("begins", "after_v", "before_v"):
        assert status["clean", index] == (Status.OK, None)


def sought(database: Database, most: int = 9) -> dict[str, list[Unfound]]:
    """By index, of all tables; rows that are not found."""
    found = {}
    with closing(open_checker(parse_url(database.url))) as checker:
        for table in checker.describe(checker.tables()):
            for info in checker.indexes(table):
                path = checker.index_path(info)
                assert isinstance(path, LooksRowsUp), (table.name, path)
                found[info.name] = list(path.unfound(most).rows)
    return found


def test_a_unique_beginning(own: Database) -> None:
    """NULLs may be there often. Of others a lookup finds the first only, though all may have their entries."""
    table = "(day DATE, id INT, name VARCHAR(60), PRIMARY KEY (day, id), {} i (name(4)))"
    own.execute(f"CREATE TABLE t {table.format('KEY')}")
    rows = "('0000-00-00', 1, 'abcd1'), (20200101, 2, 'efgh2'), (20200101, 3, NULL), (20200101, 4, NULL)"
    own.execute(f"SET STATEMENT sql_mode = '' FOR INSERT INTO t VALUES {rows}")
    mariadb.redeclared_table(own, "t", f"CREATE TABLE twin {table.format('UNIQUE KEY')}")
    assert sought(own) == {"i": []}
    own.execute("INSERT INTO t VALUES (20200101, 5, 'abcd5')")
    with pytest.raises(UnsupportedError, match="rows that it should keep apart"):
        sought(own)


def test_long_texts_that_begin_alike(own: Database) -> None:
    """Their bounds would not fit into a statement."""
    own.execute("CREATE TABLE t (id INT PRIMARY KEY, name LONGTEXT NOT NULL, KEY i (name(4)))")
    own.execute("INSERT INTO t SELECT seq, CONCAT('<a%_', seq, REPEAT('x', 30000)) FROM seq_1_to_50")
    own.execute("INSERT INTO t VALUES (51, CONCAT('<a%_', REPEAT(' ', 9000000)))")
    assert sought(own) == {"i": []}
    purge(own)
    pages = pages_of(own, "t", "i")
    own.execute("UPDATE t SET name = CONCAT('<b', id) WHERE id = 8")
    own.execute("UPDATE t SET name = CONCAT('<a%_', id) WHERE id = 9")
    put_back(own, pages)
    assert sought(own) == {"i": [Unfound(("8",), ("<b8",))]}


def test_what_the_server_does_not_always_find_is_not_checked(own: Database) -> None:
    own.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT, w VARCHAR(60) AS (CONCAT('n', n)) VIRTUAL, KEY i (w(5)))")
    with closing(open_checker(parse_url(own.url))) as checker:
        (info,) = checker.indexes(*checker.describe(checker.tables()))
    assert info.unchecked == "it has only the first 5 of w, which the server computes on every read"


def told(failure: Any) -> tuple[str, str, str, str]:
    key = (failure.primary_key or {}).get("id")
    return failure.kind.value, failure.table.rpartition(".")[2], failure.index, str(key)


COLUMNS = {
    "text_null": "TEXT COLLATE utf8mb4_unicode_ci NULL",
    "no_pad": "VARCHAR(99) COLLATE utf8mb4_unicode_520_nopad_ci NOT NULL",
    "general": "VARCHAR(99) COLLATE utf8mb4_general_ci NOT NULL",
    "newest": "TEXT COLLATE utf8mb4_uca1400_ai_ci NOT NULL",
    "bytes": "BLOB NOT NULL",
    "binary_null": "VARBINARY(99)",
    "latin": "VARCHAR(99) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL",
    "two_bytes": "CHAR(99) CHARACTER SET ucs2 NOT NULL",
}
VALUES = [
    "",
    " ",
    "\t",
    "\t\t\t\t\t\t",
    "\0",
    "\0\0\0\0\0\0",
    "ß",
    "ss",
    "sss",
    "äaaaaa",
    "Äaaaab",
    "x" * 90,
    "a%_\\'",
    "\x7f",
    "ÿÿÿÿÿ",
]


def test_a_clean_table_of_any_text(own: Database) -> None:
    """Every row is found, and the whole index is gone through: no value is below the least."""
    for name, kind in COLUMNS.items():
        own.execute(f"CREATE TABLE {name} (a INT, b INT, v {kind}, PRIMARY KEY (a, b), KEY i (v(3)), KEY j (a, v(3)))")
        for a, value in enumerate([*VALUES, *([None] if "null" in name else [])]):
            for b in range(40 if a % 2 else 2):
                own.execute(
                    f"INSERT INTO {name} VALUES (%s, %s, %s)",
                    a,
                    b,
                    value.encode("latin1") if value and name.startswith("b") else value,
                )
    with closing(open_checker(parse_url(own.url))) as checker:
        for table in checker.describe(checker.tables()):
            rows = own.rows(f"SELECT COUNT(*) FROM {table.name.name}")[0][0]
            for info in checker.indexes(table):
                path = checker.index_path(info)
                assert not isinstance(path, NotCheckable), (path, table.name)
                assert isinstance(path, LooksRowsUp)
                assert path.unfound(9).rows == ()
                read = sum(batch.num_rows for part in path.parts(1) for batch in path.read(part))
                assert read == rows, (table.name, info.name)


@pytest.mark.parametrize(
    ("flavour", "version", "known"),
    [
        (ServerKind.MARIADB, "10.11.19-MariaDB-0+deb12u1", True),
        (ServerKind.MARIADB, "10.11.6-MariaDB-0+deb12u1", False),
        (ServerKind.MARIADB, "5.5.5-11.4.2-MariaDB", True),
        (ServerKind.MARIADB, "10.5.23-MariaDB", False),
        (ServerKind.MYSQL, "8.0.36", False),
    ],
)
def test_a_server_that_may_pass_over_entries_without_rows(flavour: ServerKind, version: str, known: bool) -> None:
    assert fails_at_dangling(flavour, version) is known
