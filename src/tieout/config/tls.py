"""The TLS that a URL asks for: what its parameters mean together, for endpoints and for the meta store.

Whoever gives a certificate wants TLS, and whoever gives an authority wants to know the server: neither gets a default
that sends everything in plain text or trusts any server.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tieout.config.urls import EndpointUrl

_MYSQL_FILES = ("ssl_ca", "ssl_cert", "ssl_key")
_POSTGRES_FILES = ("sslrootcert", "sslcert", "sslkey")
_MAY_BE_PLAIN = ("disable", "allow", "prefer")
_SYSTEM = "system"
"""libpq's word for the authorities that the system trusts."""


def tls_problem(scheme: str, params: Mapping[str, str]) -> str | None:
    """A contradiction between a URL's parameters; None if there is none."""
    if scheme == "mysql":
        return _mysql_problem(params)
    return _postgres_problem(params) if scheme == "postgresql" else None


def mysql_tls(url: EndpointUrl) -> str:
    """disabled, required, verify-ca or verify-identity."""
    if "ssl_mode" in url.params:
        return url.params["ssl_mode"]
    if "ssl_ca" in url.params:
        return "verify-ca"
    return "verify-identity" if _first_given(url.params, _MYSQL_FILES) else "disabled"


def postgres_tls(url: EndpointUrl) -> dict[str, str]:
    """libpq's parameters. No server gets a password in plain text before it has proved its identity."""
    params = {name: url.params[name] for name in _POSTGRES_FILES if name in url.params}
    mode = url.params.get("sslmode") or _default_mode(params)
    if mode is not None:
        params["sslmode"] = mode
    known = (mode or os.environ.get("PGSSLMODE", "")).startswith("verify-")
    return params if known else {**params, "require_auth": "!password"}


def _default_mode(params: Mapping[str, str]) -> str | None:
    if params.get("sslrootcert", _SYSTEM) != _SYSTEM:
        return "verify-ca"
    return "verify-full" if params else None


def _mysql_problem(params: Mapping[str, str]) -> str | None:
    mode, file = params.get("ssl_mode"), _first_given(params, _MYSQL_FILES)
    if mode == "disabled" and file:
        return f"{file} is given, but ssl_mode=disabled sends everything in plain text: leave one of them out"
    if mode == "verify-ca" and "ssl_ca" not in params:
        return (
            "ssl_mode=verify-ca needs ssl_ca: without it, any server with a public certificate would pass;"
            " give it, or ssl_mode=verify-identity"
        )
    return "ssl_key is given without ssl_cert" if "ssl_key" in params and "ssl_cert" not in params else None


def _postgres_problem(params: Mapping[str, str]) -> str | None:
    mode, file = params.get("sslmode"), _first_given(params, _POSTGRES_FILES)
    if mode in _MAY_BE_PLAIN and file:
        return f"{file} is given, but sslmode={mode} may send everything in plain text: write sslmode=verify-full"
    return "sslkey is given without sslcert" if "sslkey" in params and "sslcert" not in params else None


def _first_given(params: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in params), None)
