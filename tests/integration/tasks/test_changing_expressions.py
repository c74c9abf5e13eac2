"""Expressions that return something else each time: what a mover computed is gone, so nobody can say what should be
there. Only Spark knows some of them.
"""

from __future__ import annotations

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import computed, request_of, verified, with_task
from tieout import api
from tieout.model.preflight import Severity
from tieout.model.requests import Meaning, TableRequest
from tieout.model.results import Verdict

CHANGING = {
    "a": ("to_date('today')", "'today'"),
    "b": ("datediff('tomorrow ', d)", "'tomorrow '"),
    "c": ("coalesce(d, 'yesterday UTC')", "'yesterday UTC'"),
    "d": ("CAST(concat('no', 'w') AS TIMESTAMP)", "'now'"),
    "e": ("d IN ('2024-01-01', 'today')", "'today'"),
    "f": ("transform(array(n), x -> x + rand(7))[0]", "rand()"),
    "g": ("input_file_block_start()", "input_file_block_start()"),
    "h": ("base64(aes_encrypt(word, '0000111122223333'))", "aes_encrypt()"),
    "i": ("try_reflect('java.lang.System', 'nanoTime')", "try_reflect()"),
}
STABLE = {
    "j": "coalesce(word, 'today')",
    "k": "d > 'epoch'",
    "l": "hex(aes_encrypt(word, '0000111122223333', 'ECB'))",
    "m": "CAST(word AS DATE) > to_date('2024-01-01')",
}


@pytest.fixture
def moving(sqlite_to_sqlite: Moving) -> Moving:
    source, target = sqlite_to_sqlite.source, sqlite_to_sqlite.target
    names = [*CHANGING, *STABLE]
    source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, n INT, word TEXT)")
    source.execute("INSERT INTO t VALUES (1, '2024-01-01', 7, '2024-05-05'), (2, '2999-01-01', 8, NULL)")
    target.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {', '.join(names)})")
    return sqlite_to_sqlite


def test_columns_that_are_computed_anew_are_unverified(moving: Moving) -> None:
    texts = {name: text for name, (text, _) in CHANGING.items()} | STABLE
    moving = computed(moving, "d", "n", "word", **texts)
    moving.run()
    (table,) = verified(moving).tables
    assert {each.column: each.reason for each in table.unverified_columns} == {
        name: f"{part} returns something else each time" for name, (_, part) in CHANGING.items()
    }
    assert table.differences.total == 0


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
def test_a_condition_that_means_something_else_tomorrow_is_unverified(moving: Moving, meaning: Meaning) -> None:
    moving = with_task(moving, TableRequest("t", columns=("id",), where="d >= 'today'"))
    (table,) = api.run_verification(request_of(moving, meaning), spark=moving.spark, meta=moving.meta).tables
    assert table.verdict is Verdict.UNVERIFIED
    assert "'today' in its condition returns something else each time" in str(table.reason)
    if meaning is Meaning.MOVED:
        found = api.preflight(request_of(moving), moving.meta, spark=moving.spark, move=moving.request)
        told = [each.message for each in found.problems if each.severity is Severity.UNVERIFIED]
        assert any("'today'" in message for message in told), found.problems
