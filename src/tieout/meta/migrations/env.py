"""Alembic's entry: runs revisions on the connection that `tieout.meta.store` hands over."""

from __future__ import annotations

from alembic import context

from tieout.meta.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    version_table_schema=context.config.attributes.get("home"),
    render_as_batch=True,  # SQLite alters a table by making it anew
)
with context.begin_transaction():
    context.run_migrations()
