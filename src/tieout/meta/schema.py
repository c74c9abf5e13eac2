"""The meta store's tables at the newest revision. A change here needs a revision in `migrations/`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Named,
    String,
    Table,
    TypedColumns,
)

from tieout.meta.columns import Bytes, JsonText, LongText, Moment

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""Every revision this program knows, oldest first (a test holds it to `migrations/versions`)."""

HEAD = REVISIONS[-1]

# utf8mb4_bin: ids and names compare exactly on MySQL too.
MYSQL: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}

metadata = MetaData()


class JobColumns(TypedColumns):
    id: Named[str] = Column(String(40), primary_key=True)
    kind: Named[str] = Column(String(20))
    task: Named[str | None] = Column(LongText)
    state: Named[str] = Column(String(20))
    verdict: Named[str | None] = Column(String(20))
    wanted: Named[str | None] = Column(String(20))
    request: Named[Any] = Column(JsonText, nullable=False)
    source: Named[str] = Column(LongText)
    target: Named[str | None] = Column(LongText)
    started_at: Named[datetime] = Column(Moment)
    updated_at: Named[datetime] = Column(Moment)
    finished_at: Named[datetime | None] = Column(Moment)
    heartbeat_at: Named[datetime] = Column(Moment)
    pid: Named[int | None] = Column(BigInteger)
    host: Named[str | None] = Column(LongText)
    owner: Named[str | None] = Column(String(100))
    error: Named[str | None] = Column(LongText)
    result: Named[Any] = Column(JsonText, nullable=True)


class JobTableColumns(TypedColumns):
    job_id: Named[str] = Column(String(40), ForeignKey("tieout_jobs.id", ondelete="CASCADE"), primary_key=True)
    ordinal: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    source_table: Named[str | None] = Column(LongText)
    target_table: Named[str | None] = Column(LongText)
    state: Named[str] = Column(String(20))
    plan: Named[Any] = Column(JsonText, nullable=True)
    seed: Named[str | None] = Column(LongText)
    result: Named[Any] = Column(JsonText, nullable=True)
    rows_done: Named[int] = Column(BigInteger)


class RangeColumns(TypedColumns):
    job_id: Named[str] = Column(String(40), primary_key=True)
    table_ordinal: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    side: Named[str] = Column(String(10), primary_key=True)
    ordinal: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    low: Named[Any] = Column(JsonText, nullable=True)
    high: Named[Any] = Column(JsonText, nullable=True)
    state: Named[str] = Column(String(20))
    source_digest: Named[str | None] = Column(String(64))
    target_digest: Named[str | None] = Column(String(64))
    buckets: Named[bytes | None] = Column(Bytes)
    row_count: Named[int] = Column(BigInteger)
    seconds: Named[float] = Column(Double)
    missing: Named[int | None] = Column(BigInteger)
    extra: Named[int | None] = Column(BigInteger)
    changed: Named[int | None] = Column(BigInteger)


class DifferenceColumns(TypedColumns):
    """`sequence` counts from 0 within a range, so that the primary key is the order of listing."""

    job_id: Named[str] = Column(String(40), primary_key=True)
    table_ordinal: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    side: Named[str] = Column(String(10), primary_key=True)
    range_ordinal: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    sequence: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    table_name: Named[str] = Column(LongText)
    kind: Named[str] = Column(String(20))
    key_values: Named[Any] = Column(JsonText, nullable=False)
    column_values: Named[Any] = Column(JsonText, nullable=False)
    copies: Named[int] = Column(BigInteger)


class RepairColumns(TypedColumns):
    id: Named[str] = Column(String(40), primary_key=True)
    job_id: Named[str] = Column(String(40), ForeignKey("tieout_jobs.id"))
    table_name: Named[str | None] = Column(LongText)
    state: Named[str] = Column(String(20))
    created_at: Named[datetime] = Column(Moment)
    updated_at: Named[datetime] = Column(Moment)
    error: Named[str | None] = Column(LongText)


class RepairChangeColumns(TypedColumns):
    repair_id: Named[str] = Column(String(40), ForeignKey("tieout_repairs.id", ondelete="CASCADE"), primary_key=True)
    sequence: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    table_name: Named[str] = Column(LongText)
    action: Named[str] = Column(String(20))
    key_values: Named[Any] = Column(JsonText, nullable=False)
    old_row: Named[Any] = Column(JsonText, nullable=True)
    new_row: Named[Any] = Column(JsonText, nullable=True)
    state: Named[str] = Column(String(20))
    message: Named[str | None] = Column(LongText)
    details: Named[Any] = Column(JsonText, nullable=True)


class MoveColumns(TypedColumns):
    task: Named[str] = Column(String(190), primary_key=True)
    kept_position: Named[str | None] = Column(LongText)
    status: Named[Any] = Column(JsonText, nullable=True)
    updated_at: Named[datetime] = Column(Moment)


class FailureColumns(TypedColumns):
    """`identity` is a hash of what it is and where: the same failure is one row, however often it is seen.

    `of_check` is one of the check that would see it again.
    """

    id: Named[str] = Column(String(40), primary_key=True)
    identity: Named[str] = Column(String(64), unique=True)
    of_check: Named[str] = Column(String(64), index=True)
    job_id: Named[str] = Column(String(40))
    endpoint: Named[str] = Column(LongText)
    kind: Named[str] = Column(String(40))
    found: Named[Any] = Column(JsonText, nullable=False)
    state: Named[str] = Column(String(20))
    note: Named[str | None] = Column(LongText)
    first_seen: Named[datetime] = Column(Moment)
    last_seen: Named[datetime] = Column(Moment)
    gone_since: Named[datetime | None] = Column(Moment)


class CheckUnitColumns(TypedColumns):
    job_id: Named[str] = Column(String(40), ForeignKey("tieout_jobs.id", ondelete="CASCADE"), primary_key=True)
    unit: Named[str] = Column(String(64), primary_key=True)
    table_name: Named[str] = Column(LongText)
    family: Named[str] = Column(String(20))
    rows_done: Named[int] = Column(BigInteger)
    state: Named[bytes | None] = Column(Bytes)
    results: Named[Any] = Column(JsonText, nullable=True)


class CheckedColumns(TypedColumns):
    """`identity` is a hash of endpoint, table and scope, which are too long for a key. `log` is the one that tells of
    it.
    """

    identity: Named[str] = Column(String(64), primary_key=True)
    endpoint: Named[str] = Column(LongText)
    table_name: Named[str] = Column(LongText)
    scope: Named[str] = Column(LongText)
    log: Named[str] = Column(String(40), index=True)
    position: Named[str | None] = Column(LongText)
    updated_at: Named[datetime] = Column(Moment)


jobs = Table("tieout_jobs", metadata, JobColumns, **MYSQL)
Index("tieout_jobs_started_at", jobs.c.started_at)

job_tables = Table("tieout_job_tables", metadata, JobTableColumns, **MYSQL)

ranges = Table(
    "tieout_ranges",
    metadata,
    RangeColumns,
    ForeignKeyConstraint(
        ["job_id", "table_ordinal"],
        ["tieout_job_tables.job_id", "tieout_job_tables.ordinal"],
        ondelete="CASCADE",
    ),
    **MYSQL,
)

differences = Table(
    "tieout_differences",
    metadata,
    DifferenceColumns,
    ForeignKeyConstraint(
        ["job_id", "table_ordinal", "side", "range_ordinal"],
        ["tieout_ranges.job_id", "tieout_ranges.table_ordinal", "tieout_ranges.side", "tieout_ranges.ordinal"],
        ondelete="CASCADE",
    ),
    **MYSQL,
)

repairs = Table("tieout_repairs", metadata, RepairColumns, **MYSQL)

repair_changes = Table("tieout_repair_changes", metadata, RepairChangeColumns, **MYSQL)

moves = Table("tieout_moves", metadata, MoveColumns, **MYSQL)

failures = Table("tieout_failures", metadata, FailureColumns, **MYSQL)

check_units = Table("tieout_check_units", metadata, CheckUnitColumns, **MYSQL)

checked = Table("tieout_checked", metadata, CheckedColumns, **MYSQL)


class RevisionColumns(TypedColumns):
    version_num: Named[str] = Column(String(32), primary_key=True)


VERSION_TABLE = "tieout_schema"
"""Alembic's table under a name of our own: a team's database may hold other programs' migrations."""

revision = Table(VERSION_TABLE, MetaData(), RevisionColumns, **MYSQL)
