"""Alembic revisions of the meta store, run by `tieout.meta.store`."""
