"""Indexes of MariaDB that really disagree with their table, on a server of their own, which is stopped for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import mariadb
from tests.integration.checking.checks import Checking
from tests.integration.checking.definitions import definitions
from tests.integration.checking.definitions import found as found_in_definitions
from tests.variants import later
from tieout.model.failures import CheckVerdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TABLE = """
CREATE TABLE {} (id INT PRIMARY KEY, v INT, s VARCHAR(20), KEY i (v), KEY other (s)) ENGINE={}"""

KEY = {"id": "7"}


def corrupt(database: Database, engine: str, recipe: str, *values: Any, table: str = "t") -> None:
    database.execute(TABLE.format(table, engine))
    database.execute(f"INSERT INTO {table} SELECT seq, 10 * seq, CONCAT('s', seq) FROM seq_1_to_20")
    getattr(mariadb, recipe)(database, table, "i", "id = 7", *values)


def test_innodb(own: Database, spark: SparkSession, tmp_path: Path) -> None:
    """Each fault in a table that is named for it."""
    faults: dict[str, tuple[list[Any], str, Any]] = {
        "missing_entry": ([], "missing_index_entry", KEY),
        "delete_marked_entry": ([], "missing_index_entry", KEY),
        "dangling_entry": ([], "dangling_index_entry", KEY),
        "stale_entry": ([{"v": 5}], "stale_index_entry", KEY),
        "wrong_row_entry": ([{"v": 5}], "wrong_row_reference", KEY),
    }
    for recipe, (values, _, _) in faults.items():
        corrupt(own, "InnoDB", recipe, *values, table=recipe)
    failures = Checking(own.url, spark, tmp_path).run(f"INSPECT DATABASE {own.name}").failures
    found = {each.table: (each.kind.value, each.index, each.primary_key) for each in failures}
    assert found == {f"{own.name}.{recipe}": (kind, "i", key) for recipe, (_, kind, key) in faults.items()}
    assert len(failures) == len(faults)


@pytest.mark.parametrize("engine", ["Aria", later("MyISAM")])
def test_a_stale_entry_without_addresses(own: Database, spark: SparkSession, tmp_path: Path, engine: str) -> None:
    """An entry that no row is like, and a row that no entry is like: which is whose, only the file knows."""
    corrupt(own, engine, "stale_entry", {"v": 5})
    checking = Checking(own.url, spark, tmp_path)
    assert sorted(checking.found("CHECK TABLE t INDEX i"), key=str) == [
        ("dangling_index_entry", "i", None),
        ("missing_index_entry", "i", KEY),
    ]


def test_an_index_that_the_engine_does_not_trust_any_more(own: Database) -> None:
    corrupt(own, "InnoDB", "dangling_entry")
    own.execute("CHECK TABLE t EXTENDED")
    assert found_in_definitions(definitions(own.url)) == {("invalid_index", f"{own.name}.t", "i")}


@pytest.mark.thorough
def test_names_that_are_words_and_rows_without_a_key(own: Database, spark: SparkSession, tmp_path: Path) -> None:
    """NULLs in some columns, both directions, days before 1970, and of two identical indexes the one that is wrong."""
    own.execute("""CREATE TABLE `Order` (`Select` INT, `when` DATETIME, `De``sc` CHAR(9),
        KEY `Group` (`when` DESC, `Select`), KEY `group Too` (`when` DESC, `Select`))""")
    own.execute("""INSERT INTO `Order`
        SELECT seq, IF(seq % 3 = 0, NULL, MAKEDATE(1900 + seq, 34)), IF(seq % 2, NULL, 'x') FROM seq_0_to_89""")
    checking = Checking(own.url, spark, tmp_path)
    assert checking.run("INSPECT TABLE `Order`").verdict is CheckVerdict.CLEAN
    mariadb.missing_entry(own, "Order", "group Too", "`Select` = 61")
    (failure,) = checking.run("INSPECT TABLE `Order`").failures
    assert (failure.kind.value, failure.index, failure.primary_key) == ("missing_index_entry", "group Too", None)
    assert failure.details == {"row.when": "1961-02-03 00:00:00", "row.Select": "61"}
