"""A server process that never runs as root and never outlives the test run."""

from __future__ import annotations

import atexit
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"


class ServerFailed(Exception):
    """A server could not be set up or started; the message ends with the tail of its log."""


class ServerProcess:
    """One server: its directory, its log and the account it runs under.

    `accounts` are the system accounts to choose from when the tests run as root, the first that exists.
    `stop_signal` is what ends the server at once and cleanly, whoever is connected.
    """

    def __init__(self, name: str, accounts: Sequence[str], stop_signal: signal.Signals) -> None:
        self.name = name
        self.account = _existing(accounts) if os.geteuid() == 0 else None
        self.directory = Path(tempfile.mkdtemp(prefix=f"tieout-{name}-"))
        self.log = self.directory / "log"
        self._stop_signal = stop_signal
        self._process: subprocess.Popen[bytes] | None = None
        self.log.touch()
        self.own(self.directory, self.log)
        atexit.register(self.stop)

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    def own(self, *paths: Path) -> None:
        """Hands `paths` to the server's account."""
        if self.account is not None:
            for path in paths:
                os.chown(path, self.account.pw_uid, self.account.pw_gid)

    def make(self, name: str) -> Path:
        """A directory that only the server's account can use."""
        path = self.directory / name
        path.mkdir(mode=0o700)
        self.own(path)
        return path

    def write(self, name: str, text: str) -> Path:
        """A file that only the server's account can read."""
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(text)
        self.own(path)
        return path

    def run(self, *command: str | Path) -> None:
        """Runs a set-up program under the server's account, to its end."""
        with self.log.open("ab") as log:
            ended = subprocess.run(
                command, check=False, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._identity()
            )
        if ended.returncode != 0:
            raise ServerFailed(f"{command[0]} ended with {ended.returncode}:\n{self.tail()}")

    def start(self, *command: str | Path) -> None:
        # The kernel ends the server when pytest is killed and can't. PR_SET_PDEATHSIG is cleared when the
        # account changes, so it is set by a program that runs after the change.
        setpriv = shutil.which("setpriv")
        guard = [setpriv, "--pdeathsig", self._stop_signal.name, "--"] if setpriv else []
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*guard, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._identity()
            )

    def wait_until(self, ready: Callable[[], None], seconds: float = 60) -> None:
        """Calls `ready` until it no longer raises; gives up when the server has died or the time is over."""
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while True:
            if (code := self._process.poll()) is not None:
                raise ServerFailed(f"{self.name} ended with {code} while starting:\n{self.tail()}")
            try:
                return ready()
            except Exception as error:  # whatever the driver raises while the server is not there yet
                if time.monotonic() > deadline:
                    raise ServerFailed(f"{self.name} did not answer ({error}):\n{self.tail()}") from error
            time.sleep(0.05)

    def stop(self) -> None:
        """Ends the server and removes its directory; does nothing the second time."""
        atexit.unregister(self.stop)
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(self._stop_signal)
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def tail(self, lines: int = 25) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _identity(self) -> dict[str, Any]:
        """Popen's arguments: the account, and a directory and a home that it can enter."""
        # Its own place for temporary files: a MariaDB that starts deletes those of its neighbours.
        own = {"HOME": str(self.directory), "TMPDIR": str(self.directory)}
        arguments: dict[str, Any] = {"cwd": self.directory, "env": {**os.environ, **own}}
        if self.account is not None:
            arguments |= {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        return arguments


def free_port() -> int:
    """A free port below the range the kernel gives to clients, so that no client takes it before the server does."""
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise ServerFailed("no free port between 20000 and 32000")


def program(name: str, *patterns: str) -> Path:
    """Where a server's program is: on the PATH, or else the newest that matches one of the glob patterns."""
    if found := shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"):
        return Path(found)
    for pattern in patterns:
        if matches := sorted(Path("/").glob(pattern.lstrip("/")), key=lambda path: (len(str(path)), path)):
            return matches[-1]
    raise ServerFailed(f"{name} is not installed: make servers")


def _existing(accounts: Sequence[str]) -> pwd.struct_passwd:
    for account in accounts:
        try:
            return pwd.getpwnam(account)
        except KeyError:
            continue
    raise ServerFailed(f"none of the accounts {', '.join(accounts)} exists, and servers don't run as root")
