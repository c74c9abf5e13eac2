"""TLS with a MySQL server, and how one logs in by it."""

from __future__ import annotations

import ssl
from typing import Any

from tieout.config.tls import mysql_tls
from tieout.config.urls import EndpointUrl


def log_in(url: EndpointUrl, *, offered: bool = False, **arguments: Any) -> Any:
    """A pymysql connection with more `arguments`. OSError if a file can't be read.

    TLS is as the URL says; `offered`: where it says nothing, TLS is used if the server has it, whoever it is.
    """
    import pymysql

    from tieout.connectors.mysql.login import Wary, refusals

    mode = mysql_tls(url)
    if mode.startswith("verify-"):
        return pymysql.connect(**arguments, ssl=_context(url, mode))
    arguments["auth_plugin_map"] = refusals(url)
    if mode == "required":
        return Wary(**arguments, ssl=_context(url, mode))
    if offered and "ssl_mode" not in url.params:
        return Wary(**arguments)
    # Said in so many words: pymysql would take TLS without asking who the server is. And load the system's
    # certificates for it, 50 ms for every connection.
    return Wary(**arguments, ssl_disabled=True)


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
