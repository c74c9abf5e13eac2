"""Connections to MySQL servers, all with the same session settings, which are known to be in force."""

from __future__ import annotations

import re
from math import ceil
from typing import Any

from tieout.config.urls import DEFAULT_PORTS, EndpointUrl
from tieout.connectors.mysql.protocol.login import log_in
from tieout.errors import AccessError
from tieout.model.defaults import CONNECT_SECONDS

ALL_ROWS = "18446744073709551615"
"""The sql_select_limit that limits nothing."""

SETTINGS = (
    "time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES', "
    # If an administrator has set these for the server or the user, sessions would silently read fewer rows, or rows of
    # another day.
    f"sql_select_limit = {ALL_ROWS}, max_join_size = {ALL_ROWS}, sql_big_selects = 1 "
    "/*M!100304 , system_versioning_asof = DEFAULT */"
)
"""Settings that a user's SQL and our literals may depend on."""

PATIENT = "net_read_timeout = 86400, net_write_timeout = 86400"
"""For a mover, which pauses in the middle of a statement when it is throttled: servers hang up after 30 s or 60."""

AT_ONE_MOMENT = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
"""Under the server's own level, such as READ COMMITTED, each statement would silently see another moment."""

_INIT = (
    f"SET SESSION {SETTINGS}, character_set_results = 'utf8mb4', sql_quote_show_create = 1, "
    # A COMMIT only ends a transaction: it neither ends the session nor starts another transaction.
    "completion_type = 0, sql_safe_updates = 0 /*M!100502 , sql_if_exists = 0 */"
)
_LOCK_SECONDS = 30


def connect(url: EndpointUrl, *, client_flag: int = 0, settings: str | None = None) -> Any:
    """A pymysql connection in autocommit mode, in UTC, with further `settings` of the session.

    AccessError if the settings are not in force.
    """
    from tieout.connectors.mysql.protocol.connections import NamesCursor

    statement = ", ".join(filter(None, [_INIT, _guards(url), settings]))
    connection = log_in(
        url,
        host=url.host or "localhost",
        port=url.port or DEFAULT_PORTS["mysql"],
        user=url.user or "",
        password=url.password or "",
        database=url.database,
        unix_socket=url.params.get("socket"),
        charset="utf8mb4",
        autocommit=True,
        cursorclass=NamesCursor,
        init_command=statement,
        connect_timeout=max(1, ceil(url.connect_timeout or CONNECT_SECONDS)),
        read_timeout=url.read_timeout,
        client_flag=client_flag,
    )
    try:
        check_settings(url, connection, statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _guards(url: EndpointUrl) -> str:
    """Settings that keep a session out of others' way. Each server reads its own comments, and skips the other's."""
    guards = f"lock_wait_timeout = {ceil(url.lock_timeout or _LOCK_SECONDS)}"
    if url.statement_timeout is not None:
        guards += f" /*M!100100 , max_statement_time = {url.statement_timeout:f} */"
        guards += f" /*!80000 , max_execution_time = {ceil(url.statement_timeout * 1000)} */"
    if url.read_only:
        guards += " /*M!100100 , tx_read_only = 1 */ /*!80000 , transaction_read_only = 1 */"
    return guards


_COMMENT = re.compile(r"/\*.*?\*/")
_SETTING = re.compile(r"(\w+) = ('[^']*'|[\w.]+)")
_CHECKED = ("time_zone", "sql_mode", "lock_wait_timeout", "character_set_results", "sql_select_limit")
# Each server reads its own comments.
_READ_ONLY = " /*M!100100 , @@SESSION.tx_read_only */ /*!80000 , @@SESSION.transaction_read_only */"
_QUERY = f"SELECT {', '.join(f'@@SESSION.{name}' for name in _CHECKED)}{_READ_ONLY}"


def check_settings(url: EndpointUrl, connection: Any, statement: str) -> None:
    """Raises AccessError unless the session has the settings of this statement: a proxy may have dropped it.

    If the statement sets something twice, the last value counts.
    """
    wanted = {name: value.strip("'") for name, value in _SETTING.findall(_COMMENT.sub("", statement))}
    with connection.cursor() as cursor:
        cursor.execute(_QUERY)
        found = [str(value) for value in cursor.fetchone()]
    lacking = [
        f"{name} = {wanted[name]!r}"
        for name, value in zip(_CHECKED, found, strict=False)
        if not set(wanted[name].split(",")) <= set(value.split(","))
    ]
    if url.read_only and found[len(_CHECKED) :] not in ([], ["1"]):
        lacking.append("transaction_read_only = 1")
    if lacking:
        raise AccessError(
            f"{url.redacted()}: the session did not get its settings ({', '.join(lacking)}): "
            "a proxy may have dropped them",
            "connect to the server itself",
        )


def plan_of(cursor: Any, statement: str) -> list[dict[str, Any]]:
    """The steps of the server's plan for a statement, one for each table, by the names of EXPLAIN's columns."""
    cursor.execute(f"EXPLAIN {statement}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
