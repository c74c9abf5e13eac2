"""What checks found, over time."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from tieout.meta.columns import JsonText, LongText, Moment

revision = "0003"
down_revision = "0002"

OPTIONS: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}


def upgrade() -> None:
    op.create_table(
        "tieout_failures",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("identity", sa.String(64), nullable=False, unique=True),
        sa.Column("of_check", sa.String(64), nullable=False, index=True),
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("endpoint", LongText, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("found", JsonText, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("note", LongText),
        sa.Column("first_seen", Moment, nullable=False),
        sa.Column("last_seen", Moment, nullable=False),
        sa.Column("gone_since", Moment),
        **OPTIONS,
    )
