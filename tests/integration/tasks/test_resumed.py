"""A verification that is resumed goes on as it began."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.conftest import sqlite_way
from tests.integration.tasks.tables import found, request_of, with_task
from tieout import api
from tieout.model.progress_events import Progress
from tieout.model.requests import Meaning, TableRequest
from tieout.verification import plan, transformed_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def files(sqlite_db: Any, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from sqlite_way(sqlite_db, spark, tmp_path)


@pytest.mark.parametrize("entry", [TableRequest("t", where="v > 0"), TableRequest("t")], ids=["filtered", "plain"])
def test_an_estimate_that_grew_changes_no_definition(
    files: Moving, entry: TableRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of buckets follows from it. Texts as keys are sorted in two ways, so both tables are in buckets."""
    for side, collation in ((files.source, "NOCASE"), (files.target, "BINARY")):
        side.execute(f"CREATE TABLE t (id TEXT COLLATE {collation} NOT NULL PRIMARY KEY, v INT)")
        side.executemany("INSERT INTO t VALUES (?, ?)", [(f"k{n}", n) for n in range(1, 300)])
    files.target.execute("UPDATE t SET v = 7 WHERE id = 'k9'")
    request = request_of(with_task(files, entry), Meaning.MOVED, recheck_times=0)

    def interrupted(progress: Progress) -> None:
        if progress.stage == "rows":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        api.run_verification(request, spark=files.spark, meta=files.meta, listener=interrupted)
    job = api.resumable_job("last", files.meta).id
    for module in (plan, transformed_plan):
        monkeypatch.setattr(module, "bucket_count", lambda rows: 512)
    result = api.run_verification(request, spark=files.spark, meta=files.meta, resume=job)
    assert found(result) == {"t": {("changed", ("k9",))}}
