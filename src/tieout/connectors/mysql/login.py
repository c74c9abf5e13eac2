"""Logging in to a MySQL server that nothing shows to be it: it may check a password, and does not learn it."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pymysql.connections import Connection

from tieout.config.urls import EndpointUrl
from tieout.errors import AccessError

_PLAIN = ("mysql_clear_password", "dialog", "mysql_old_password")
"""Ways to log in by which a server learns the password (the last one: within seconds)."""

_SHA256 = "sha256_password"
_CACHING = "caching_sha2_password"
_NONCE_BYTES = 20
_KNOWN, _ANSWER = 3, 1
"""MySQL's words: the answer to the challenge was right; more of the plugin's own follows."""

_TLS = "connect by TLS that checks the server: ssl_mode=verify-identity, or ssl_ca=FILE"


if TYPE_CHECKING:
    _Connection = Connection[Any]
else:
    _Connection = Connection  # generic in its stubs alone


class Wary(_Connection):
    """A connection whose first packet holds no password, whatever plugin the server's greeting names.

    pymysql sends it there if that is sha256_password and there is TLS, before any handler is asked. A client may begin
    with a plugin of its own: a server whose account has another one says so.
    """

    _auth_plugin_name: str

    def _get_server_information(self) -> None:
        super()._get_server_information()  # type: ignore[misc]
        if self._auth_plugin_name == _SHA256:
            self._auth_plugin_name = _CACHING


def refusals(url: EndpointUrl) -> dict[bytes, type]:
    """pymysql's handlers of plugins, for connections by which the server is not known.

    By a Unix socket nobody in between listens, and who answers is what the machine's own rights allow: MySQL's SHA-2
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
    """Answers the challenge, and nothing beyond: the key that a stranger sends to encrypt the password is its own."""

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
        f"{url.redacted()}: the server asks for the password itself ({name}), and is not known to be it",
        _TLS + (cached if name == _CACHING else ""),
    )


def _scrambled(password: bytes, nonce: bytes) -> bytes:
    """XOR(SHA256(password), SHA256(SHA256(SHA256(password)) + nonce))."""
    once = sha256(password).digest()
    mask = sha256(sha256(once).digest() + nonce).digest()
    return bytes(left ^ right for left, right in zip(once, mask, strict=True))
