"""Every pair of engines, in every way that fits it: equal is equal, and every single fault is found and named.

One table has a hundred faults, each alone in its row: each is named, and no other row is. What the engines hash on
their own side is asked for row by row: a table's digest is the sum of these, so a row whose hash is the same on both
sides would be a fault unseen.

All in one file: what is verified once for a pair, many tests of one process look at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.integration.matrix.columns import ROWS
from tests.integration.matrix.conftest import Verified
from tests.integration.matrix.engines import TestDatabase
from tests.integration.matrix.faults import Fault
from tests.integration.matrix.hashes import Hashes, row_hashes
from tests.integration.matrix.pairs import CASES, FINE_TABLE, LATER, PAIRS, PULL, WIDE, How, Pair
from tests.integration.matrix.reported import findings, table_named
from tieout.model.results import Strategy, Verdict

Filled = Callable[[Pair], tuple[TestDatabase, TestDatabase]]

IN_ENGINE = [(pair, how) for pair, how in CASES if how.strategy is not Strategy.PULL]


def _case(pair: Pair, how: How, *more: Any, name: str = "", verified: bool = True) -> Any:
    """Hashes of engines are asked for without a verification, which takes seconds."""
    marks = [pytest.mark.thorough] if verified and (str(pair), how) in LATER else []
    return pytest.param(pair, how, *more, id=f"{pair}-{how}{name}", marks=marks)


FAULTS = [_case(pair, how, table, fault, name=f"-{fault.name}") for pair, how in CASES for table, fault in pair.tables]


@pytest.mark.parametrize(("pair", "how"), [_case(pair, how) for pair, how in CASES])
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


def _each(cases: list[tuple[Pair, How]]) -> list[tuple[Pair, How, int, Fault]]:
    return [(pair, how, key, fault) for pair, how in cases for key, fault in pair.fine]


def _named(cases: list[tuple[Pair, How, int, Fault]], *, verified: bool) -> list[Any]:
    return [_case(*case, name=f"-{case[3].name}", verified=verified) for case in cases]


@pytest.mark.parametrize(
    ("pair", "how", "key", "fault"), _named(_each([(pair, PULL) for pair in PAIRS]), verified=True)
)
def test_a_fault_is_named_at_its_key(verified: Verified, pair: Pair, how: How, key: int, fault: Fault) -> None:
    found = [f for f in findings(verified(pair, how), FINE_TABLE) if f.key == key]

    expected = pair.found(fault, pair.fine_columns)
    assert [(f.kind, f.columns) for f in found] == [(f.kind, f.columns) for f in expected]


# Two spellings of one value may hash apart in the engine: their rows are then compared.
SEEN_IN_ENGINE = [case for case in _each(IN_ENGINE) if case[3].found]


@pytest.mark.parametrize(("pair", "how", "key", "fault"), _named(SEEN_IN_ENGINE, verified=False))
def test_the_engines_own_hash_sees_a_fault(filled: Filled, pair: Pair, how: How, key: int, fault: Fault) -> None:
    source, target = _hashes(filled, pair, how, FINE_TABLE)

    assert source[key] != target[key]


@pytest.mark.parametrize(("pair", "how"), IN_ENGINE, ids=str)
def test_the_engines_own_hash_of_equal_rows_is_equal(filled: Filled, pair: Pair, how: How) -> None:
    source, target = _hashes(filled, pair, how, WIDE)

    assert len(source) == ROWS
    assert source == target


@cache
def _hashes(filled: Filled, pair: Pair, how: How, table: str) -> tuple[Hashes, Hashes]:
    return row_hashes(*filled(pair), table, how)
