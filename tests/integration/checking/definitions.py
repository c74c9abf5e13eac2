"""Checks of definitions, without Spark: they need none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from tieout.checks.checked import Checked
from tieout.checks.indexes.compare import CheckOptions
from tieout.checks.schema import SchemaChecks
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_checker
from tieout.model.tables import TableName

Found = set[tuple[str, str, str | None]]


def definitions(url: str, names: Sequence[TableName] | None = None) -> list[Checked]:
    with closing(open_checker(parse_url(url))) as checker:
        checks = SchemaChecks(checker, CheckOptions(recheck_after=0.0), lambda seconds: None)
        return list(checks.run(names))


def found(checked: Sequence[Checked]) -> Found:
    """Kind, object, and the part of it that is wrong."""
    return {
        (failure.kind.value, failure.table, failure.index or failure.constraint or failure.place)
        for each in checked
        for failure in each.failures
    }


def statuses(checked: Sequence[Checked]) -> dict[str, str]:
    return {each.result.table: each.result.status.value for each in checked}
