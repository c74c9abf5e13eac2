"""TLS with a MySQL server, and what a server may ask of a client that does not know it."""

from __future__ import annotations

import ssl
from typing import Any

from tieout.config.tls import mysql_tls
from tieout.config.urls import EndpointUrl
from tieout.errors import AccessError

_PLAIN = ("mysql_clear_password", "dialog", "mysql_old_password")
"""Ways to log in by which a server learns the password (the last one: within seconds)."""


def login_arguments(url: EndpointUrl) -> dict[str, Any]:
    """pymysql's arguments for both. OSError if a file can't be read."""
    mode = mysql_tls(url)
    if mode == "disabled":
        # Said in so many words: pymysql would take TLS without asking who the server is. And load the system's
        # certificates for it, 50 ms for every connection.
        return {"ssl_disabled": True, "auth_plugin_map": _refused(url)}
    refused = {} if mode.startswith("verify-") else _refused(url)
    return {"ssl": _context(url, mode), "auth_plugin_map": refused}


def _context(url: EndpointUrl, mode: str) -> ssl.SSLContext:
    """Without an authority of the user's, those that the system trusts are asked."""
    file = url.params.get("ssl_ca")
    try:
        context = ssl.create_default_context(cafile=file)
        file = url.params.get("ssl_cert")
        if file is not None:
            context.load_cert_chain(file, url.params.get("ssl_key"))
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, error.strerror, file) from None
    # Certificates that MySQL makes for itself lack what Python 3.13 and later ask for beyond a valid signature.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = mode == "verify-identity"
    if mode == "required":
        context.verify_mode = ssl.CERT_NONE
    return context


def _refused(url: EndpointUrl) -> dict[bytes, type]:
    def plugin(name: str) -> type:
        class Refused:
            def __init__(self, connection: object) -> None: ...

            def authenticate(self, packet: object) -> None:
                raise AccessError(
                    f"{url.redacted()}: the server asks for the password itself ({name}), and is not known to be it",
                    "connect by TLS that checks the server: ssl_mode=verify-identity, or ssl_ca=FILE",
                )

        return Refused

    return {name.encode(): plugin(name) for name in _PLAIN}
