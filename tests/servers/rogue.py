"""Servers that let a client begin to log in and ask for its password. They know no user and hold no data."""

from __future__ import annotations

import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from pymysql._auth import scramble_caching_sha2

from tests.servers.certificates import Certificate

_PROTOCOL_41, _SSL, _PLUGINS = 0x0200, 0x0800, 0x00080000
_CAPABILITIES = 0x00000001 | 0x00000008 | _PROTOCOL_41 | 0x2000 | 0x8000 | _PLUGINS
_CACHING, _SHA256 = "caching_sha2_password", "sha256_password"
_SALT = bytes(range(1, 21))
_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
_SSL_REQUEST, _GSS_REQUEST = 80877103, 80877104


@dataclass
class Rogue:
    """Where it listens, and what clients said to it after the first packet."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)

    def knows(self, password: str) -> bool:
        return any(password.encode() in said for said in self.heard)


@contextmanager
def rogue_mysql(
    plugin: str, certificate: Certificate | None = None, *, at_once: bool = False, cached: str | None = None
) -> Iterator[Rogue]:
    """Switches clients to a plugin of its choice, `at_once` by its very greeting; with TLS if it has a certificate.

    It is no rogue, but a server that remembers its account, if it has `cached` the password.
    """
    rogue = Rogue()
    prompt = b"\x04Password: " if plugin == "dialog" else _SALT + b"\0"

    def converse(connection: socket.socket) -> None:
        first = plugin if at_once else "mysql_native_password"
        flags = _CAPABILITIES | (_SSL if certificate else 0)
        greeting = b"\x0a8.0.30-rogue\0" + struct.pack("<I", 7) + _SALT[:8] + b"\0" + struct.pack("<H", flags & 0xFFFF)
        greeting += b"\x2d\x02\x00" + struct.pack("<HB", flags >> 16, 21) + bytes(10) + _SALT[8:] + b"\0"
        _send(connection, 0, greeting + first.encode() + b"\0")
        number, answer = _packet(connection)
        if certificate and len(answer) == 32:
            connection = _over_tls(connection, certificate)
            number, answer = _packet(connection)
        rogue.heard.append(answer)
        if not at_once or plugin not in (_CACHING, _SHA256):
            asked = b"\x01" + prompt if at_once else b"\xfe" + plugin.encode() + b"\0" + prompt
            _send(connection, number + 1, asked)
            number, answer = _packet(connection)
            rogue.heard.append(answer)
        if cached is not None and scramble_caching_sha2(cached.encode(), _SALT) in answer:
            _send(connection, number + 1, b"\x01\x03")
            _send(connection, number + 2, b"\0\0\0\x02\0\0\0")
            rogue.heard.append(_packet(connection)[1])
            return
        if plugin in (_CACHING, _SHA256):
            number = _ask_all(connection, number, plugin, rogue)
        _send(connection, number + 1, b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied")

    with _listening(rogue, converse):
        yield rogue


def _ask_all(connection: socket.socket, number: int, plugin: str, rogue: Rogue) -> int:
    """The long way of MySQL's SHA-2 plugins: the password as it is, or encrypted for whoever has the key."""
    key = _KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    _send(connection, number + 1, b"\x01\x04" if plugin == _CACHING else b"\x01" + key)
    number, answer = _packet(connection)
    rogue.heard.append(answer)
    if answer == b"\x02":
        _send(connection, number + 1, b"\x01" + key)
        number, answer = _packet(connection)
    if len(answer) == _KEY.key_size // 8:
        text = _KEY.decrypt(answer, padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None))
        rogue.heard.append(bytes(byte ^ _SALT[place % len(_SALT)] for place, byte in enumerate(text)))
    return number


@contextmanager
def rogue_postgres() -> Iterator[Rogue]:
    """Asks for the password in plain text, without TLS."""
    rogue = Rogue()

    def converse(connection: socket.socket) -> None:
        while True:
            (size, code) = struct.unpack(">II", _exactly(connection, 8))
            _exactly(connection, size - 8)
            if code not in (_SSL_REQUEST, _GSS_REQUEST):
                break
            connection.sendall(b"N")
        connection.sendall(b"R" + struct.pack(">II", 8, 3))
        rogue.heard.append(connection.recv(1000))

    with _listening(rogue, converse):
        yield rogue


@contextmanager
def _listening(rogue: Rogue, converse: object) -> Iterator[None]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(10)
            with suppress(OSError, EOFError):
                converse(self.request)  # type: ignore[operator]

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Listener(("127.0.0.1", 0), Handler) as listener:
        rogue.port = listener.server_address[1]
        threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()
        yield
        listener.shutdown()


def _over_tls(connection: socket.socket, certificate: Certificate) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    return context.wrap_socket(connection, server_side=True)


def _send(connection: socket.socket, number: int, data: bytes) -> None:
    connection.sendall(struct.pack("<I", len(data))[:3] + bytes([number % 256]) + data)


def _packet(connection: socket.socket) -> tuple[int, bytes]:
    header = _exactly(connection, 4)
    return header[3], _exactly(connection, int.from_bytes(header[:3], "little"))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
