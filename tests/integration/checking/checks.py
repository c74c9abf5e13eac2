"""Statements, and what came of them in a few words."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from tieout import api
from tieout.checks.constraints import ConstraintChecks
from tieout.checks.indexes.compare import CheckOptions
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_checker

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tieout.connectors.protocols.check import Checker
    from tieout.connectors.protocols.paths import OnlyRows
    from tieout.model.failures import CheckReport


class Checking:
    """One database, a Spark and a meta store of its own."""

    def __init__(self, url: str, spark: SparkSession, directory: Path) -> None:
        self.url = url
        self.meta = f"sqlite:///{directory}/meta.db"
        self._spark = spark

    def run(self, statement: str, **options: Any) -> CheckReport:
        return api.check(self.url, statement, spark=self._spark, meta=self.meta, **{"recheck_after": 0.0, **options})

    def found(self, statement: str, **options: Any) -> list[tuple[str, str | None, dict[str, str | None] | None]]:
        """Kind, index and primary key of each failure."""
        report = self.run(statement, **options)
        return [
            (each.kind.value, each.index, None if each.primary_key is None else dict(each.primary_key))
            for each in report.failures
        ]

    def broken(self, statement: str, **options: Any) -> list[tuple[str, str | None, dict[str, str | None] | None]]:
        """Kind, constraint and primary key of each failure, in the order of their names and keys."""
        found = [
            (each.kind.value, each.constraint, None if each.primary_key is None else dict(each.primary_key))
            for each in self.run(statement, **options).failures
        ]
        return sorted(found, key=str)


def asked_of(checker: Checker, spark: SparkSession, table: str, only: OnlyRows) -> list[tuple[str | None, str | None]]:
    """The constraints that some rows break, and the ids of the rows."""
    (described,) = checker.describe([name for name in checker.tables() if name.name == table])
    checks = ConstraintChecks(spark, checker, CheckOptions(recheck_after=0), lambda _: None)
    checked = list(checks.run(checker.constraints(described), only))
    assert {each.result.reason for each in checked} == {None}
    return sorted((each.constraint, (each.primary_key or {})["id"]) for one in checked for each in one.failures)


def all_constraints_of(url: str) -> str:
    """A statement that names every constraint of a database's tables."""
    with closing(open_checker(parse_url(url))) as checker:
        tables = checker.describe(checker.tables())
        names = dict.fromkeys(each.name for table in tables for each in checker.constraints(table))
    listed = [[quoted(table.name.name) for table in tables], [quoted(name) for name in names]]
    return "CHECK TABLE {} CONSTRAINT {}".format(*(", ".join(each) for each in listed))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
