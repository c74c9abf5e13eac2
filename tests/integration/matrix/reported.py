"""What a verification reported of one table, in the words of the faults."""

from __future__ import annotations

from tests.integration.matrix.faults import Found
from tieout.model.differences import Difference
from tieout.model.results import TableResult, VerificationResult


def table_named(result: VerificationResult, name: str) -> TableResult:
    return next(table for table in result.tables if table.table.endswith(f".{name}"))


def findings(result: VerificationResult, table: str) -> list[Found]:
    return sorted(_found(d) for d in result.differences if d.table.endswith(f".{table}"))


def _found(difference: Difference) -> Found:
    assert difference.copies == 1
    (key,) = difference.key.values()
    assert key is not None
    columns = {name: (pair.source, pair.target) for name, pair in difference.columns.items()}
    return Found(str(difference.kind), int(key), columns)
