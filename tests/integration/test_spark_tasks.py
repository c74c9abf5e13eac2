"""Digests, splitting and row comparison are Spark tasks; the driver reads catalogs and no rows."""

import re
import time

from tieout import api
from tieout.model.results import Strategy, Verdict

ROWS = 5_000
TABLE = '"public"."t"'


def fill(database):
    database.execute("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
    database.execute(f"INSERT INTO t SELECT i, 'value ' || i FROM generate_series(1, {ROWS}) i")


def tasks_of(spark, group, at_least):
    """The tasks that were done, once Spark has told so many: it tells a moment after the job's end."""
    deadline = time.monotonic() + 30
    while (done := completed_tasks(spark, group)) < at_least and time.monotonic() < deadline:
        time.sleep(0.05)
    return done


def completed_tasks(spark, group):
    tracker = spark.sparkContext.statusTracker()
    stages = [s for job in tracker.getJobIdsForGroup(group) for s in tracker.getJobInfo(job).stageIds]
    infos = [info for stage in stages if (info := tracker.getStageInfo(stage))]
    return sum(info.numCompletedTasks for info in infos)


def verify_recorded(spark, source, target, tmp_path, strategy, tasks=4):
    group = f"{strategy} of {tmp_path}"
    spark.sparkContext.setJobGroup(group, group)
    with source.server.recording() as seen:
        result = api.verify(
            source.url,
            target.url,
            ["t"],
            spark=spark,
            meta=f"sqlite:///{tmp_path}/meta.db",
            strategy=strategy,
            chunk_rows=1000,
            recheck_times=0,
        )
    return result, tasks_of(spark, group, tasks), [s for s in seen if re.search(r"\bt\b", s.text) and TABLE in s.text]


def test_rows_are_read_by_executors_alone(pg_db, pg_db_b, spark, tmp_path):
    fill(pg_db)
    fill(pg_db_b)
    pg_db_b.execute("UPDATE t SET v = 'other' WHERE id = 4321")
    for strategy in (Strategy.PULL, Strategy.NATIVE):
        result, tasks, statements = verify_recorded(spark, pg_db, pg_db_b, tmp_path, strategy)
        assert result.verdict is Verdict.DIFFERENT
        assert [difference.key for difference in result.differences] == [{"id": "4321"}]
        # At least: walking the keys, a digest task for each side, a comparison.
        assert tasks >= 4
        assert {statement.application for statement in statements} == {"tieout executor"}
        assert len(statements) >= 2 * ROWS / 1000


def test_equal_tables_are_read_once(pg_db, pg_db_b, spark, tmp_path):
    fill(pg_db)
    fill(pg_db_b)
    result, tasks, statements = verify_recorded(spark, pg_db, pg_db_b, tmp_path, Strategy.PULL, tasks=3)
    assert result.verdict is Verdict.EQUAL
    assert tasks == 3
    reads = [s.text for s in statements if "LIMIT 1 OFFSET" not in s.text and s.text.lstrip().startswith("COPY")]
    # Five ranges of a thousand, and an open one at the end, on each side: each range once.
    assert len(reads) == len({(s.database, s.text) for s in statements if s.text in reads}) <= 12
    # Each of the two tasks has one connection to each side, for all its ranges.
    for database in (pg_db.name, pg_db_b.name):
        readers = [s for s in statements if s.database == database and s.text in reads]
        assert len({s.connection for s in readers}) <= 2 < len(readers)
