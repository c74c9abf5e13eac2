"""Runs the statements that make tables on a MySQL server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.move.session import MODE, MySQLSession
from tieout.connectors.sql.ddl import spelled
from tieout.model.tables import TableName

# Whatever the sql_mode is, SHOW CREATE TABLE writes a backslash for a backslash, and two of them are one.
_MODE = ",".join(mode for mode in MODE.split(",") if mode != "NO_BACKSLASH_ESCAPES")


def build(url: EndpointUrl, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
    """In literals a backslash stands for itself only if it is doubled."""
    with closing(MySQLSession(url)) as session:
        session.execute(f"SET SESSION sql_mode = {quoting.text(_MODE)}")
        for statement in statements:
            session.execute(spelled(session, statement, table, parent))
