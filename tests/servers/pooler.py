"""A pooler between a client and a real server, as far as it goes wrong: it drops the settings of sessions."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_SSL_REQUEST, _GSS_REQUEST = 80877103, 80877104


@contextmanager
def dropping_options(host: str, port: int) -> Iterator[int]:
    """In front of PostgreSQL, as pgbouncer with ignore_startup_parameters = options. Gives its port."""

    def forward(client: socket.socket, server: socket.socket) -> None:
        while True:
            size, code = struct.unpack(">II", _exactly(client, 8))
            rest = _exactly(client, size - 8)
            if code not in (_SSL_REQUEST, _GSS_REQUEST):
                break
            client.sendall(b"N")
        words = rest.rstrip(b"\0").split(b"\0")
        pairs = [(name, value) for name, value in zip(words[::2], words[1::2], strict=True) if name != b"options"]
        kept = b"".join(name + b"\0" + value + b"\0" for name, value in pairs) + b"\0"
        server.sendall(struct.pack(">II", 8 + len(kept), code) + kept)
        _pump(client, server, lambda data: data)

    with _between(host, port, forward) as own:
        yield own


@contextmanager
def dropping_sets(host: str, port: int) -> Iterator[int]:
    """In front of MariaDB: a statement that sets the session up does nothing. Gives its port."""

    def without(data: bytes) -> bytes:
        if data[4:16] != b"\x03SET SESSION":
            return data
        return data[:5] + b"DO 0".ljust(len(data) - 5)

    with _between(host, port, lambda client, server: _pump(client, server, without)) as own:
        yield own


@contextmanager
def _between(host: str, port: int, forward: Callable[[socket.socket, socket.socket], None]) -> Iterator[int]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((host, port)) as server, suppress(OSError, EOFError):
                back = threading.Thread(target=_pump, args=(server, self.request, lambda data: data), daemon=True)
                back.start()
                forward(self.request, server)

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Listener(("127.0.0.1", 0), Handler) as listener:
        threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()
        yield listener.server_address[1]
        listener.shutdown()


def _pump(source: socket.socket, sink: socket.socket, change: Callable[[bytes], bytes]) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(change(data))
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
