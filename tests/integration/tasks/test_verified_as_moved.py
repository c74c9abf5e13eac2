"""A task that filters, computes, chooses, renames and merges: moved, verified as equal, and each fault is found."""

from __future__ import annotations

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import by_target, found, make, verified, with_task
from tests.variants import later
from tieout.model.results import Verdict

WAYS = pytest.mark.parametrize(
    "moving",
    [
        "mariadb-postgres",
        "sqlite-sqlite",
        *(later(pair) for pair in ("postgres-mariadb", "mariadb-mariadb", "postgres-postgres")),
    ],
    indirect=True,
)

FAULTS = (
    # The filter of `filtered` lets through those that 3 divides.
    "DELETE FROM filtered WHERE id = 6",
    "INSERT INTO filtered (id, region) VALUES (61, 'EU')",
    "INSERT INTO filtered (id, region) VALUES (1, 'eu')",  # the filter leaves it out, on the source
    "UPDATE filtered SET region = NULL WHERE id = 9",  # it is '' on the source
    "UPDATE filtered SET exact = '123456789012345678901234567890.12345678901234567891' WHERE id = 12",
    "UPDATE totals SET total = total + 0.01 WHERE id = 2",
    "UPDATE totals SET rounded = rounded * 1.000000000000001 WHERE id = 3",
    "UPDATE totals SET origin = 'computed:eu' WHERE id = 8",
    "UPDATE totals SET note = NULL WHERE id = 9",
    "DELETE FROM totals WHERE id = 4",
    "INSERT INTO totals (id) VALUES (6)",  # its qty is 0
    "DELETE FROM whole WHERE shard = 2 AND id = 7",
    "UPDATE whole SET note = 'x' WHERE shard = 3 AND id = 7",
    "INSERT INTO whole VALUES (4, 7, '')",  # there is no part_4
    "INSERT INTO whole VALUES (1, 55, '1 has 55')",  # part_3 has such a row, and part_1 has not
    "UPDATE chosen SET note = '' WHERE id = 8",
    "DELETE FROM called WHERE id = 5",
    "DELETE FROM visits WHERE who = 'a' AND seconds = 12",
)
EXPECTED = {
    "filtered": {
        ("missing", ("6",)),
        ("extra", ("61",)),
        ("extra", ("1",)),
        ("changed", ("9",)),
        ("changed", ("12",)),
    },
    "totals": {
        ("changed", ("2",)),
        ("changed", ("3",)),
        ("changed", ("8",)),
        ("changed", ("9",)),
        ("missing", ("4",)),
        ("extra", ("6",)),
    },
    "whole": {
        ("missing", ("7", "2")),
        ("changed", ("7", "3")),
        ("extra", ("7", "4")),
        ("extra", ("55", "1")),
    },
    "chosen": {("changed", ("8",))},
    "called": {("missing", ("5",))},
    "visits": {("missing", ("a", "12"))},
}


@WAYS
def test_equal_until_a_fault_is_planted(moving: Moving) -> None:
    make(moving)
    moving = with_task(moving)
    moving.run()
    equal = verified(moving, chunk_rows=25)
    verdicts = {name: (table.verdict, table.reason) for name, table in by_target(equal).items()}
    assert verdicts == dict.fromkeys(EXPECTED, (Verdict.EQUAL, None))
    counts = {name: (table.rows.source, table.rows.target) for name, table in by_target(equal).items()}
    assert all(left == right > 0 for left, right in counts.values()), counts
    for fault in FAULTS:
        moving.target.execute(fault)
    assert found(verified(moving, chunk_rows=25)) == EXPECTED
