"""A query parsed by the server without running it: libpq's PQprepare and PQdescribePrepared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class NotCompiled:
    """The server's objection to a query: its message and its SQLSTATE."""

    text: str
    state: str | None


def described(connection: Any, query: str) -> list[tuple[str, int]] | NotCompiled:
    """The names and the types (OIDs) of the columns that a query would have. The server looks up all names in it."""
    from psycopg.pq import DiagnosticField, ExecStatus

    server = connection.pgconn
    for result in (server.prepare(b"", query.encode()), server.describe_prepared(b"")):
        if result.status != ExecStatus.COMMAND_OK:
            state = result.error_field(DiagnosticField.SQLSTATE)
            return NotCompiled(result.error_message.decode("utf-8", "replace"), state.decode() if state else None)
    return [(result.fname(n).decode(), result.ftype(n)) for n in range(result.nfields)]
