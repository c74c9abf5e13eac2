"""Whether entries of MariaDB's indexes stand in the order that lookups go by: the server compares neighbours."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import mariadb
from tests.integration.checking.checks import Checking
from tests.variants import later
from tieout.config.urls import parse_url
from tieout.connectors.protocols.paths import ChecksOrder, Disorder
from tieout.connectors.registry import open_checker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

COLUMNS = {
    "n": ("INT", "CAST(seq AS SIGNED) - 9"),
    "u": ("BIGINT UNSIGNED", "18446744073709551615 - 5 * (18 - seq)"),
    "f": ("FLOAT", "(CAST(seq AS SIGNED) - 9) / 3"),
    "d": ("DECIMAL(30, 10)", "(CAST(seq AS SIGNED) - 9) * 1.1"),
    "s": ("VARCHAR(20) COLLATE utf8mb4_general_ci", "CONCAT(IF(seq % 2, 'ä', 'A'), 100 + seq)"),
    "b": ("VARBINARY(20)", "UNHEX(HEX(seq * 10))"),
    "l": ("CHAR(9) CHARACTER SET latin1 COLLATE latin1_german2_ci", "CONCAT('ß', seq)"),
    "e": ("ENUM('z', 'b', 'y', 'a')", "1 + seq DIV 5"),
    "m": ("SET('z', 'b', 'y', 'a')", "seq % 16"),
    "i": ("BIT(9)", "seq * 10"),
    "y": ("YEAR", "1990 + seq"),
    "day": ("DATE", "MAKEDATE(1960 + seq, 34)"),
    "at": ("DATETIME(3)", "MAKEDATE(1960 + seq, 34) + INTERVAL 1.5 SECOND"),
    "ts": ("TIMESTAMP NULL", "FROM_UNIXTIME(1 + seq * 100000000)"),
    "t": ("TIME", "SEC_TO_TIME((CAST(seq AS SIGNED) - 9) * 40000)"),
    "id6": ("INET6", "CONCAT('::', HEX(seq))"),
    "uid": ("UUID", "CONCAT('00000000-0000-4000-8000-', LPAD(seq, 12, '0'))"),
}


def disorder(database: Database, table: str = "t") -> dict[str, list[Disorder]]:
    """By index."""
    found = {}
    with closing(open_checker(parse_url(database.url))) as checker:
        (described,) = checker.describe([name for name in checker.tables() if name.name == table])
        for info in checker.indexes(described):
            path = checker.index_path(info)
            assert isinstance(path, ChecksOrder)
            found[info.name] = path.disorders([path.order_of(part) for part in path.order_parts(2)])
    return found


def make(database: Database, table: str, null: str, direction: str) -> None:
    columns = ", ".join(f"{name} {kind} {null}" for name, (kind, _) in COLUMNS.items())
    keys = ", ".join(f"KEY by_{name} ({name} {direction})" for name in COLUMNS)
    database.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns}, {keys})")


@pytest.mark.parametrize(("null", "every"), [("NULL", 6), ("NOT NULL", 99)])
def test_each_type(own: Database, null: str, every: int) -> None:
    """The server takes ascending indexes for descending ones: everything in them is in the wrong order."""
    make(own, "t", null, "ASC")
    values = ", ".join(f"IF(seq % {every} = 0, NULL, {value})" for _, value in COLUMNS.values())
    own.execute(f"INSERT INTO t SELECT seq, {values} FROM seq_1_to_18")
    assert disorder(own) == {f"by_{name}": [] for name in COLUMNS}
    make(own, "twin", null, "DESC")
    mariadb.redeclared_as_twin(own, "t")
    found = disorder(own)
    # Equal ones stand by their keys, which is as it should be.
    different = {name: own.rows(f"SELECT COUNT(DISTINCT {name}) + (COUNT({name}) < 18) FROM t") for name in COLUMNS}
    assert {name: len(each) for name, each in found.items()} == {
        f"by_{name}": count - 1 for name, ((count,),) in different.items()
    }


def test_several_columns_and_partitions(own: Database) -> None:
    """Each partition has an index of its own, which begins anew."""
    table = """(id INT PRIMARY KEY, a INT, b VARCHAR(9) NOT NULL, KEY i (a DESC, b {}), KEY j (b, a DESC))
        PARTITION BY HASH (id) PARTITIONS 3"""
    own.execute(f"CREATE TABLE t {table.format('ASC')}")
    own.execute("INSERT INTO t SELECT seq, IF(seq % 7, seq % 4, NULL), CONCAT('b', seq % 5) FROM seq_1_to_60")
    assert disorder(own) == {"i": [], "j": []}
    own.execute(f"CREATE TABLE twin {table.format('DESC')}")
    mariadb.redeclared_as_twin(own, "t")
    found = disorder(own)
    assert not found["j"]
    assert all(one.first[0] == one.second[0] and str(one.first[1]) < str(one.second[1]) for one in found["i"])
    neighbours = "SELECT COUNT(DISTINCT id % 3, COALESCE(a, -1), b) - COUNT(DISTINCT id % 3, COALESCE(a, -1)) FROM t"
    assert [(len(found["i"]),)] == list(own.rows(neighbours))


def test_equal_entries_are_in_the_order_of_their_keys(own: Database) -> None:
    table = "(id VARCHAR(9) COLLATE {} PRIMARY KEY, v INT, KEY by_v (v))"
    own.execute(f"CREATE TABLE t {table.format('utf8mb4_bin')}")
    own.execute("INSERT INTO t VALUES ('a', 1), ('B', 1), ('c', 2)")
    assert disorder(own) == {"by_v": []}
    mariadb.redeclared_table(own, "t", f"CREATE TABLE twin {table.format('utf8mb4_general_ci')}")
    (wrong,) = disorder(own)["by_v"]
    assert (wrong.first, wrong.second) == (("1", "B"), ("1", "a"))


def test_neighbours_that_are_written_between_two_looks(own: Database) -> None:
    """What is wrong is another pair by then, and still wrong."""
    table = "(id INT PRIMARY KEY, s VARCHAR(9) COLLATE {}, KEY by_s (s))"
    own.execute(f"CREATE TABLE t {table.format('utf8mb4_bin')}")
    own.execute("INSERT INTO t VALUES (1, 'A'), (2, 'B'), (3, 'a'), (4, 'c')")
    mariadb.redeclared_table(own, "t", f"CREATE TABLE twin {table.format('utf8mb4_general_ci')}")
    with closing(open_checker(parse_url(own.url))) as checker:
        (described,) = checker.describe([name for name in checker.tables() if name.name == "t"])
        path = checker.index_path(*checker.indexes(described))
        assert isinstance(path, ChecksOrder)
        suspects = path.disorders([path.order_of(part) for part in path.order_parts(2)])
        own.execute("INSERT INTO t VALUES (5, 'C')")
        again = path.still_wrong(suspects)
    assert [each.first[0] for each in suspects] == ["B"]
    assert [(each.first[0], each.second[0]) for each in again] == [("C", "a")]


@pytest.mark.parametrize("engine", ["InnoDB", later("Aria")])
def test_a_collation_that_sorts_otherwise(own: Database, spark: SparkSession, tmp_path: Path, engine: str) -> None:
    table = "(id INT PRIMARY KEY, s VARCHAR(9) COLLATE {}, v INT, KEY by_s (s), KEY by_v (v)) ENGINE={}"
    own.execute(f"CREATE TABLE t {table.format('utf8mb4_bin', engine)}")
    own.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'B', 2), (3, 'c', 3), (4, NULL, 4)")
    checking = Checking(own.url, spark, tmp_path)
    assert checking.found("CHECK TABLE t INDEX by_s, by_v") == []
    own.execute(f"CREATE TABLE twin {table.format('utf8mb4_general_ci', engine)}")
    mariadb.redeclared_as_twin(own, "t")
    (failure,) = checking.run("CHECK TABLE t INDEX by_s, by_v").failures
    assert (failure.kind.value, failure.index) == ("index_order", "by_s")
    assert failure.details == {"first.s": "B", "second.s": "a"}
