"""What CHECK TABLE says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.corruption.mariadb.session import quoted

if TYPE_CHECKING:
    from tests.servers.server import Database


def own_checker(database: Database, table: str) -> tuple[str, ...]:
    """The complaints of CHECK TABLE … EXTENDED; none if it finds nothing.

    What it complains of it marks as corrupted: no statement reads that index, or that table, after it.
    """
    said = database.rows(f"CHECK TABLE {quoted(table)} EXTENDED")
    return tuple(text for *_, kind, text in said if (kind, text) != ("status", "OK"))
