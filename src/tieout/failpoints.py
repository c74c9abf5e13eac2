"""Named points at which a test ends the program as a power failure would.

TIEOUT_FAILPOINT names a file with a name, a number n and a process id: when any process that has the variable reaches
the name for the n-th time, it kills that process and itself.
"""

from __future__ import annotations

import os
import signal

_FILE = os.environ.get("TIEOUT_FAILPOINT")


def reach(name: str) -> None:
    """Does nothing, unless a test chose this point."""
    if _FILE is None or not os.path.exists(_FILE):
        return
    with open(_FILE) as chosen:
        place, times, process = chosen.read().split()
    if name != place:
        return
    with open(f"{_FILE}.reached", "ab") as reached:
        reached.write(b".")
        reached.flush()
        if reached.tell() != int(times):
            return
    for victim in (int(process), os.getpid()):
        os.kill(victim, signal.SIGKILL)
