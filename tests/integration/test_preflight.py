"""Preflight finds every problem at once, on files that need no server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.sqlite import SqliteDatabase
from tieout import api
from tieout.model.preflight import Preflight, Severity
from tieout.model.requests import TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy

Check = Callable[..., Preflight]


@pytest.fixture
def pair(sqlite_db: Callable[[str], SqliteDatabase]) -> tuple[SqliteDatabase, SqliteDatabase]:
    sides = sqlite_db("source"), sqlite_db("target")
    for side in sides:
        side.execute("CREATE TABLE fine (id INTEGER PRIMARY KEY, v TEXT, n INTEGER)")
    return sides


@pytest.fixture
def check(pair: tuple[SqliteDatabase, SqliteDatabase], tmp_path: Path) -> Check:
    source, target = pair
    meta = f"sqlite:///{tmp_path / 'meta.db'}"

    def run(*tables: TableRequest, options: VerifyOptions | None = None) -> Preflight:
        return api.preflight(VerifyRequest(source.url, target.url, tables, options or VerifyOptions()), meta)

    return run


def told(preflight: Preflight, severity: Severity) -> list[str]:
    return [f"{problem.table}: {problem.message}" for problem in preflight.problems if problem.severity is severity]


def test_nothing_in_the_way(check: Check):
    ahead = check()
    assert (ahead.exit_code, ahead.problems) == (0, ())
    (table,) = ahead.tables
    assert table.key == ("id",)
    assert table.guarantee is not None
    assert (table.guarantee.hash_bits, table.guarantee.rechecks, table.guarantee.resumes) == (128, True, True)


def test_every_problem_at_once(pair, check: Check):
    source, target = pair
    source.execute(
        "CREATE TABLE only_here (x); CREATE TABLE keyless (v TEXT); CREATE TABLE odd (id INTEGER, s INTERVAL)"
    )
    target.execute("CREATE TABLE keyless (v TEXT, more TEXT); CREATE TABLE odd (id INTEGER, s TEXT)")
    ahead = check(
        TableRequest("nope"),
        TableRequest("fine", where="no_such_column = 1"),
        TableRequest("*", exclude=("fine",)),
    )
    assert ahead.exit_code == 2
    prevents = told(ahead, Severity.PREVENTS)
    assert prevents[0] == "None: neither side has a table nope"
    assert all("no such column: no_such_column" in line for line in prevents[1:3]), "on both sides"
    assert len(prevents) == 3
    assert told(ahead, Severity.DIFFERENT) == [
        "main.keyless: column more: is only on the target (TEXT)",
        "main.only_here: the table is only on the source",
    ]
    assert told(ahead, Severity.UNVERIFIED)[0].startswith("main.odd: column s: INTERVAL and TEXT")
    assert any("no key" in line for line in told(ahead, Severity.NOTE))
    assert all(problem.fix for problem in ahead.problems if problem.severity is not Severity.NOTE)


def test_what_will_not_be_verified_is_3(pair, check: Check):
    for side, of in zip(pair, ("INTERVAL", "TEXT"), strict=True):
        side.execute(f"ALTER TABLE fine ADD COLUMN span {of}")
    assert check().exit_code == 3
    assert check(TableRequest("fine", exclude_columns=("span",))).exit_code == 0


def test_one_bad_column_name_does_not_hide_another(pair, check: Check):
    for side in pair:
        side.execute("CREATE TABLE second (id INTEGER PRIMARY KEY)")
    ahead = check(TableRequest("fine", columns=("nope",)), TableRequest("second", key=("neither",)))
    assert ahead.exit_code == 2
    assert [problem.table for problem in ahead.problems] == ["main.fine", "main.second"]


def test_a_key_that_nothing_keeps_unique(check: Check):
    ahead = check(TableRequest("fine", key=("n",)))
    assert ahead.exit_code == 0
    assert {problem.side for problem in ahead.problems} == {"source", "target"}
    assert "no unique index on (n)" in told(ahead, Severity.NOTE)[0]


def test_a_strategy_that_does_not_fit(check: Check):
    ahead = check(options=VerifyOptions(strategy=Strategy.NATIVE))
    assert ahead.exit_code == 3
    assert "native can't be used" in told(ahead, Severity.UNVERIFIED)[0]


def test_endpoints_and_meta_store_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    request = VerifyRequest(f"sqlite:///{tmp_path}/no.db", f"sqlite:///{tmp_path}/neither.db")
    ahead = api.preflight(request, "sqlite:////proc/no/meta.db")
    assert ahead.exit_code == 2
    assert len(told(ahead, Severity.PREVENTS)) == 4
    assert [problem.side for problem in ahead.problems] == [None, None, "source", "target"]
    assert ahead.source.version is None
    assert ahead.tables == ()


def test_no_table_at_all(sqlite_db, tmp_path: Path):
    for name in ("a", "b"):
        sqlite_db(name).execute("VACUUM")
    request = VerifyRequest(f"sqlite:///{tmp_path}/a.db", f"sqlite:///{tmp_path}/b.db")
    ahead = api.preflight(request, f"sqlite:///{tmp_path}/meta.db")
    assert ahead.exit_code == 2
    assert told(ahead, Severity.PREVENTS) == ["None: no tables to compare"]
