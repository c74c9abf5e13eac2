"""Connections to MySQL servers."""

from __future__ import annotations

from math import ceil
from typing import Any
from urllib.parse import quote

from tieout.config.tls import mysql_tls
from tieout.config.urls import DEFAULT_PORTS, EndpointUrl
from tieout.connectors.mysql.in_force import check_settings
from tieout.connectors.mysql.tls import log_in
from tieout.model.defaults import CONNECT_SECONDS

ALL_ROWS = "18446744073709551615"
"""The sql_select_limit that is none."""

SETTINGS = (
    "time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES', "
    # Of a server or a user for whom these are set, all sessions would read fewer rows, or those of another day, and
    # nothing would say so.
    f"sql_select_limit = {ALL_ROWS}, max_join_size = {ALL_ROWS}, sql_big_selects = 1 "
    "/*M!100304 , system_versioning_asof = DEFAULT */"
)
"""What a user's SQL and our literals may depend on."""

PATIENT = "net_read_timeout = 86400, net_write_timeout = 86400"
"""For a mover, which rests in the middle of a statement if it is to be slow: servers hang up after 30 s or 60."""

AT_ONE_MOMENT = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
"""Where a server's own level is READ COMMITTED, each statement would see another moment, and nothing says so."""

_INIT = (
    f"SET SESSION {SETTINGS}, character_set_results = 'utf8mb4', sql_quote_show_create = 1, "
    # A COMMIT ends a transaction, and neither the session nor in another transaction; what we change, we mean to.
    "completion_type = 0, sql_safe_updates = 0 /*M!100502 , sql_if_exists = 0 */"
)
_LOCK_SECONDS = 30


def connect(url: EndpointUrl, *, client_flag: int = 0, settings: str | None = None) -> Any:
    """A pymysql connection in autocommit mode, in UTC, with more settings of the session if they are given.

    They are known to be in force.
    """
    from tieout.connectors.mysql.cursors import NamesCursor

    given = ", ".join(filter(None, [_INIT, _guards(url), settings]))
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
        init_command=given,
        connect_timeout=max(1, ceil(url.connect_timeout or CONNECT_SECONDS)),
        read_timeout=url.read_timeout,
        client_flag=client_flag,
    )
    try:
        check_settings(url, connection, given)
    except BaseException:
        connection.close()
        raise
    return connection


def _guards(url: EndpointUrl) -> str:
    """What keeps a session out of others' way. Each server reads its own comments, and leaves out the other's."""
    guards = f"lock_wait_timeout = {ceil(url.lock_timeout or _LOCK_SECONDS)}"
    if url.statement_timeout is not None:
        guards += f" /*M!100100 , max_statement_time = {url.statement_timeout:f} */"
        guards += f" /*!80000 , max_execution_time = {ceil(url.statement_timeout * 1000)} */"
    if url.read_only:
        guards += " /*M!100100 , tx_read_only = 1 */ /*!80000 , transaction_read_only = 1 */"
    return guards


def wants_tls(url: EndpointUrl) -> bool:
    return mysql_tls(url) != "disabled"


def arrow_url(url: EndpointUrl) -> str:
    """The URL that connectorx reads with."""
    password = f":{quote(url.password, safe='')}" if url.password else ""
    host = f"[{url.host}]" if url.host and ":" in url.host else (url.host or "localhost")
    login = f"{quote(url.user or '', safe='')}{password}@"
    # Left to itself, the driver asks a server on localhost for its socket and goes there: behind a tunnel or a proxy
    # that is a path of the other machine, where this one may have a server of its own.
    port = url.port or DEFAULT_PORTS["mysql"]
    return f"mysql://{login}{host}:{port}/{quote(url.database or '', safe='')}?prefer_socket=false"
