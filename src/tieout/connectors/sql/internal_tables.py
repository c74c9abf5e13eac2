"""The tables that Tieout keeps in users' databases: a mover's, as long as its tasks live, and what repairs removed."""

from __future__ import annotations

from tieout.model.tables import TableName

PREFIX = "tieout_"
STAGE = f"{PREFIX}stage_"
PROGRESS = ("last_rows", "chunks", "columns", "stopped", "tables", "versions", "progress", "fence")
VERSION = "version"
"""Of the tables that progress is kept in."""
CAPTURE = ("changes", "shapes", "readers", "wanted", "replaced", "seen", "log")
QUARANTINE = f"{PREFIX}quarantine"

_NAMES = {QUARANTINE, *(f"{PREFIX}{name}" for name in (*PROGRESS, VERSION, *CAPTURE))}


def is_own(table: TableName) -> bool:
    """Whether it is one of them, and so no part of what users compare."""
    return table.name in _NAMES or table.name.startswith(STAGE)
