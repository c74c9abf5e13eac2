"""CHECK TABLE, the server's own checker. In each of its forms, it marks what it finds as corrupted.

Afterwards no statement reads that index, or that table. That is a write, so Tieout runs it only on request.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.connection import connect
from tieout.connectors.mysql.errors import translated
from tieout.connectors.protocols.paths import EngineCheck, EngineFinding

_NAME = "CHECK TABLE"
MARKS = "the engine's own CHECK TABLE was not run, since it marks what it finds as corrupted"
_INDEX = re.compile(r"(?:[Ii]ndex|[Kk]ey)(?: of)? (?:`([^`]+)`|'([^']+)'|(\w+) is corrupted)")
_LOCK_SECONDS = 5


def check_table(url: EndpointUrl, table: str, seconds: float) -> EngineCheck:
    """Runs it on a table, by its quoted name. Findings omit the final verdict, unless it is all there is."""
    statement = f"CHECK TABLE {table} EXTENDED"
    writing = replace(url, read_only=False)
    settings = f"lock_wait_timeout = {_LOCK_SECONDS} /*M!100100 , max_statement_time = {seconds:.3f} */"
    with translated(url), connect(writing, settings=settings) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        messages = [(str(row[2]).lower(), str(row[3])) for row in cursor.fetchall()]
    findings = [text for kind, text in messages if (kind, text) not in (("status", "OK"), ("error", "Corrupt"))]
    notes = [text for text in findings if "doesn't support" in text or "interrupted" in text]
    if notes:
        return EngineCheck(_NAME, statement, unchecked="; ".join(notes))
    if not findings and messages != [("status", "OK")]:
        findings = [text for _, text in messages]
    return EngineCheck(_NAME, statement, tuple(EngineFinding(text, _index(text)) for text in findings))


def _index(message: str) -> str | None:
    found = _INDEX.search(message)
    return next((name for name in found.groups() if name), None) if found else None
