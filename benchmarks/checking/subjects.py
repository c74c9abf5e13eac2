"""The table that is checked, with its indexes: one column, several, with NULLs, in both directions."""

from __future__ import annotations

from benchmarks.databases import TABLE, settle
from tests.servers.server import Database

INDEXES = {
    "by_qty": ("qty",),
    "by_changed": ("changed_at",),
    "by_status": ("status", "serial"),
    "by_serial": ("serial",),
    "by_price": ("price", "qty"),
    "by_name": ("name",),
}
"""By their order: the first, the first three, all six."""
COUNTS = (1, 3, 6)


def add_indexes(database: Database) -> None:
    for name, columns in INDEXES.items():
        database.execute(f"CREATE INDEX {name} ON {TABLE} ({', '.join(columns)})")
    settle(database)
