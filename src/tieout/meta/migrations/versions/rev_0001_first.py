"""The first tables: jobs, their tables, ranges and differences, repairs and their changes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from tieout.meta.columns import Bytes, JsonText, LongText, Moment

revision = "0001"
down_revision = None

OPTIONS: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}


def upgrade() -> None:
    jobs()
    ranges_and_differences()
    repairs()


def jobs() -> None:
    op.create_table(
        "tieout_jobs",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("task", LongText),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("verdict", sa.String(20)),
        sa.Column("wanted", sa.String(20)),
        sa.Column("request", JsonText, nullable=False),
        sa.Column("source", LongText, nullable=False),
        sa.Column("target", LongText),
        sa.Column("started_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sa.Column("finished_at", Moment),
        sa.Column("heartbeat_at", Moment, nullable=False),
        sa.Column("pid", sa.BigInteger),
        sa.Column("host", LongText),
        sa.Column("owner", sa.String(100)),
        sa.Column("error", LongText),
        sa.Column("result", JsonText),
        **OPTIONS,
    )
    op.create_index("tieout_jobs_started_at", "tieout_jobs", ["started_at"])
    op.create_table(
        "tieout_job_tables",
        sa.Column("job_id", sa.String(40), sa.ForeignKey("tieout_jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("source_table", LongText),
        sa.Column("target_table", LongText),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("plan", JsonText),
        sa.Column("seed", LongText),
        sa.Column("result", JsonText),
        sa.Column("rows_done", sa.BigInteger, nullable=False),
        **OPTIONS,
    )


def ranges_and_differences() -> None:
    op.create_table(
        "tieout_ranges",
        sa.Column("job_id", sa.String(40), primary_key=True),
        sa.Column("table_ordinal", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("side", sa.String(10), primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("low", JsonText),
        sa.Column("high", JsonText),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("source_digest", sa.String(64)),
        sa.Column("target_digest", sa.String(64)),
        sa.Column("buckets", Bytes),
        sa.Column("row_count", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("missing", sa.BigInteger),
        sa.Column("extra", sa.BigInteger),
        sa.Column("changed", sa.BigInteger),
        sa.ForeignKeyConstraint(
            ["job_id", "table_ordinal"],
            ["tieout_job_tables.job_id", "tieout_job_tables.ordinal"],
            ondelete="CASCADE",
        ),
        **OPTIONS,
    )
    op.create_table(
        "tieout_differences",
        sa.Column("job_id", sa.String(40), primary_key=True),
        sa.Column("table_ordinal", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("side", sa.String(10), primary_key=True),
        sa.Column("range_ordinal", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("table_name", LongText, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("key_values", JsonText, nullable=False),
        sa.Column("column_values", JsonText, nullable=False),
        sa.Column("copies", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id", "table_ordinal", "side", "range_ordinal"],
            ["tieout_ranges.job_id", "tieout_ranges.table_ordinal", "tieout_ranges.side", "tieout_ranges.ordinal"],
            ondelete="CASCADE",
        ),
        **OPTIONS,
    )


def repairs() -> None:
    op.create_table(
        "tieout_repairs",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("job_id", sa.String(40), sa.ForeignKey("tieout_jobs.id"), nullable=False),
        sa.Column("table_name", LongText),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sa.Column("error", LongText),
        **OPTIONS,
    )
    op.create_table(
        "tieout_repair_changes",
        sa.Column("repair_id", sa.String(40), sa.ForeignKey("tieout_repairs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("table_name", LongText, nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("key_values", JsonText, nullable=False),
        sa.Column("old_row", JsonText),
        sa.Column("new_row", JsonText),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("message", LongText),
        **OPTIONS,
    )
