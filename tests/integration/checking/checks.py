"""Statements, and what came of them in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tieout import api

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

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
