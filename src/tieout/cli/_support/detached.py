"""A check in the background: a process of its own, controlled as a job.

It gets its work on standard input, because every user can list a command line, and the work holds passwords.
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
    from tieout.cli._support.context import Context


def start_detached(context: Context, url: str, statement: str, options: Mapping[str, Any]) -> str:
    """Starts the process and returns its job's id once it has one. Raises the error that prevents the job."""
    from tieout import api
    from tieout.runtime.control import POLL_SECONDS

    known = {job.id for job in api.list_jobs(context.meta, limit=1000)}
    work = {
        "url": url,
        "statement": statement,
        "options": dict(options),
        "meta": context.meta,
        "master": context.master,
        "conf": dict(context.conf),
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
        for job in api.list_jobs(context.meta, limit=20):
            if job.pid == child.pid and job.id not in known:
                return job.id
        if ended:
            raise _reported_error(child.stdout)
        time.sleep(POLL_SECONDS)


def _reported_error(stdout: IO[str]) -> TieoutError:
    line = stdout.readline().strip()
    error: TieoutError = (
        pickle.loads(bytes.fromhex(line))
        if line
        else SparkFailure("the process of the check ended before its job began")
    )
    return error


def _main() -> ExitCode:
    """The process itself. Its job records how it ended; before there is a job, a line of output does."""
    from tieout import api

    work = json.load(sys.stdin)
    spark = api.SparkSettings(work["master"], work["conf"])
    try:
        api.check(work["url"], work["statement"], spark=spark, meta=work["meta"], **work["options"])
    except TieoutError as error:
        with suppress(OSError):  # nobody reads it any more
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
