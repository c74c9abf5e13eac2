"""Twenty rows under each sort of key: one changed, one missing, one extra; on every pair of engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integration.keys.cases import CASES, CHANGED, EXTRA, MISSING, ROWS, Keyed, M, P, S
from tests.servers.sqlite import SqliteDatabase
from tieout import api
from tieout.model.differences import DifferenceCounts
from tieout.model.results import Strategy, Verdict, VerificationResult

LATER = {(S, M): pytest.mark.thorough}
"""Both are on a side of other pairs, with the same keys."""
EACH = [
    pytest.param(pair, case, id=f"{pair[0]}-{pair[1]}-{case.name}", marks=LATER.get(pair, ()))
    for pair, cases in CASES.items()
    for case in cases
]

Verified = Callable[[tuple[str, str]], VerificationResult]


@pytest.fixture(scope="module")
def verified(mariadb: Any, mariadb_b: Any, postgres: Any, spark: Any, tmp_path_factory: Any) -> Iterator[Verified]:
    """All tables of a pair in one verification, in ranges of a few rows."""
    results: dict[tuple[str, str], VerificationResult] = {}
    with ExitStack() as stack:

        def fresh(engine: str, is_source: bool) -> Any:
            if engine == S:
                return SqliteDatabase(tmp_path_factory.mktemp("keys") / "side.db")
            server = postgres if engine == P else mariadb if is_source else mariadb_b
            return stack.enter_context(server.fresh_database())

        def get(pair: tuple[str, str]) -> VerificationResult:
            if pair not in results:
                source, target = fresh(pair[0], True), fresh(pair[1], False)
                for case in CASES[pair]:
                    rows = [(case.values(i), f"row {i}") for i in range(1, ROWS + 1)]
                    make(source, pair[0], case, case.source, rows)
                    there = case.there or case.values
                    make(target, pair[1], case, case.target, [(there(i), text_of(i)) for i in target_rows()])
                results[pair] = api.verify(
                    source.url,
                    target.url,
                    spark=spark,
                    meta=f"sqlite:///{tmp_path_factory.mktemp('meta')}/meta.db",
                    strategy=Strategy.PULL,
                    chunk_rows=7,
                    recheck_times=0,
                )
            return results[pair]

        yield get


def target_rows() -> list[int]:
    return [i for i in range(1, EXTRA + 1) if i != MISSING]


def text_of(i: int) -> str:
    return "other" if i == CHANGED else f"row {i}"


def make(database: Any, engine: str, case: Keyed, types: tuple[str, ...], rows: list[tuple[Any, str]]) -> None:
    names = [f"k{place}" for place in range(len(types))]
    columns = [f"{name} {declared}" for name, declared in zip(names, types, strict=True)]
    mark = "?" if engine == S else "%s"
    with database.connect() as connection:
        cursor = connection.cursor()
        if engine == M:
            cursor.execute("SET SESSION time_zone = '+00:00'")
        if engine == P:
            cursor.execute("SET TimeZone = 'UTC'")
        cursor.execute(
            f"CREATE TABLE k_{case.name} ({', '.join(columns)}, v VARCHAR(20), {case.constraint} ({', '.join(names)}))"
        )
        for key, text in rows:
            given = [_given(engine, value) for value in (key if isinstance(key, tuple) else (key,))]
            cursor.execute(f"INSERT INTO k_{case.name} VALUES ({', '.join([mark] * (len(given) + 1))})", (*given, text))


def _given(engine: str, value: Any) -> Any:
    if isinstance(value, bytes | int) and engine != P:
        return value
    return value if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize(("pair", "case"), EACH)
def test_a_key_of_any_sort(verified: Verified, pair: tuple[str, str], case: Keyed) -> None:
    result = verified(pair)
    (table,) = [t for t in result.tables if t.table.endswith(f".k_{case.name}")]
    found = {str(d.kind): d for d in result.differences if d.table == table.table}

    assert table.verdict is Verdict.DIFFERENT, table.reason
    assert table.differences == DifferenceCounts(missing=1, extra=1, changed=1)
    assert (table.rows.source, table.rows.target) == (ROWS, ROWS)
    assert table.unverified_columns == ()
    assert set(found["changed"].key) == {f"k{place}" for place in range(len(case.source))}
    (changed,) = found["changed"].columns.values()
    assert (changed.source, changed.target) == (f"row {CHANGED}", "other")
    keys = [tuple(found[kind].key.values()) for kind in ("changed", "missing", "extra")]
    assert len(set(keys)) == 3
    assert not any("not unique" in note for note in table.notes)
