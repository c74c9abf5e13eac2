"""A verification that is killed goes on where it was, and what it had read it does not read again."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tieout import api
from tieout.meta import RangeState, open_store
from tieout.model.requests import TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy, Verdict

ROWS = 20_000
CHUNK = 500
KILLED = """
import sys
from tieout import api
from tieout.model.requests import TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy
options = VerifyOptions(
    strategy=Strategy.PULL, chunk_rows=int(sys.argv[4]), max_rows_per_second=4000, recheck_times=0
)
request = VerifyRequest(sys.argv[1], sys.argv[2], (TableRequest("t"),), options)
api.run_verification(request, spark=api.SparkSettings("local[2]"), meta=sys.argv[3])
"""


@pytest.fixture
def pair(pg_db, pg_db_b):
    for database in (pg_db, pg_db_b):
        database.execute("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
        database.execute(f"INSERT INTO t SELECT i * 3, 'value ' || i FROM generate_series(1, {ROWS}) i")
    pg_db_b.execute("UPDATE t SET v = 'other' WHERE id = 300")
    pg_db_b.execute("DELETE FROM t WHERE id = 30000")
    pg_db_b.execute("INSERT INTO t VALUES (59999, 'extra')")
    return pg_db, pg_db_b


def finished(meta, job_id):
    with open_store(meta) as store:
        return [r for r in store.ranges.load(job_id, 0) if r.state is not RangeState.PLANNED]


def until_half_way(process, meta):
    """The job and its finished ranges, once there are some; the process still runs."""
    deadline = time.monotonic() + 150
    while time.monotonic() < deadline:
        assert process.poll() is None, "it ended before it was killed"
        with open_store(meta) as store:
            jobs = store.jobs.list()
        if jobs and len(done := finished(meta, jobs[0].id)) >= 8:
            return jobs[0].id, done
        time.sleep(0.1)
    raise AssertionError("it never got half-way")


@pytest.mark.timeout(300)
def test_a_killed_verification_is_resumed_without_reading_again(pair, spark, tmp_path):
    source, target = pair
    meta = f"sqlite:///{tmp_path}/meta.db"
    command = [sys.executable, "-c", KILLED, source.url, target.url, meta, str(CHUNK)]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        job_id, done = until_half_way(process, meta)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = finished(meta, job_id)
    assert len(done) < ROWS / CHUNK, "nothing was left to do"

    options = VerifyOptions(strategy=Strategy.PULL, chunk_rows=CHUNK, recheck_times=0)
    request = VerifyRequest(source.url, target.url, (TableRequest("t"),), options)
    with source.server.recording() as seen:
        result = api.run_verification(request, spark=spark, meta=meta, resume=job_id)

    assert result.job == job_id
    assert result.verdict is Verdict.DIFFERENT
    assert (result.tables[0].rows.source, result.tables[0].rows.target) == (ROWS, ROWS)
    found = {(d.kind.value, d.key["id"]) for d in result.differences}
    assert found == {("changed", "300"), ("missing", "30000"), ("extra", "59999")}

    fresh = api.run_verification(request, spark=spark, meta=meta)
    assert fresh.tables[0].differences == result.tables[0].differences
    assert set(map(str, fresh.differences)) == set(map(str, result.differences))

    digested = digested_ranges(seen)
    assert digested, "the recording saw no range at all"
    equal = {bounds(each.keys) for each in done if each.state is RangeState.DONE}
    assert equal
    assert not equal & digested


def bounds(keys):
    return (keys.low[0] if keys.low else None, keys.high[0] if keys.high else None)


def digested_ranges(statements):
    """The ranges of `id` that were read whole, from the text of the statements."""
    found = set()
    for statement in statements:
        if re.search(r"FROM \"public\".\"t\"", statement.text) and "LIMIT 1 OFFSET" not in statement.text:
            low = re.search(r"\"id\" >= (-?\d+)", statement.text)
            high = re.search(r"\"id\" < (-?\d+)", statement.text)
            found.add((low and low[1], high and high[1]))
    return found
