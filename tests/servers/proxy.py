"""A way to a server that can be cut: what was sent arrives, the answer does not. It can be long, too."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from tests.servers.process import HOST


class Proxy:
    """Listens on `port` and passes all on to a server, after `delay` seconds. Ends when it is closed."""

    def __init__(self, host: str, port: int, delay: float = 0.0) -> None:
        self._to = host, port
        self._delay = delay
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listening = socket.create_server((HOST, 0))
        self.port: int = self._listening.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Ends every connection, of which the server may take no notice; new ones are passed on."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._to)
                self._pairs.append((client, server))
                for one, other in ((client, server), (server, client)):
                    Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            for data in self._delayed(one) if self._delay else iter(lambda: one.recv(1 << 16), b""):
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _delayed(self, one: socket.socket) -> Iterator[bytes]:
        """What arrives, each piece so much later: a long way holds back no piece for those before it."""
        pieces: SimpleQueue[tuple[float, bytes]] = SimpleQueue()

        def receive() -> None:
            data = b"."
            while data:
                try:
                    data = one.recv(1 << 16)
                except OSError:
                    data = b""
                pieces.put((time.monotonic() + self._delay, data))

        Thread(target=receive, daemon=True).start()
        while True:
            due, data = pieces.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                return
            yield data
