"""A process is told apart from all others, and known to be gone only when it is."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tieout.meta.ownership import is_gone, this_process


def test_this_process_is_here() -> None:
    assert this_process() == this_process()
    assert not is_gone(this_process())


def test_nobody_here_can_tell_of_another_machine() -> None:
    assert not is_gone("0123456789abcdef:1:1")


def test_a_pid_that_is_used_again_is_another_process() -> None:
    machine, pid, _ = this_process().split(":")
    assert is_gone(f"{machine}:{pid}:1")


@pytest.mark.parametrize("reaped", [True, False])
def test_a_killed_process_is_gone_even_before_its_parent_has_noticed(reaped: bool) -> None:
    text = "import sys; from tieout.meta.ownership import this_process as me; print(me(), flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        owner = process.stdout.readline().strip()
        assert not is_gone(owner)
        process.kill()
        if reaped:
            process.wait()
        deadline = time.monotonic() + 10
        while not is_gone(owner) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert is_gone(owner)


def test_a_forked_child_is_another_process() -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, this_process().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 200).decode() != this_process()
    os.close(reading)
    os.close(writing)
