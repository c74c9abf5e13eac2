"""Up to where in its log a table was checked, and for what."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from tieout.meta.columns import LongText, Moment

revision = "0006"
down_revision = "0005"

OPTIONS: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}


def upgrade() -> None:
    op.create_table(
        "tieout_checked",
        sa.Column("identity", sa.String(64), primary_key=True),
        sa.Column("endpoint", LongText, nullable=False),
        sa.Column("table_name", LongText, nullable=False),
        sa.Column("scope", LongText, nullable=False),
        sa.Column("log", sa.String(40), nullable=False, index=True),
        sa.Column("position", LongText),
        sa.Column("updated_at", Moment, nullable=False),
        **OPTIONS,
    )
