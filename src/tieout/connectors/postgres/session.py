"""Connections to PostgreSQL, all with the same session settings."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any
from urllib.parse import quote, urlencode

from tieout.config.urls import EndpointUrl

_SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "3",
    "standard_conforming_strings": "on",
    "bytea_output": "hex",
    "lc_monetary": "C",
    # A policy that hides rows from this user is an error, not a smaller table.
    "row_security": "off",
    # The load on a server is ours to bound, by connections; its own workers would come on top.
    "max_parallel_workers_per_gather": "0",
    # Compiled anew for each range, a query would take longer to compile than it saves.
    "jit": "off",
}

_TLS = ("sslmode", "sslrootcert", "sslcert", "sslkey")


def libpq_url(url: EndpointUrl, application: str, settings: Mapping[str, str] | None = None) -> str:
    """The URL that libpq (psycopg and ADBC alike) connects with; `settings` of the session beside the usual ones."""
    user = quote(url.user or "", safe="")
    password = f":{quote(url.password, safe='')}" if url.password is not None else ""
    host = f"[{url.host}]" if url.host and ":" in url.host else (url.host or "localhost")
    params = {name: url.params[name] for name in _TLS if name in url.params}
    params["application_name"] = application
    params["client_encoding"] = "UTF8"
    params["connect_timeout"] = str(max(1, ceil(url.connect_timeout or 10)))
    every = {**_SETTINGS, **_guards(url), **(settings or {})}
    params["options"] = " ".join(f"-c {name}={value}" for name, value in every.items())
    if "socket" in url.params:
        host = quote(url.params["socket"], safe="")
    login = f"{user}{password}@" if user else ""
    database = quote(url.database or "", safe="")
    return f"postgresql://{login}{host}:{url.port or 5432}/{database}?{urlencode(params, quote_via=quote)}"


def _guards(url: EndpointUrl) -> dict[str, str]:
    """What keeps a session out of others' way."""
    limits = {"lock_timeout": url.lock_timeout, "statement_timeout": url.statement_timeout}
    guards = {name: f"{ceil(seconds * 1000)}ms" for name, seconds in limits.items() if seconds is not None}
    return {**guards, "default_transaction_read_only": "on"} if url.read_only else guards


def connect(url: EndpointUrl, application: str, settings: Mapping[str, str] | None = None) -> Any:
    """A psycopg connection in autocommit mode."""
    import psycopg

    from tieout.connectors.postgres.cursors import NamesCursor

    return psycopg.connect(libpq_url(url, application, settings), autocommit=True, cursor_factory=NamesCursor)
