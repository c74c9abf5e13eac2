"""The query parameters of endpoint URLs: their names and allowed values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import unquote

from tieout.config.durations import parse_positive_duration, seconds_text
from tieout.config.secrets import looks_secret, register_secret
from tieout.config.tls import tls_problem
from tieout.errors import ConfigError
from tieout.model.defaults import CHECK_LOCK_SECONDS, CHECK_STATEMENT_SECONDS, CONNECT_SECONDS, CONNECTIONS
from tieout.model.nearest import suggestion

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter's meaning; `check` returns its text in normal form, or says in a ValueError what is wrong."""

    description: str
    check: Callable[[str], str]


def _text(value: str) -> str:
    return value


def _count(value: str) -> str:
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        raise ValueError(f'should be a whole number of at least 1, not "{value}"')
    return str(int(value))


def _duration(value: str) -> str:
    return seconds_text(parse_positive_duration(value))


def _one_of(*choices: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        normal = value.lower().replace("_", "-")
        if normal not in choices:
            raise ValueError(f'does not know "{value}" ({suggestion(normal, choices)})')
        return normal

    return check


_KEY = re.compile(r"[^:,+]+:[^:,+]+(?:\+[^:,+]+)*")


def _keys(value: str) -> str:
    if not all(map(_KEY.fullmatch, value.split(","))):
        raise ValueError("should be like orders:id,lines:order_id+number")
    return value


_COMMON = {
    "connections": Parameter(f"the most connections that a verification opens at once (default: {CONNECTIONS})", _count)
}

_SERVER = _COMMON | {
    "connect_timeout": Parameter(f"how long to wait for a connection (default: {CONNECT_SECONDS}s)", _duration),
    "lock_timeout": Parameter(
        f"how long a statement waits for another's lock (default in checks: {CHECK_LOCK_SECONDS}s)", _duration
    ),
    "statement_timeout": Parameter(
        f"how long a statement may take (default in checks: {CHECK_STATEMENT_SECONDS}s)", _duration
    ),
}

PARAMETERS: Mapping[str, Mapping[str, Parameter]] = MappingProxyType(
    {
        "mysql": _SERVER
        | {
            "read_timeout": Parameter("how long to wait for an answer", _duration),
            "socket": Parameter("the server's Unix socket, instead of host and port", _text),
            "ssl_ca": Parameter("file of the authorities to trust", _text),
            "ssl_cert": Parameter("file of the client's certificate", _text),
            "ssl_key": Parameter("file of the client's key", _text),
            "ssl_mode": Parameter(
                "disabled, required, verify-ca or verify-identity",
                _one_of("disabled", "required", "verify-ca", "verify-identity"),
            ),
        },
        "postgresql": _SERVER
        | {
            "schema": Parameter("the schema of tables named without one", _text),
            "socket": Parameter("the directory of the server's Unix socket, instead of a host", _text),
            "sslcert": Parameter("file of the client's certificate", _text),
            "sslkey": Parameter("file of the client's key", _text),
            "sslmode": Parameter(
                "disable, allow, prefer, require, verify-ca or verify-full",
                _one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
            ),
            "sslrootcert": Parameter("file of the authorities to trust", _text),
        },
        "sqlite": _COMMON,
        "duckdb": _COMMON,
        "debezium": {
            "key": Parameter("the columns that identify a row, by table: `orders:id,lines:order_id+number`", _keys),
            "unavailable_value": Parameter(
                "what Debezium writes for a large value that did not change (its `unavailable.value.placeholder`)",
                _text,
            ),
            "added_columns": Parameter(
                "`default`: rows from before a column was added have the default that the first event with it tells",
                _one_of("stop", "default"),
            ),
        },
        "lake": _COMMON
        | {"format": Parameter("parquet, delta, iceberg or orc", _one_of("parquet", "delta", "iceberg", "orc"))},
        "spark": _COMMON,
        "kv": {"descriptor": Parameter("file that describes the tables", _text)},
    }
)

_TIME_OUTS = frozenset({"connect_timeout", "read_timeout"})
_NOT_YET: Mapping[str, frozenset[str]] = {
    "postgresql": frozenset({"read_timeout"}),
    "sqlite": _TIME_OUTS,
    "duckdb": _TIME_OUTS,
    "debezium": _TIME_OUTS,
    "lake": _TIME_OUTS,
    "spark": _TIME_OUTS,
}


def not_yet(scheme: str, name: str) -> str | None:
    """Why a limit that URLs of other kinds have is refused here: nothing acts on it yet. None if something does."""
    return f"is not available yet for {scheme} URLs" if name in _NOT_YET.get(scheme, ()) else None


def parse_params(scheme: str, query: str) -> dict[str, str]:
    """The parameters of a URL's query, in normal form; one ConfigError names everything that is wrong with them."""
    known = PARAMETERS[scheme]
    params: dict[str, str] = {}
    problems: list[str] = []
    for item in filter(None, query.split("&")):
        name, _, value = item.partition("=")
        if looks_secret(name):
            register_secret(unquote(value))
        try:
            if name in params:
                raise ValueError("is given twice")
            params[name] = _checked(known, scheme, name, unquote(value, errors="strict"))
        except ValueError as error:
            problems.append(f"{_shown(name)} {error}")
    contradiction = tls_problem(scheme, params)
    if problems or contradiction:
        raise ConfigError("; ".join(filter(None, [*problems, contradiction])))
    return params


def _checked(known: Mapping[str, Parameter], scheme: str, name: str, value: str) -> str:
    if (refusal := not_yet(scheme, name)) is not None:
        raise ValueError(refusal)
    if name not in known:
        hint = suggestion(name, known)
        raise ValueError(f"is not a parameter of {scheme} URLs ({hint})")
    if not value:
        raise ValueError("needs a value")
    return known[name].check(value)


def _shown(name: str) -> str:
    # Text that can't be a parameter's name may be the rest of a password that contains a "?".
    return f'"{name}"' if _NAME.fullmatch(name) else "something after the question mark"
