"""Connections to PostgreSQL, all with the same session settings.

The settings travel with the login. A pooler between us and the server may drop them, and everything would seem fine: a
policy hides rows, so two different tables look equal; a session that should only read can write. So we read them back.
Setting them again would not help: behind a pooler the next statement, or the next user, may have another session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from math import ceil
from typing import Any, Self
from urllib.parse import parse_qs, quote, urlencode

from tieout.config.secrets import scrub
from tieout.config.tls import postgres_tls
from tieout.config.urls import DEFAULT_PORTS, EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.sql.placeholders import with_names
from tieout.errors import AccessError, UnsupportedError
from tieout.model.defaults import CONNECT_SECONDS

_GIVEN = re.compile(r"-c (\w+)=(\S*)")
_TIME = re.compile(r"(\d+)(ms|s|min|h|d)?")
_MILLISECONDS = {None: 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def check_settings(address: str, ask: Callable[[str], Any]) -> None:
    """Compares the settings that the address (`libpq_url`) requests with those in force. `ask` returns one row."""
    place, _, query = address.partition("?")
    wanted = dict(_GIVEN.findall(parse_qs(query)["options"][0]))
    found = ask("SELECT " + ", ".join(f"pg_catalog.current_setting({quoting.text(name)})" for name in wanted))
    lacking = [name for name, value in zip(wanted, found, strict=True) if not _same(name, wanted[name], value)]
    if lacking:
        raise _refusal(scrub(place), {name: wanted[name] for name in lacking})


def _refusal(place: str, lacking: Mapping[str, str]) -> AccessError:
    listed = ", ".join(f"{name} = {value}" for name, value in lacking.items())
    return AccessError(
        f"{place}: the session lacks its settings ({listed}): a pooler may have dropped them",
        "connect to the server itself, or ALTER ROLE … SET them for this user",
    )


def _same(name: str, wanted: str, found: str) -> bool:
    if name == "DateStyle":
        return found.partition(",")[0] == wanted
    return _normal(wanted) == _normal(found)


def _normal(value: str) -> str | int:
    """Returns times in milliseconds, and names without the quotes that the server may put around them."""
    time = _TIME.fullmatch(value)
    return int(time[1]) * _MILLISECONDS[time[2]] if time else value.replace('"', "").replace(" ", "").lower()


PATH = "pg_catalog,pg_temp"
"""The search_path of our sessions.

Otherwise the server could call a function or an operator that somebody created in another schema, for types that fit
better than those of the server's own: with our user's rights.
"""

_SETTINGS: Mapping[str, str] = {
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "3",
    "standard_conforming_strings": "on",
    "bytea_output": "hex",
    "lc_monetary": "C",
    # Otherwise NULL in an array is the text NULL, and XML has to be a whole document.
    "array_nulls": "on",
    "xmloption": "content",
    # Types and definitions are compared as the server spells them.
    "quote_all_identifiers": "off",
    # A policy that hides rows from this user is an error, not a smaller table.
    "row_security": "off",
    # We limit the load on a server by the number of connections; its own workers would come on top.
    "max_parallel_workers_per_gather": "0",
    # A query is compiled for each key range, which would take longer than it saves.
    "jit": "off",
    "search_path": PATH,
}


def libpq_url(url: EndpointUrl, application: str, settings: Mapping[str, str | None] | None = None) -> str:
    """The URL that libpq (psycopg and ADBC alike) connects with. `settings` are added to the usual ones.

    A setting that is None stays as the server has it.
    """
    user = quote(url.user or "", safe="")
    password = f":{quote(url.password, safe='')}" if url.password is not None else ""
    host = f"[{url.host}]" if url.host and ":" in url.host else (url.host or "localhost")
    params = postgres_tls(url)
    params["application_name"] = application
    params["client_encoding"] = "UTF8"
    params["connect_timeout"] = str(max(1, ceil(url.connect_timeout or CONNECT_SECONDS)))
    every = {**_SETTINGS, **_guards(url), **(settings or {})}
    params["options"] = " ".join(f"-c {name}={value}" for name, value in every.items() if value is not None)
    if "socket" in url.params:
        host = quote(url.params["socket"], safe="")
    login = f"{user}{password}@" if user else ""
    database = quote(url.database or "", safe="")
    port = url.port or DEFAULT_PORTS["postgresql"]
    return f"postgresql://{login}{host}:{port}/{database}?{urlencode(params, quote_via=quote)}"


def _guards(url: EndpointUrl) -> dict[str, str]:
    """Settings that keep a session out of the way of others."""
    limits = {"lock_timeout": url.lock_timeout, "statement_timeout": url.statement_timeout}
    guards = {name: f"{ceil(seconds * 1000)}ms" for name, seconds in limits.items() if seconds is not None}
    return {**guards, "default_transaction_read_only": "on"} if url.read_only else guards


def connect(url: EndpointUrl, application: str, settings: Mapping[str, str | None] | None = None) -> Any:
    """A psycopg connection in autocommit mode. Raises AccessError if its settings are not in force."""
    connection = _connected(url, application, settings)
    try:
        address = libpq_url(url, application, settings)
        check_settings(address, lambda query: connection.execute(query).fetchone())
    except BaseException:
        connection.close()
        raise
    return connection


PATH_STATEMENT = "SELECT pg_catalog.current_setting('search_path')"


def require_path(found: str) -> None:
    """Raises if a new session has another search_path: something in between may have dropped its settings."""
    if found != PATH:
        raise UnsupportedError(
            f"a session started with search_path {found} instead of the one it requested",
            "connect to the server itself, or configure the pooler to pass `options` on",
        )


def users_path(url: EndpointUrl) -> str:
    """The search_path that this user's own SQL is written for, after pg_catalog, which nobody can shadow then.

    Everything else in a statement that runs with it names its schemas.
    """
    with closing(_connected(url, "tieout", {"search_path": None})) as connection:
        own = str(connection.execute(PATH_STATEMENT).fetchone()[0]).strip()
    return ", ".join(filter(None, ["pg_catalog", own, "pg_temp"]))


def set_path(path: str = PATH) -> str:
    """SQL that sets the search_path; by default, to the one of our own statements."""
    return f"SELECT pg_catalog.set_config('search_path', {quoting.text(path)}, false)"


def _connected(url: EndpointUrl, application: str, settings: Mapping[str, str | None] | None) -> Any:
    import psycopg

    return psycopg.connect(libpq_url(url, application, settings), autocommit=True, cursor_factory=_cursor_class())


@cache
def _cursor_class() -> Any:
    """A psycopg cursor for statements that contain arbitrary names beside their %s."""
    from psycopg import Cursor

    class NamesCursor(Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
            if params is not None and isinstance(query, str):
                query = with_names(query)
            return super().execute(query, params, **options)

    return NamesCursor
