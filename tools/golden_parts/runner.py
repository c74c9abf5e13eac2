"""A process that runs one command after another, through what the installed program `tieout` calls.

Each start of Spark takes seconds: commands that are run here share one. A request is a line of JSON on stdin (words,
directory, stdin, and files for stdout and stderr), the answer a line with the exit code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 300
"""How many seconds a command may take."""


@cache
def entry_point() -> Any:
    """What `tieout` calls: takes the words, returns the exit code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["tieout"].partition(":")
    return getattr(import_module(module), name)


class Runner:
    """Started with its first command; `stop` ends it, and Spark with it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, request: dict[str, Any]) -> int:
        if self._process is None:
            path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        alarm = Timer(LONGEST, self._process.kill)
        alarm.start()
        answer = self._process.stdout.readline()
        alarm.cancel()
        if not answer:
            raise RuntimeError(f"ended, or took longer than {LONGEST} s: tieout {' '.join(request['words'])}")
        return int(json.loads(answer))

    def stop(self) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None


def serve() -> None:
    """Until there are no more requests. While a command runs, the standard streams are its own."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in requests:
        request = json.loads(line)
        os.chdir(request["directory"])
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            descriptor = os.open(request[name], os.O_RDWR)
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        code = entry_point()(request["words"])
        sys.stdout.flush()
        sys.stderr.flush()
        answers.write(json.dumps(code) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
