"""What other users of the machine see of a command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tieout.cli._support.process_title import masked_arguments

URL = "mysql://app:hunter2secret@db/shop"


@pytest.mark.parametrize(
    ("shown", "masked"),
    [
        (b"tieout\0version\0", b"tieout\0version\0"),
        (b"--source\0mysql://a:geheim@h/d\0-q\0", b"--source\0mysql://a:***@h/d\0-q\0\0\0\0"),
        (b"mysql://a:x@h/d\0", b"mysql://a:***@h\0"),
        (b"\xff\0mysql://a:geheim@h/\0", b"\xff\0mysql://a:***@h/\0\0\0\0"),
    ],
)
def test_a_password_is_masked_in_place(shown: bytes, masked: bytes):
    assert masked_arguments(shown) == masked
    assert len(masked) == len(shown)


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is listed in /proc on Linux alone")
def test_the_process_list_shows_no_password():
    program = (
        "import sys; from pathlib import Path;"
        "from tieout.cli._support.process_title import hide_passwords; hide_passwords();"
        "print(Path('/proc/self/cmdline').read_bytes(), sys.argv[1])"
    )
    listed = subprocess.run([sys.executable, "-c", program, URL, "--quiet"], capture_output=True, text=True, check=True)
    assert "hunter2secret" not in listed.stdout.split(" mysql:")[0].rpartition("'")[0]
    assert "mysql://app:***@db/shop" in listed.stdout
    assert listed.stdout.rstrip().endswith(URL), "the program itself still has it"


@pytest.mark.parametrize("password", ["my pass", 'a"b', "<a>", "a\tb"])
def test_a_password_with_spaces_and_quotes_is_masked(password: str) -> None:
    shown = f"--source\0mysql://app:{password}@db/shop\0".encode()

    masked = masked_arguments(shown)

    assert masked.startswith(b"--source\0mysql://app:***@db/shop\0")
    assert len(masked) == len(shown)
