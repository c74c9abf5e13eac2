"""Repairs of what a check found: a change may be of an index or a sequence, not only of a row."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

from tieout.meta.columns import JsonText

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    home = context.config.attributes.get("home")
    op.add_column("tieout_repair_changes", sa.Column("details", JsonText), schema=home)
