"""integrity_check: SQLite's own checker, on a connection that only reads."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.paths import EngineCheck, EngineFinding
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import error_name, translated
from tieout.model.server_words import told
from tieout.model.tables import TableName

_NAME = "integrity_check"
_STEPS = 100_000
"""Instructions of SQLite's virtual machine between two looks at the clock."""
_MOST = 100
"""SQLite stops after this many findings."""
_INDEX = re.compile(r"(?:index|missing from index) (.+?)(?:$| at )")
_ROW = re.compile(r"^row (-?\d+) ")
_COLUMN = re.compile(r" (?:value|non-\w+ value) in [^.]+\.(.+)$")


def integrity_check(url: EndpointUrl, table: TableName, seconds: float) -> EngineCheck:
    """Checks the table and its indexes."""
    statement = f"PRAGMA main.integrity_check({SQLiteDialect().quote(table.name)})"
    until = time.monotonic() + seconds
    with translated(url), closing(connect(url)) as connection:
        connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        try:
            said = [str(text) for (text,) in connection.execute(statement)]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            return EngineCheck(_NAME, statement, unchecked=f"it had not finished after {seconds:g} s")
        except sqlite3.DatabaseError as error:
            return EngineCheck(_NAME, statement, (EngineFinding(told(str(error), error_name(error))),))
    findings = tuple(_finding(text) for text in said if text != "ok")
    cut = f"it stops at {_MOST} findings" if len(said) >= _MOST else None
    return EngineCheck(_NAME, statement, findings, cut)


def _finding(text: str) -> EngineFinding:
    index, row, column = (
        found[1] if found else None for found in (_INDEX.search(text), _ROW.match(text), _COLUMN.search(text))
    )
    return EngineFinding(text, index, column, f"row {row}" if row else None)
