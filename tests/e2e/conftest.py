"""The command line: as a program of its own, or (where Spark would cost seconds each time) in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tieout.api import moves, verifications
from tieout.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Tieout = Callable[..., Ended]


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Starts `python -m tieout …` with its output in pipes."""

    def begin(*words: str, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tieout", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
        return subprocess.Popen(command, **{**pipes, **options})

    return begin


@pytest.fixture
def program(start: Callable[..., subprocess.Popen[str]]) -> Tieout:
    """Runs `python -m tieout …` to its end. The locale is the poorest there is."""

    def run(*words: str) -> Ended:
        process = start(*words, env={**os.environ, "LC_ALL": "C"})
        out, err = process.communicate(timeout=500)
        return Ended(process.returncode, out, err)

    return run


@pytest.fixture
def tieout(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tieout:
    """Runs a command in this process, on the session that all tests share."""
    for room in (verifications, moves):
        monkeypatch.setattr(room, "session_of", lambda settings: spark)

    def run(*words: str) -> Ended:
        code = main(words)
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return run
