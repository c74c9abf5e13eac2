"""Creates the tables that hold progress, and upgrades those of an older version."""

from __future__ import annotations

from collections.abc import Collection

from tieout.connectors.sql.internal_tables import PREFIX, VERSION
from tieout.connectors.sql.progress import ProgressTables
from tieout.errors import EndpointError, UnsupportedError

LAYOUT = 4
"""The version of the tables. 1: positions did not name their log, and the end of a batch was not stored.

2: what was applied last was not stored. 3: there were no lanes, no view of the tables' positions, no types of the
source's columns, and no definitions of what transforms a table.
"""
_ADDED = {
    "progress": {
        "batch_end": "{long_text}",
        "shown": "{long_text}",
        "committed": "BIGINT",
        "batch": "BIGINT NOT NULL DEFAULT 0",
        "inexact": "INT NOT NULL DEFAULT 0",
    },
    "columns": {
        "target_table": "{long_text}",
        "follows": "INT NOT NULL DEFAULT 0",
        "types": "{long_text}",
        "definition": "{long_text}",
    },
}
"""Columns that tables of an older version may lack."""


def create_tables(progress: ProgressTables, text: str, long_text: str, there: Collection[str]) -> None:
    """Creates the tables that are missing, and upgrades those of an older version. UnsupportedError if they are of a
    newer one.

    `text` is a type for names, `long_text` one for anything longer; `there` are the tables that exist.
    """
    version = _layout(progress, there)
    if version == LAYOUT:
        return
    name = f"task {text} NOT NULL"
    for table, columns in (
        ("fence", f"{name}, epoch BIGINT NOT NULL, owner {long_text} NOT NULL, PRIMARY KEY (task)"),
        (
            "progress",
            f"{name}, heard BIGINT NOT NULL, began {long_text}, applied {long_text}, batch_end {long_text}, "
            f"shown {long_text}, committed BIGINT, batch BIGINT NOT NULL DEFAULT 0, "
            "inexact INT NOT NULL DEFAULT 0, PRIMARY KEY (task)",
        ),
        ("restarts", f"{name}, source_table {text} NOT NULL, PRIMARY KEY (task, source_table)"),
        (
            "lanes",
            f"{name}, lane {text} NOT NULL, target_tables {long_text} NOT NULL, share INT, shares INT NOT NULL, "
            f"applied {long_text} NOT NULL, shown {long_text} NOT NULL, committed BIGINT, batch BIGINT NOT NULL, "
            "PRIMARY KEY (task, lane)",
        ),
        (
            "versions",
            f"{name}, target_table {text} NOT NULL, transaction_id {long_text} NOT NULL, "
            "committed BIGINT NOT NULL, PRIMARY KEY (task, target_table)",
        ),
        (
            "tables",
            f"{name}, source_table {text} NOT NULL, target_table {long_text} NOT NULL, step INT NOT NULL, "
            "PRIMARY KEY (task, source_table)",
        ),
        (
            "stopped",
            f"{name}, source_table {text} NOT NULL, reason {long_text} NOT NULL, PRIMARY KEY (task, source_table)",
        ),
        (
            "columns",
            f"{name}, source_table {text} NOT NULL, planned {long_text} NOT NULL, target_table {long_text}, "
            f"follows INT NOT NULL DEFAULT 0, types {long_text}, definition {long_text}, "
            "PRIMARY KEY (task, source_table)",
        ),
        (
            "chunks",
            f"{name}, source_table {text} NOT NULL, ordinal INT NOT NULL, low_key {long_text}, "
            f"high_key {long_text}, held {long_text}, snapshot {long_text}, row_count BIGINT NOT NULL, "
            "PRIMARY KEY (task, source_table, ordinal)",
        ),
        (
            "last_rows",
            f"{name}, target_table {text} NOT NULL, made {long_text} NOT NULL, applied {long_text}, "
            "PRIMARY KEY (task, target_table)",
        ),
        (
            "not_found",
            f"{name}, target_table {text} NOT NULL, kind {text}, row_key {long_text}, "
            f"log_position {long_text} NOT NULL, row_count BIGINT NOT NULL",
        ),
        (VERSION, "version INT NOT NULL"),
    ):
        progress.session.execute(f"CREATE TABLE IF NOT EXISTS {progress.table(table)} ({columns})")
    for table, added in _ADDED.items() if version is not None else ():
        for column, kind in added.items():
            if not _has_column(progress, table, column):
                line = f"ADD COLUMN {column} {kind.format(long_text=long_text)}"
                progress.session.execute(f"ALTER TABLE {progress.table(table)} {line}")
    progress.session.execute(f"DELETE FROM {progress.table(VERSION)}")
    progress.session.execute(f"INSERT INTO {progress.table(VERSION)} (version) VALUES ({LAYOUT:d})")


def _layout(progress: ProgressTables, there: Collection[str]) -> int | None:
    """The version of the tables that exist."""
    if f"{PREFIX}progress" not in there:
        return None
    if f"{PREFIX}{VERSION}" not in there:
        return 1
    found = progress.session.rows(f"SELECT version FROM {progress.table(VERSION)}")
    version = int(found[0][0]) if found else 1
    if version > LAYOUT:
        raise UnsupportedError(
            f"{progress.table('progress')} was written by a newer version of Tieout (layout {version})",
            "use that version",
        )
    return version


def _has_column(progress: ProgressTables, table: str, column: str) -> bool:
    """True if the table was created by this version, or an interrupted upgrade has added the column already."""
    try:
        progress.session.rows(f"SELECT {column} FROM {progress.table(table)} WHERE 1 = 0")
    except EndpointError as error:
        if error.transient:
            raise
        return False
    return True
