"""What SQLite's pragmas say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers.sqlite import SqliteDatabase


def own_checker(database: SqliteDatabase, table: str) -> tuple[str, ...]:
    """The complaints of integrity_check and foreign_key_check about the table; none if they find nothing."""
    checked = [text for (text,) in database.rows(f'PRAGMA integrity_check("{table}")')]
    orphans = database.rows(f'PRAGMA foreign_key_check("{table}")')
    said = [] if checked == ["ok"] else checked
    return (*said, *(f"row {row} of {child} refers to no row of {parent}" for child, row, parent, _ in orphans))
