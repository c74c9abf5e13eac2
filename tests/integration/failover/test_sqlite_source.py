"""An SQLite file that is replaced by a copy of its own."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.failover.cases import Outcome, case
from tieout import api
from tieout.errors import LogLostError
from tieout.model.requests import MoveRequest, TableRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = "SQLite, source"


class Files:
    """A task from one file to another."""

    def __init__(self, directory: Path, spark: SparkSession) -> None:
        self.old, self.new, self._directory, self._spark = directory / "old.db", directory / "new.db", directory, spark
        self.new.touch()
        self.write("CREATE TABLE t (id INTEGER)")

    def write(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.old)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    def insert(self, numbers: Iterable[int]) -> None:
        self.write(*(f"INSERT INTO t VALUES ({number})" for number in numbers))

    def run(self) -> None:
        urls = f"sqlite:///{self.old}", f"sqlite:///{self.new}"
        request = MoveRequest("files", *urls, tables=(TableRequest("t"),))
        api.run_move(request, spark=self._spark, meta=f"sqlite:///{self._directory}/meta.db", until_caught_up=True)

    def rows(self, path: Path) -> list[int]:
        with closing(sqlite3.connect(path)) as connection:
            return sorted(number for (number,) in connection.execute("SELECT id FROM t"))


@pytest.fixture
def files(tmp_path: Path, spark: SparkSession) -> Files:
    files = Files(tmp_path, spark)
    files.insert(range(5))
    files.run()
    return files


@case(
    SOURCE,
    "it is restored from a backup older than what was applied",
    Outcome.LOST,
    "a different change has the same number",
)
def test_an_earlier_copy(files: Files, tmp_path: Path) -> None:
    shutil.copy(files.old, tmp_path / "copy.db")
    files.insert(range(10, 20))
    files.run()
    shutil.copy(tmp_path / "copy.db", files.old)
    files.insert(range(100, 130))
    with pytest.raises(LogLostError):
        files.run()
    assert files.rows(files.new) == [*range(5), *range(10, 20)]


@case(
    SOURCE,
    "it is restored from a backup that has everything that was applied",
    Outcome.GOES_ON,
    "the last change is the same",
)
def test_a_copy_that_is_not_older(files: Files, tmp_path: Path) -> None:
    files.insert(range(10, 20))
    files.run()
    shutil.copy(files.old, tmp_path / "copy.db")
    files.insert(range(20, 30))  # nobody has read these
    shutil.copy(tmp_path / "copy.db", files.old)
    files.insert(range(40, 50))
    files.run()
    assert files.rows(files.new) == files.rows(files.old) == [*range(5), *range(10, 20), *range(40, 50)]
