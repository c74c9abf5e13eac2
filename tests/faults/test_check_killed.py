"""A check that is killed goes on where it was, and what it had read it does not read again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption import postgres as faults
from tieout import api
from tieout.meta import open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

KILLED = """
import sys
from tieout import api
from tieout.checks.indexes import digest_stage
digest_stage._PIECES_PER_SLOT = 1
api.check(sys.argv[1], "INSPECT TABLE t", spark=api.SparkSettings("local[2]"), meta=sys.argv[2], pause=5.0)
"""


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_a_killed_check_is_resumed_without_reading_again(pg_db: Database, spark: SparkSession, tmp_path: Path) -> None:
    for statement in (
        "CREATE EXTENSION pageinspect",
        "CREATE EXTENSION amcheck",
        "CREATE TABLE t (id int PRIMARY KEY, a int, b int)",
        "INSERT INTO t SELECT n, n, n FROM generate_series(1, 5000) n",
        "CREATE INDEX by_a ON t (a)",
        "CREATE INDEX by_b ON t (b)",
    ):
        pg_db.execute(statement)
    faults.missing_entry(pg_db, "t", "by_b", "id = 77")
    meta = f"sqlite:///{tmp_path}/meta.db"
    process = subprocess.Popen([sys.executable, "-c", KILLED, pg_db.url, meta], start_new_session=True)
    try:
        job = _until_half_way(process, meta)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with pg_db.server.recording() as asked:
        report = api.resume_check(job, pg_db.url, spark=spark, meta=meta)
    assert [(f.kind.value, f.index, dict(f.primary_key or {})) for f in report.failures] == [
        ("missing_index_entry", "by_b", {"id": "77"})
    ]
    assert {check.rows for check in report.checks} == {5000}
    scans = [statement.text for statement in asked if 'FROM ONLY "public"."t"' in statement.text]
    digested = [text for text in scans if "EXPLAIN" not in text and '"id" AS' not in text]
    assert digested == []  # of the table: what differs is read with its key


def _until_half_way(process: subprocess.Popen[bytes], meta: str) -> str:
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        assert process.poll() is None, "it ended before it was killed"
        with open_store(meta) as store:
            for job in store.jobs.list():
                kept = store.check_units.get(job.id, ("public", "t"), "index")
                if kept is not None and kept.state is not None:
                    return job.id
        time.sleep(0.05)
    raise AssertionError("it never got half-way")
