"""The view that shows users of a target how current its tables are: `tieout_table_versions`.

A report can read it in the transaction that reads the tables, and say "as of".
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tieout.connectors.sql.internal_tables import PREFIX, TABLE_VERSIONS
from tieout.connectors.sql.session import SqlSession
from tieout.errors import AccessError, EndpointError
from tieout.model.moves import JOINING
from tieout.model.tables import TableName


def create_view(session: SqlSession, schema: str, instant: Callable[[str], str], grants: str = "") -> None:
    """Creates the view if it is missing and this user may. `instant` turns SQL for microseconds since 1970 into a time.

    `grants` are statements that let others read it, with {view} for its name.
    """
    view = session.table(TableName(schema, TABLE_VERSIONS))
    if _exists(session, view):
        return
    with suppress(AccessError):  # preflight says so
        session.execute(f"CREATE VIEW {view} AS {_query(session, schema, instant)}")
        if grants:
            session.execute(grants.format(view=view))


def drop_view(session: SqlSession, schema: str) -> bool:
    """Returns whether the view is gone. PostgreSQL keeps it while a view of somebody else reads it."""
    try:
        session.execute(f"DROP VIEW IF EXISTS {session.table(TableName(schema, TABLE_VERSIONS))}")
    except EndpointError as error:
        if error.transient:
            raise
        return False
    return True


def _exists(session: SqlSession, view: str) -> bool:
    try:
        session.rows(f"SELECT task FROM {view} WHERE 1 = 0")
    except EndpointError as error:
        if error.transient:
            raise
        return False
    return True


def _query(session: SqlSession, schema: str, instant: Callable[[str], str]) -> str:
    """Lanes count only while they are ahead of the task: their batch has a higher number than its last one.

    A batch whose end is stored may have been merged before its position is (at-least-once). Tables that join a task are
    of a task of their own until then, and hold it back, too.
    """

    def table(name: str) -> str:
        return session.table(TableName(schema, f"{PREFIX}{name}"))

    follows = "s.reason IS NULL AND c.follows = 1"

    def at(column: str) -> str:
        return f"CASE WHEN {follows} THEN CASE WHEN l.batch > p.batch THEN l.{column} ELSE p.{column} END END"

    behind = (
        f"SELECT 1 FROM {table('columns')} o WHERE REPLACE(o.task, '{JOINING}', '') = c.task "
        "AND o.follows = 0 AND NOT EXISTS "
        f"(SELECT 1 FROM {table('stopped')} t WHERE t.task = o.task AND t.source_table = o.source_table)"
    )
    ahead = f"SELECT 1 FROM {table('lanes')} a WHERE a.task = c.task AND a.batch > p.batch"
    return (
        "SELECT c.task AS task, c.source_table AS source_table, c.target_table AS target_table, "
        "CASE WHEN s.reason IS NOT NULL THEN 'stopped' "
        "WHEN c.follows = 1 THEN 'following' ELSE 'copying' END AS state, "
        f"{at('shown')} AS log_position, {instant(at('committed'))} AS as_of, "
        f"v.transaction_id AS changed_by, {instant('v.committed')} AS changed_at, "
        f"CASE WHEN {follows} AND p.inexact = 0 AND p.batch_end IS NULL "
        f"AND NOT EXISTS ({behind}) AND NOT EXISTS ({ahead}) THEN 1 ELSE 0 END AS consistent "
        f"FROM {table('columns')} c JOIN {table('progress')} p ON p.task = c.task "
        f"LEFT JOIN {table('stopped')} s ON s.task = c.task AND s.source_table = c.source_table "
        f"LEFT JOIN {table('lanes')} l ON l.task = c.task AND l.lane = c.target_table "
        f"LEFT JOIN {table('versions')} v ON v.task = c.task AND v.target_table = c.target_table"
    )
