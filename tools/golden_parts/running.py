"""How commands are run for a record, and in what environment.

`run_here`: in this process. `Workplace.run`: in a process that runs many, since each start of Spark takes seconds.
`Workplace.program`: as users do, in a process of its own.
"""

from __future__ import annotations

import importlib.metadata
import io
import os
import pkgutil
import platform
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from tools.golden_parts.normalise import Normaliser
from tools.golden_parts.runner import LONGEST, ROOT, Runner, entry_point

RUNNER = Runner()
WIDTH = "100"


def settle_environment() -> None:
    """The same terminal, language and time zone everywhere; Java as the tests have it. Before Tieout is imported."""
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TERMINAL_WIDTH"):
        os.environ.pop(name, None)
    os.environ |= {
        "COLUMNS": WIDTH,
        "TERMINAL_WIDTH": WIDTH,
        "NO_COLOR": "1",
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(ROOT / "src"),
    }
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
    classes = Path(sys.prefix, "spark.jsa")
    if classes.exists():
        shared = f"-XX:SharedArchiveFile={classes} -Xlog:cds=off -Xlog:cds+dynamic=off"
        os.environ.setdefault("SPARK_SUBMIT_OPTS", shared)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def run_here(*words: str) -> Ended:
    """Runs a command in this process: for those that need neither a database nor Spark."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = entry_point()(words)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Ended(code, *("".join(f"{line.rstrip()}\n" for line in text.splitlines()) for text in texts))


def every_module() -> None:
    """Imports all of Tieout, but for what only alembic can: migrations."""
    package = import_module("tieout")
    for found in pkgutil.walk_packages(package.__path__, "tieout."):
        if not found.name.endswith("__main__") and ".migrations." not in found.name:
            import_module(found.name)


@dataclass
class Workplace:
    """A directory in which commands are run, and the record of what they said."""

    directory: Path
    normaliser: Normaliser
    lines: list[str] = field(default_factory=list)

    def title(self, text: str) -> None:
        self.lines.append(f"\n== {text}\n")

    def run(self, *words: str, stdin: str = "", files: tuple[str, ...] = ()) -> None:
        """Runs a command and records it: words, exit code, what it said, and the text of `files` that it wrote."""
        self._record(words, self.call(*words, stdin=stdin), stdin, files)

    def program(self, *words: str) -> None:
        """The same, as a program of its own: what users start, which takes longer."""
        ended = subprocess.run(
            [sys.executable, "-m", "tieout", *words],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=LONGEST,
            check=False,
        )
        self._record(words, Ended(ended.returncode, ended.stdout, ended.stderr))

    def call(self, *words: str, stdin: str = "") -> Ended:
        """Runs a command, and records nothing."""
        with tempfile.TemporaryDirectory(prefix="golden-streams-") as directory:
            files = {name: Path(directory, name) for name in ("stdin", "stdout", "stderr")}
            for file in files.values():
                file.write_text(stdin if file.name == "stdin" else "", encoding="utf-8")
            named = {name: str(file) for name, file in files.items()}
            code = RUNNER.run({"words": words, "directory": str(self.directory), **named})
            return Ended(code, *(files[name].read_text(encoding="utf-8") for name in ("stdout", "stderr")))

    def _record(self, words: tuple[str, ...], ended: Ended, stdin: str = "", files: tuple[str, ...] = ()) -> None:
        form = next((word for before, word in pairwise(words) if before in ("-o", "--output")), "text")
        self.lines.append(f"$ tieout {self.normaliser.text(' '.join(map(_quoted, words)))}")
        if stdin:
            self.lines.append(f"< {stdin.rstrip()}")
        self.lines.append(f"exit {ended.code}")
        self._add("", self.normaliser.output(ended.out, form))
        self._add("stderr: ", self.normaliser.output(ended.err, "text"))
        for name in files:
            file = self.directory / name
            self.lines.append(f"file {name}:" if file.exists() else f"file {name} was not written")
            self._add("", self.normaliser.text(file.read_text(encoding="utf-8")) if file.exists() else "")
        self.lines.append("")

    def _add(self, prefix: str, text: str) -> None:
        self.lines += [f"{prefix}{line.rstrip()}" for line in text.splitlines()]

    def text(self) -> str:
        return "\n".join(self.lines).strip() + "\n"


@contextmanager
def workplace(known: Mapping[str, str] | None = None) -> Iterator[Workplace]:
    """An empty directory, removed when the block ends. `known`: what else is different in each run."""
    with tempfile.TemporaryDirectory(prefix="golden-place-") as directory:
        path = Path(directory).resolve()
        path.chmod(0o755)
        yield Workplace(path, Normaliser({str(path): "<dir>", **_versions(), **(known or {})}))


@cache
def _versions() -> dict[str, str]:
    found = {
        platform.python_version(): "<python version>",
        sqlite3.sqlite_version: "<sqlite version>",
        importlib.metadata.version("pyspark"): "<pyspark version>",
        f" on {socket.gethostname()}": " on <host>",
    }
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    if match := re.search(r'version "([^"]+)"', java.stderr):
        found[match[1]] = "<java version>"
    return found


def _quoted(word: str) -> str:
    return f"'{word}'" if re.search(r"[\s;*|'\"]", word) or not word else word
