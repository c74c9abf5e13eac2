"""Every pair of engines, in every way that fits it: equal is equal, and every single fault is found and named."""

from __future__ import annotations

import pytest

from tests.integration.matrix.columns import ROWS
from tests.integration.matrix.conftest import Verified
from tests.integration.matrix.faults import Fault
from tests.integration.matrix.pairs import CASES, WIDE, How, Pair
from tests.integration.matrix.reported import findings, table_named
from tieout.model.results import Verdict

FAULTS = [
    pytest.param(pair, how, table, fault, id=f"{pair}-{how}-{fault.name}")
    for pair, how in CASES
    for table, fault in pair.tables
]


@pytest.mark.parametrize(("pair", "how"), CASES, ids=str)
def test_equal_tables_of_every_type_are_equal(verified: Verified, pair: Pair, how: How) -> None:
    table = table_named(verified(pair, how), WIDE)

    assert table.verdict is Verdict.EQUAL, findings(verified(pair, how), WIDE)
    assert table.strategy is how.strategy
    assert (table.rows.source, table.rows.target) == (ROWS, ROWS)
    assert table.unverified_columns == ()


@pytest.mark.parametrize(("pair", "how", "table", "fault"), FAULTS)
def test_a_single_fault_is_found_and_named(verified: Verified, pair: Pair, how: How, table: str, fault: Fault) -> None:
    result = verified(pair, how)
    judged = table_named(result, table)

    assert findings(result, table) == sorted(pair.found(fault, pair.columns_for(fault)))
    assert judged.verdict is Verdict.DIFFERENT
    assert judged.differences.total == len(fault.found)
    assert judged.strategy is how.strategy
    assert judged.unverified_columns == ()
