"""Where tests keep their files and their servers: in memory, if there is room.

Servers that make and drop tables all the time spend a third of their time in the file system otherwise.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH = 4 << 30
_PREFIX = "tieout-tests-"


def use_memory() -> None:
    """Makes a directory of this run in memory the one for temporary files, of its child processes too.

    Whoever sets TMPDIR has chosen another one.
    """
    if "TMPDIR" in os.environ or not _has_room():
        return
    _remove_left()
    directory = MEMORY / f"{_PREFIX}{os.getpid()}"
    directory.mkdir(mode=0o755)
    atexit.register(_remove, directory, os.getpid())
    os.environ["TMPDIR"] = tempfile.tempdir = str(directory)


def _has_room() -> bool:
    try:
        free = shutil.disk_usage(MEMORY).free
    except OSError:
        return False
    return free >= ENOUGH and os.access(MEMORY, os.W_OK)


def _remove_left() -> None:
    """Removes what runs left that were killed."""
    for directory in MEMORY.glob(f"{_PREFIX}*"):
        if not Path("/proc", directory.name.removeprefix(_PREFIX)).exists():
            shutil.rmtree(directory, ignore_errors=True)


def _remove(directory: Path, owner: int) -> None:
    """Removes what is large. Single files are removed by those who opened them, and that may be later."""
    if os.getpid() == owner:  # not in a process that was forked
        for each in directory.iterdir():
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
