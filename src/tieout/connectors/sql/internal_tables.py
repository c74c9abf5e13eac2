"""The tables that Tieout keeps in users' databases: a mover's, while its tasks exist, and what repairs removed."""

from __future__ import annotations

from tieout.model.tables import TableName

PREFIX = "tieout_"
STAGE = f"{PREFIX}stage_"
PROGRESS = (
    *("last_rows", "chunks", "columns", "stopped", "tables", "versions", "lanes", "restarts", "not_found"),
    *("progress", "fence"),
)
TABLE_VERSIONS = f"{PREFIX}table_versions"
"""The view of them that the target's users read."""
VERSION = "version"
"""The table that holds the version of the progress tables."""
CAPTURE = ("changes", "shapes", "readers", "wanted", "replaced", "seen", "log")
QUARANTINE = f"{PREFIX}quarantine"

_NAMES = {QUARANTINE, TABLE_VERSIONS, *(f"{PREFIX}{name}" for name in (*PROGRESS, VERSION, *CAPTURE))}


def is_own(table: TableName) -> bool:
    """True for Tieout's own tables, which users do not compare."""
    return table.name in _NAMES or table.name.startswith(STAGE)
