"""Logs in to a MySQL server, with TLS or without: a server whose identity nothing proves never learns the password."""

from __future__ import annotations

import ssl
from hashlib import sha256
from typing import Any

from tieout.config.tls import mysql_tls
from tieout.config.urls import EndpointUrl
from tieout.errors import AccessError

_PLAIN = ("mysql_clear_password", "dialog", "mysql_old_password")
"""Plugins by which a server learns the password (the last one: within seconds)."""

_SHA256 = "sha256_password"
_CACHING = "caching_sha2_password"
_NONCE_BYTES = 20
_KNOWN, _ANSWER = 3, 1
"""Codes of MySQL: the answer to the challenge was right; more data of the plugin follows."""

_TLS = "connect by TLS that checks the server: ssl_mode=verify-identity, or ssl_ca=FILE"


def log_in(url: EndpointUrl, *, offered: bool = False, **arguments: Any) -> Any:
    """A pymysql connection with more `arguments`. OSError if a file can't be read.

    TLS is used as the URL says; `offered`: if the URL says nothing, TLS is used if the server has it, whoever it is.
    """
    import pymysql

    from tieout.connectors.mysql.protocol.connections import WaryConnection

    mode = mysql_tls(url)
    if mode.startswith("verify-"):
        return pymysql.connect(**arguments, ssl=_context(url, mode))
    arguments["auth_plugin_map"] = _plugins(url)
    if mode == "required":
        return WaryConnection(**arguments, ssl=_context(url, mode))
    if offered and "ssl_mode" not in url.params:
        return WaryConnection(**arguments)
    # Disabled explicitly: pymysql would use TLS without checking who the server is. And load the system's
    # certificates for it, 50 ms for every connection.
    return WaryConnection(**arguments, ssl_disabled=True)


def _context(url: EndpointUrl, mode: str) -> ssl.SSLContext:
    """Without an authority of the user, the system's trusted authorities count."""
    file = url.params.get("ssl_ca")
    try:
        context = ssl.create_default_context(cafile=file)
        file = url.params.get("ssl_cert")
        if file is not None:
            context.load_cert_chain(file, url.params.get("ssl_key"))
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, error.strerror, file) from None
    # Certificates that MySQL makes for itself lack what Python 3.13 and later require beyond a valid signature.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = mode == "verify-identity"
    if mode == "required":
        context.verify_mode = ssl.CERT_NONE
    return context


def _plugins(url: EndpointUrl) -> dict[bytes, type]:
    """Handlers of login plugins, for connections by which the server's identity is not known.

    On a Unix socket nobody in between listens, and the machine's own permissions decide who answers: MySQL's SHA-2
    plugins send the password there.
    """
    plugins: dict[bytes, type] = {name.encode(): _refused(url, name) for name in _PLAIN}
    if url.password and url.socket is None:
        plugins |= {_SHA256.encode(): _refused(url, _SHA256), _CACHING.encode(): _caching(url)}
    return plugins


def _refused(url: EndpointUrl, name: str) -> type:
    class Refused:
        def __init__(self, connection: object) -> None: ...

        def authenticate(self, packet: object) -> None:
            raise _refusal(url, name)

    return Refused


def _caching(url: EndpointUrl) -> type:
    """Answers the challenge and sends nothing more: a stranger that offers a key to encrypt it has the key."""

    class Caching:
        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def authenticate(self, packet: Any) -> Any:
            connection = self._connection
            if packet.is_auth_switch_request():
                nonce = packet.read_all()[:_NONCE_BYTES]
                connection.write_packet(_scrambled(connection.password, nonce))
                packet = connection._read_packet()
            if not packet.is_extra_auth_data():
                return packet
            if packet.get_all_data()[:2] != bytes([_ANSWER, _KNOWN]):
                raise _refusal(url, _CACHING)
            return connection._read_packet()

    return Caching


def _refusal(url: EndpointUrl, name: str) -> AccessError:
    cached = "; after one such login, or one by its socket, the server knows it without asking, until it restarts"
    return AccessError(
        f"{url.redacted()}: the server asks for the password itself ({name}), and nothing proves its identity",
        _TLS + (cached if name == _CACHING else ""),
    )


def _scrambled(password: bytes, nonce: bytes) -> bytes:
    """XOR(SHA256(password), SHA256(SHA256(SHA256(password)) + nonce))."""
    once = sha256(password).digest()
    mask = sha256(sha256(once).digest() + nonce).digest()
    return bytes(left ^ right for left, right in zip(once, mask, strict=True))
