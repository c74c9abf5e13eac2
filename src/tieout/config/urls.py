"""Endpoint URLs: parsed, redacted, and written back.

No message repeats what could be a password, however badly the URL is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from tieout.config.secrets import MASK, looks_secret, register_secret
from tieout.config.url_parameters import parse_params
from tieout.errors import ConfigError
from tieout.model.defaults import CHECK_LOCK_SECONDS, CHECK_STATEMENT_SECONDS
from tieout.model.nearest import nearest

DEFAULT_PORTS: Mapping[str, int] = {"mysql": 3306, "postgresql": 5432}
"""The schemes that name a server, and its default port."""

FILES = ("sqlite", "duckdb", "debezium")
"""The schemes that name a file, or a directory of files: three slashes, and the path behind them."""

OBJECT_STORE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""Spark understands a path that begins like this (s3a://bucket) as a whole."""

_PLACE = ("scheme", "host", "port", "database", "path", "schema")
_GUARDS: Mapping[str, float] = {"lock_timeout": CHECK_LOCK_SECONDS, "statement_timeout": CHECK_STATEMENT_SECONDS}


@dataclass(frozen=True, slots=True, repr=False)
class EndpointUrl:
    """A parsed endpoint URL. Its text never shows a secret, except the text of `reveal`.

    A server (mysql, postgresql) has host, port and perhaps database; files, lake and kv have a path; spark has
    `database`: catalog and schema of the session. None: not given. `schema` is PostgreSQL's, and not in `params`.
    Time-outs in `params` are plain seconds. `read_only` is not part of the text: such sessions change nothing, and
    don't wait long for locks unless `params` says so.
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
        """The server's Unix socket (PostgreSQL: its directory), which overrides host and port."""
        return self.params.get("socket")

    def is_same_place(self, other: EndpointUrl) -> bool:
        """Whether both lead to the same data, whatever the user."""
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
        if self.scheme in FILES or OBJECT_STORE.match(self.path):
            return "/" + quote(self.path, safe="/:")
        path = quote(self.path, safe="/")
        return path if path.startswith(("/", "../")) else f"./{path}"

    def _query(self, masked: bool) -> str:
        params = dict(self.params) if self.schema is None else {"schema": self.schema, **self.params}
        if not params:
            return ""
        hidden = {name: MASK for name in params if masked and looks_secret(name)}
        return "?" + "&".join(f"{name}={hidden.get(name) or quote(value, safe='/:')}" for name, value in params.items())


__all__ = ["ALIASES", "NOT_YET_SCHEMES", "SCHEMES", "EndpointUrl", "parse_url"]

SCHEMES = ("mysql", "postgresql", "sqlite", "duckdb", "debezium", "lake", "spark", "kv")
NOT_YET_SCHEMES = frozenset({"kv"})
"""Parsed only so that an error can say that nothing opens them yet."""
ALIASES = {"mariadb": "mysql", "postgres": "postgresql"}

_SHAPE = re.compile(r"(?P<authority>[^/?]*)(?P<location>/[^?]*)?(?:\?(?P<query>.*))?", re.DOTALL)
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%25[\w.-]+)?)\]|(?P<name>[^\s:@\[\]]*))(?::(?P<port>[^:]*))?")
_ENCODE = 'in a user or password, write "@" as %40, ":" as %3A, "/" as %2F and "?" as %3F'


def parse_url(text: str) -> EndpointUrl:
    """The endpoint that a URL names; its password is scrubbed from messages from now on."""
    scheme, rest = _split_scheme(text.strip())
    shape = _SHAPE.fullmatch(rest)
    assert shape is not None  # every text matches
    authority, location = shape["authority"], shape["location"] or ""
    params = parse_params(scheme, shape["query"] or "")
    schema = params.pop("schema", None)
    if scheme in DEFAULT_PORTS:
        userinfo, at, server = authority.rpartition("@")
        user, password = _credentials(userinfo) if at else (None, None)
        host, port = _host_and_port(scheme, server)
        database = _database(scheme, location)
        return EndpointUrl(scheme, user, password, host, port, database, params=params, schema=schema)
    if scheme == "spark":
        _refuse_host(scheme, authority, location)
        return EndpointUrl(scheme, database=_database(scheme, location), params=params)
    return EndpointUrl(scheme, path=_path(scheme, authority, location), params=params)


def _split_scheme(text: str) -> tuple[str, str]:
    written, separator, rest = text.partition("://")
    if not separator:
        # Without "://" nobody knows where a password would be, so the message repeats only a plain word.
        shown = f': "{text}"' if re.fullmatch(r"[\w.-]+", text) else ""
        raise ConfigError(
            f"not an endpoint URL{shown}", "a URL is like mysql://user@host/database or sqlite:///file.db"
        )
    name = written.lower()
    scheme = ALIASES.get(name, name)
    if scheme not in SCHEMES:
        shown = f' "{written}"' if re.fullmatch(r"[\w.:+-]*", written) else ""
        raise ConfigError(f"unknown kind of endpoint{shown}", _scheme_hint(name))
    return scheme, rest


def _scheme_hint(name: str) -> str:
    bare = name.removeprefix("jdbc:").partition("+")[0]  # as JDBC and SQLAlchemy write them
    close = nearest(bare, (*SCHEMES, *ALIASES))
    return f'did you mean "{close}"?' if close else f"known: {', '.join(SCHEMES)}"


def _credentials(userinfo: str) -> tuple[str | None, str | None]:
    user, colon, password = userinfo.partition(":")
    secret = _decoded(password, "password") if colon else None
    register_secret(secret)
    register_secret(password)  # as it was typed, too
    return _decoded(user, "user") or None, secret


def _host_and_port(scheme: str, server: str) -> tuple[str, int]:
    match = _HOST.fullmatch(server)
    if match is None:
        raise ConfigError(f"the host of the {scheme} URL can't be read", f"an IPv6 host is written [::1]; {_ENCODE}")
    host = _decoded(match["ipv6"] or match["name"], "host") or "localhost"
    port = match["port"]
    if not port:
        return host, DEFAULT_PORTS[scheme]
    if not re.fullmatch("[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise ConfigError(f"the port of the {scheme} URL is not a number from 1 to 65535", _ENCODE)
    return host, int(port)


def _database(scheme: str, location: str) -> str | None:
    name = location.removeprefix("/")
    if "@" in name:
        raise ConfigError(f'the path of the {scheme} URL contains an "@"', _ENCODE)
    if "/" in name:
        raise ConfigError(f"the {scheme} URL has more than one name in its path", 'in a name, write "/" as %2F')
    return _decoded(name, "database") or None


def _path(scheme: str, authority: str, location: str) -> str:
    if scheme in FILES:
        _refuse_host(scheme, authority, location)
        path = location.removeprefix("/")
    elif authority in (".", ".."):
        path = f"{authority}{location}".removeprefix("./")
    else:
        _refuse_host(scheme, authority, location)
        path = location[1:] if OBJECT_STORE.match(location, 1) else re.sub("^/+", "/", location)
    if path in ("", "/", ".", ".."):
        raise ConfigError(f"the {scheme} URL has no path", f"write {scheme}:///path")
    if path == ":memory:":
        raise ConfigError("an in-memory database can't be reached by other processes", f"write {scheme}:///file.db")
    return _decoded(path, "path")


def _refuse_host(scheme: str, authority: str, location: str) -> None:
    if not authority:
        return
    name = f"{authority}{location}"
    hint = f"write {scheme}:///{name}" if "@" not in name and ":" not in name else f"write {scheme}:///path"
    raise ConfigError(f"a {scheme} URL has no host: it takes three slashes", hint)


def _decoded(text: str, part: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ConfigError(f"the {part} in the URL is not percent-encoded UTF-8") from None
