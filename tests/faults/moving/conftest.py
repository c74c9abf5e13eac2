"""A Spark that all movers of a test run share, and outlives each of them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults.moving import workload
from tests.faults.moving.cases import ALL, FEW, PAIRS, Case
from tests.faults.moving.ledger import keep, passed, table
from tests.faults.moving.mover import Mover
from tieout import api
from tieout.model.requests import MoveRequest
from tieout.spark import executor_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database
    from tests.servers.sqlite import SqliteDatabase

LEDGER = Path(__file__).parents[3] / ".faults.jsonl"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A giant transaction is written by `make test-faults` alone."""
    return (collection_path.name == "test_giant_transaction.py" and not config.getoption("all_faults")) or None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = getattr(metafunc.module, "CASES", None)
    if own is not None:
        metafunc.parametrize("case", own)
    elif "case" in metafunc.fixturenames:
        everything = metafunc.config.getoption("all_faults")
        chosen = [case for case in ALL if str(case) not in passed(LEDGER)] if everything else FEW
        metafunc.parametrize("case", chosen, ids=str)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keeps what passed, so that a long run can go on where it was."""
    report = yield
    case = getattr(item, "callspec", None) and item.callspec.params.get("case")
    if case and case in ALL and report.when == "call" and item.config.getoption("all_faults"):
        keep(LEDGER, case, passed=report.passed)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("all_faults"):
        terminalreporter.write_line(table(LEDGER))


@pytest.fixture
def sqlite_source(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    return sqlite_db("source")


@pytest.fixture
def sqlite_target(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    return sqlite_db("target")


@pytest.fixture
def pair(case: Case, request: pytest.FixtureRequest) -> tuple[Database, Database]:
    """Those of the case; the source is filled."""
    source, target = (request.getfixturevalue(name) for name in PAIRS[case.pair])
    for database in (source, target):
        workload.create(database)
    workload.fill(source)
    return source, target


@pytest.fixture
def mover(pair: tuple[Database, Database], spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Mover]]:
    source, target = pair
    task, meta = f"killed-{uuid.uuid4().hex[:8]}", f"sqlite:///{tmp_path}/meta.db"

    def make(delivery: str, consistency: str = "transaction", **options: Any) -> Mover:
        asked = {
            "task": task,
            "source": source.url,
            "target": target.url,
            "meta": meta,
            "tables": list(workload.TABLES),
            "delivery": delivery,
            "consistency": consistency,
            "options": {"chunk_rows": 300, "poll_seconds": 0.05, **options},
        }
        return Mover(spark, tmp_path, asked)

    yield make
    # A mover has registered its sources in the session, and is dead: they have to be ours again.
    executor_work._REGISTERED.clear()
    Path(os.environ["TIEOUT_FAILPOINT"]).unlink(missing_ok=True)
    api.drop_move(MoveRequest(task, source.url, target.url), meta)
