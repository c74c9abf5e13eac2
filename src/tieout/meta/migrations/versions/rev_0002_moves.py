"""What is known of tasks that move data."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from tieout.meta.columns import JsonText, LongText, Moment

revision = "0002"
down_revision = "0001"

OPTIONS: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}


def upgrade() -> None:
    op.create_table(
        "tieout_moves",
        sa.Column("task", sa.String(190), primary_key=True),
        sa.Column("kept_position", LongText),
        sa.Column("status", JsonText),
        sa.Column("updated_at", Moment, nullable=False),
        **OPTIONS,
    )
