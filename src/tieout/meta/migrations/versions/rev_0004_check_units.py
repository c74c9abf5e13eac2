"""What of a check is done: by table and family."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from tieout.meta.columns import Bytes, JsonText, LongText

revision = "0004"
down_revision = "0003"

OPTIONS: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}


def upgrade() -> None:
    op.create_table(
        "tieout_check_units",
        sa.Column("job_id", sa.String(40), sa.ForeignKey("tieout_jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("unit", sa.String(64), primary_key=True),
        sa.Column("table_name", LongText, nullable=False),
        sa.Column("family", sa.String(20), nullable=False),
        sa.Column("rows_done", sa.BigInteger, nullable=False),
        sa.Column("state", Bytes),
        sa.Column("results", JsonText),
        **OPTIONS,
    )
