"""Where a meta store is: a URL as users write it, and what SQLAlchemy connects with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from tieout.config.tls import postgres_tls
from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.postgres.connection import PATH
from tieout.errors import ConfigError
from tieout.model.defaults import CONNECT_SECONDS, META_URL

DEFAULT_URL = META_URL
DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


@dataclass(frozen=True, slots=True)
class Location:
    """`shown` is for people and holds no secret; `file` is set for SQLite alone."""

    endpoint: EndpointUrl
    shown: str
    file: Path | None = None

    @property
    def url(self) -> URL:
        """For SQLAlchemy; the endpoint's other settings are in `connect_args`."""
        end = self.endpoint
        driver = DRIVERS[end.scheme]
        if self.file is not None:
            return URL.create(driver, database=str(self.file))
        return URL.create(driver, end.user, end.password, end.host, end.port, end.database)

    @property
    def connect_args(self) -> dict[str, Any]:
        """The driver's arguments beside the URL: time-outs, sockets, PostgreSQL's TLS."""
        return {"postgresql": _postgresql, "mysql": _mysql}[self.endpoint.scheme](self.endpoint)


def locate(url: str) -> Location:
    """The location that `url` names; ConfigError if it can't hold a meta store."""
    end = parse_url(url)
    if end.scheme not in DRIVERS:
        raise ConfigError(f"{end.scheme}:// can't hold a meta store", f"use {', '.join(DRIVERS)}")
    if end.path is not None:
        # Absolute now: the program may change its directory while the store is open.
        return Location(end, shown=end.path, file=Path(end.path).absolute())
    if end.database is None:
        raise ConfigError(f"the URL of the meta store names no database: {end}", "add it: …/database")
    return Location(end, shown=str(end))


def _postgresql(end: EndpointUrl) -> dict[str, Any]:
    args: dict[str, Any] = dict(postgres_tls(end))
    args["application_name"] = end.params.get("application_name", "tieout")
    args["connect_timeout"] = max(1, round(end.connect_timeout or CONNECT_SECONDS))
    args["options"] = f"-c search_path={PATH}"
    args["prepare_threshold"] = None  # prepared statements break behind a pooler such as pgbouncer
    if end.socket is not None:
        args["host"] = end.socket
    return args


def _mysql(end: EndpointUrl) -> dict[str, Any]:
    args: dict[str, Any] = {
        "charset": "utf8mb4",
        "connect_timeout": max(1, round(end.connect_timeout or CONNECT_SECONDS)),
        "read_timeout": end.read_timeout,
        "unix_socket": end.socket,
    }
    return {name: value for name, value in args.items() if value is not None}
