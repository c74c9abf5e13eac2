"""Which process this is, and whether another one is known to be gone."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
from pathlib import Path


def host() -> str:
    return socket.gethostname()


def this_process() -> str:
    """Names this process apart from every other, on this machine and elsewhere, before and after."""
    return _name_of(os.getpid())  # asked each time: a fork is another process


def is_gone(owner: str) -> bool:
    """True only if `owner` ran on this machine and runs no more; elsewhere, nobody here can tell."""
    machine, pid, started = owner.split(":")
    if machine != _machine():
        return False
    return _started(int(pid)) != started


@functools.lru_cache(maxsize=8)
def _name_of(pid: int) -> str:
    return f"{_machine()}:{pid}:{_started(pid)}"


@functools.cache
def _machine() -> str:
    """Host, boot and process namespace: two containers may share a host name, but not their pids."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    parts = [host(), boot.read_text().strip() if boot.exists() else ""]
    parts.append(str(namespace.stat().st_ino) if namespace.exists() else "")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _started(pid: int) -> str:
    """When `pid` started, so that a reused pid is not taken for the old process; "gone" if it has ended."""
    if not Path("/proc/self/stat").exists():
        return "alive" if _answers(pid) else "gone"
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "gone"
    # The command stands in parentheses and may hold spaces; what follows its end is split safely.
    fields = stat.rpartition(")")[2].split()
    return "gone" if fields[0] in "ZX" else fields[19]


def _answers(pid: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 is Ctrl-C there: the heartbeat alone must tell
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
