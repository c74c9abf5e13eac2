"""Text into an EndpointUrl. No message repeats what could be a password, however badly the URL is written."""

from __future__ import annotations

import re
from urllib.parse import unquote

from tieout.config.endpoint_url import DEFAULT_PORTS, OBJECT_STORE, EndpointUrl
from tieout.config.secrets import register_secret
from tieout.config.url_params import parse_params
from tieout.errors import ConfigError
from tieout.model.nearest import nearest

__all__ = ["ALIASES", "NOT_YET_SCHEMES", "SCHEMES", "EndpointUrl", "parse_url"]

SCHEMES = ("mysql", "postgresql", "sqlite", "lake", "spark", "kv")
NOT_YET_SCHEMES = frozenset({"kv"})
"""Understood, so that an error can say it: nothing can open them yet."""
ALIASES = {"mariadb": "mysql", "postgres": "postgresql"}

_SHAPE = re.compile(r"(?P<authority>[^/?]*)(?P<location>/[^?]*)?(?:\?(?P<query>.*))?", re.DOTALL)
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%25[\w.-]+)?)\]|(?P<name>[^\s:@\[\]]*))(?::(?P<port>[^:]*))?")
_ENCODE = 'in a user or password, write "@" as %40, ":" as %3A, "/" as %2F and "?" as %3F'


def parse_url(text: str) -> EndpointUrl:
    """The endpoint that a URL names; its password is scrubbed from messages from now on."""
    scheme, rest = _split_scheme(text.strip())
    shape = _SHAPE.fullmatch(rest)
    assert shape is not None  # every text has this shape
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
        # Without "://" there is no telling where a password would stand, so only a plain word is repeated.
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
        raise ConfigError(f'an "@" stands in the path of the {scheme} URL', _ENCODE)
    if "/" in name:
        raise ConfigError(f"the {scheme} URL has more than one name in its path", 'in a name, write "/" as %2F')
    return _decoded(name, "database") or None


def _path(scheme: str, authority: str, location: str) -> str:
    if scheme == "sqlite":
        _refuse_host(scheme, authority, location)
        path = location.removeprefix("/")
    elif authority in (".", ".."):
        path = f"{authority}{location}".removeprefix("./")
    else:
        _refuse_host(scheme, authority, location)
        path = location[1:] if OBJECT_STORE.match(location, 1) else re.sub("^/+", "/", location)
    if path in ("", "/", ".", ".."):
        raise ConfigError(f"the {scheme} URL names no file", f"write {scheme}:///path")
    if path == ":memory:":
        raise ConfigError("an in-memory SQLite database can't be reached by other processes", "write sqlite:///file.db")
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
