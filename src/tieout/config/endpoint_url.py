"""What a URL says of an endpoint, and how it is written back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from tieout.config.secrets import MASK, looks_secret
from tieout.model.defaults import CHECK_LOCK_SECONDS, CHECK_STATEMENT_SECONDS

DEFAULT_PORTS: Mapping[str, int] = {"mysql": 3306, "postgresql": 5432}
"""The schemes that name a server, and where it listens unless told otherwise."""

OBJECT_STORE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""A path that begins like this (s3a://bucket) is Spark's to understand, whole."""

_PLACE = ("scheme", "host", "port", "database", "path", "schema")
_GUARDS: Mapping[str, float] = {"lock_timeout": CHECK_LOCK_SECONDS, "statement_timeout": CHECK_STATEMENT_SECONDS}


@dataclass(frozen=True, slots=True, repr=False)
class EndpointUrl:
    """A parsed endpoint URL. Text of it never shows a secret, except that of `reveal`.

    A server (mysql, postgresql) has host, port and perhaps database; sqlite, lake and kv have a path; spark has
    `database`: catalog and schema of the session. None: not given. `schema` is PostgreSQL's, and not in `params`.
    Time-outs in `params` are plain seconds. `read_only` sessions, which the text does not tell of, change nothing, and
    wait for nobody for long unless `params` says so.
    A path is absolute, relative to the working directory, or an object store's (s3a://bucket/folder).
    """

    scheme: str
    user: str | None = None
    password: str | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None
    path: str | None = None
    params: Mapping[str, str] = field(default_factory=dict, hash=False)
    schema: str | None = None
    read_only: bool = False

    @property
    def connections(self) -> int | None:
        """The most connections to open at once."""
        value = self.params.get("connections")
        return None if value is None else int(value)

    @property
    def connect_timeout(self) -> float | None:
        """Seconds to wait for a connection."""
        return self._seconds("connect_timeout")

    @property
    def read_timeout(self) -> float | None:
        """Seconds to wait for an answer."""
        return self._seconds("read_timeout")

    @property
    def lock_timeout(self) -> float | None:
        """Seconds that a statement waits for another's lock."""
        return self._guarded("lock_timeout")

    @property
    def statement_timeout(self) -> float | None:
        """Seconds that a statement may take."""
        return self._guarded("statement_timeout")

    @property
    def socket(self) -> str | None:
        """The server's Unix socket (PostgreSQL: its directory), which goes before host and port."""
        return self.params.get("socket")

    def is_same_place(self, other: EndpointUrl) -> bool:
        """Whether both lead to the same data, whoever goes there."""
        return all(getattr(self, part) == getattr(other, part) for part in _PLACE)

    def redacted(self) -> str:
        """The URL as it may be shown: secrets as ***."""
        return self._text(masked=True)

    def reveal(self) -> str:
        """The URL with its secrets, for those who connect; `parse_url` gives back an equal value."""
        return self._text(masked=False)

    def __str__(self) -> str:
        return self.redacted()

    def __repr__(self) -> str:
        return f"EndpointUrl({self.redacted()!r})"

    def _seconds(self, name: str) -> float | None:
        value = self.params.get(name)
        return None if value is None else float(value)

    def _guarded(self, name: str) -> float | None:
        return self._seconds(name) if name in self.params or not self.read_only else _GUARDS[name]

    def _text(self, *, masked: bool) -> str:
        return f"{self.scheme}://{self._authority(masked)}{self._location()}{self._query(masked)}"

    def _authority(self, masked: bool) -> str:
        if self.host is None:
            return ""
        userinfo = quote(self.user or "", safe="")
        if self.password is not None:
            userinfo += ":" + (MASK if masked else quote(self.password, safe=""))
        host = "[" + self.host.replace("%", "%25") + "]" if ":" in self.host else quote(self.host, safe="")
        server = host if self.port is None else f"{host}:{self.port}"
        return f"{userinfo}@{server}" if userinfo else server

    def _location(self) -> str:
        if self.path is None:
            return "/" + quote(self.database or "", safe="")
        if self.scheme == "sqlite" or OBJECT_STORE.match(self.path):
            return "/" + quote(self.path, safe="/:")
        path = quote(self.path, safe="/")
        return path if path.startswith(("/", "../")) else f"./{path}"

    def _query(self, masked: bool) -> str:
        params = dict(self.params) if self.schema is None else {"schema": self.schema, **self.params}
        if not params:
            return ""
        hidden = {name: MASK for name in params if masked and looks_secret(name)}
        return "?" + "&".join(f"{name}={hidden.get(name) or quote(value, safe='/:')}" for name, value in params.items())
