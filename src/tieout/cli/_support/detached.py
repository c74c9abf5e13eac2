"""A check that nobody waits for: a process of its own, seen and steered as a job.

What it is to do comes by its standard input: a command line, which holds passwords, can be listed by every user.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from tieout.errors import SparkFailure, TieoutError
from tieout.exit_codes import ExitCode

if TYPE_CHECKING:
    from tieout.cli._support.context import Place


def start_detached(here: Place, url: str, statement: str, options: Mapping[str, Any]) -> str:
    """Starts it, and returns its job's id once it has one. What keeps it from beginning is raised."""
    from tieout import api
    from tieout.runtime.control import POLL_SECONDS

    known = {job.id for job in api.list_jobs(here.meta, limit=1000)}
    work = {
        "url": url,
        "statement": statement,
        "options": dict(options),
        "meta": here.meta,
        "master": here.master,
        "conf": dict(here.conf),
    }
    child = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin as stdin:
        json.dump(work, stdin)
    while True:
        ended = child.poll() is not None
        for job in api.list_jobs(here.meta, limit=20):
            if job.pid == child.pid and job.id not in known:
                return job.id
        if ended:
            raise _told(child.stdout)
        time.sleep(POLL_SECONDS)


def _told(stdout: IO[str]) -> TieoutError:
    line = stdout.readline().strip()
    error: TieoutError = pickle.loads(bytes.fromhex(line)) if line else SparkFailure("the check's process has ended")
    return error


def _main() -> ExitCode:
    """The process itself. Its job says how it ended; before there is one, a line of its output does."""
    from tieout import api

    work = json.load(sys.stdin)
    spark = api.SparkSettings(work["master"], work["conf"])
    try:
        api.check(work["url"], work["statement"], spark=spark, meta=work["meta"], **work["options"])
    except TieoutError as error:
        with suppress(OSError):  # nobody listens any more
            sys.stdout.write(pickle.dumps(error).hex() + "\n")
            sys.stdout.flush()
        return ExitCode.of_error(error)
    except KeyboardInterrupt as stopped:
        return ExitCode.of_error(stopped)
    return ExitCode.OK


if __name__ == "__main__":
    from tieout.cli._support.interrupts import watch_signals

    with watch_signals():
        sys.exit(_main())
