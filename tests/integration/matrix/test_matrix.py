"""Every pair of engines, in every way that fits it: equal is equal, and every single fault is found and named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integration.matrix.columns import ROWS
from tests.integration.matrix.faults import Fault, Found
from tests.integration.matrix.pairs import CASES, WIDE, How, Pair
from tieout.model.differences import Difference
from tieout.model.results import TableResult, Verdict, VerificationResult

Verified = Callable[[Pair, How], VerificationResult]

FAULTS = [
    pytest.param(pair, how, table, fault, id=f"{pair}-{how}-{fault.name}")
    for pair, how in CASES
    for table, fault in pair.faults
]


@pytest.mark.parametrize(("pair", "how"), CASES, ids=str)
def test_equal_tables_of_every_type_are_equal(verified: Verified, pair: Pair, how: How) -> None:
    table = _table(verified(pair, how), WIDE)

    assert table.verdict is Verdict.EQUAL, _listing(verified(pair, how), WIDE)
    assert table.strategy is how.strategy
    assert (table.rows.source, table.rows.target) == (ROWS, ROWS)
    assert table.unverified_columns == ()


@pytest.mark.parametrize(("pair", "how", "table", "fault"), FAULTS)
def test_a_single_fault_is_found_and_named(verified: Verified, pair: Pair, how: How, table: str, fault: Fault) -> None:
    result = verified(pair, how)
    judged = _table(result, table)

    assert _listing(result, table) == sorted(map(str, pair.found(fault, pair.columns_for(fault))))
    assert judged.verdict is (Verdict.DIFFERENT if fault.found else Verdict.EQUAL)
    assert judged.differences.total == len(fault.found)
    assert judged.strategy is how.strategy
    assert judged.unverified_columns == ()


def _table(result: VerificationResult, name: str) -> TableResult:
    return next(table for table in result.tables if table.table.endswith(f".{name}"))


def _listing(result: VerificationResult, table: str) -> list[str]:
    return sorted(str(_found(d)) for d in result.differences if d.table.endswith(f".{table}"))


def _found(difference: Difference) -> Found:
    assert difference.copies == 1
    (key,) = difference.key.values()
    columns = {name: (pair.source, pair.target) for name, pair in difference.columns.items()}
    return Found(str(difference.kind), int(key or "0"), columns)
