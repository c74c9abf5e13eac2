"""What stdout and stderr are used for, whatever they lead to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TIEOUT = [sys.executable, "-m", "tieout"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_result_that_can_not_be_written_is_an_error():
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*TIEOUT, "version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "error[usage]: can't write the result: No space left on device\n"


@pytest.mark.parametrize("command", ["version", "--help"])
def test_a_reader_that_is_gone_is_no_error(command: str):
    process = subprocess.Popen([*TIEOUT, command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0


def test_no_stdout_at_all():
    ended = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *TIEOUT, "version"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr == "error[usage]: stdout is closed: there is nowhere to write the result\n"


def test_letters_of_every_script_in_a_poor_locale(tmp_path: Path):
    environment = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PATH": "/usr/bin"}
    ended = subprocess.run(
        [*TIEOUT, "config", "check", "--config", "fehlt-ü-山.yaml"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "ü-山.yaml: run 'tieout init'" in ended.stderr.decode("utf-8")
