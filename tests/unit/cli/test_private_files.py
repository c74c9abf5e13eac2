"""Files with rows or passwords in them: their owner's alone, and never at the end of a link."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TextIO

import pytest

from tieout.cli.repair import write_statements
from tieout.config.template import write_template
from tieout.errors import UsageError

OPEN = 0o022


@pytest.fixture(autouse=True)
def usual_mask() -> object:
    before = os.umask(OPEN)
    yield
    os.umask(before)


def mode(file: Path) -> int:
    return stat.S_IMODE(file.lstat().st_mode)


def some(stream: TextIO) -> int:
    stream.write("DELETE FROM t;\n")
    return 1


def test_statements_are_their_owner_s_alone(tmp_path: Path) -> None:
    file = tmp_path / "repair.sql"
    write_statements(file, "p-1", some)
    assert (file.read_text(), mode(file)) == ("DELETE FROM t;\n", 0o600)
    file.chmod(0o644)
    write_statements(file, "p-1", some)
    assert mode(file) == 0o600, "one that was there before is another file now"
    assert os.listdir(tmp_path) == ["repair.sql"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".repair.sql.draft").symlink_to(victim)  # a name that could be foreseen
    write_statements(tmp_path / "repair.sql", "p-1", some)
    (tmp_path / "linked.sql").symlink_to(victim)
    with pytest.raises(UsageError, match="it is a symbolic link"):
        write_statements(tmp_path / "linked.sql", "p-1", some)
    assert victim.read_text() == "precious"


def test_what_is_no_plain_file_stays(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a plain file"):
        write_statements(tmp_path / "pipe", "p-1", some)
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


def test_half_a_file_is_none(tmp_path: Path) -> None:
    def broken(stream: TextIO) -> int:
        some(stream)
        raise UsageError("the plan is gone")

    with pytest.raises(UsageError, match="the plan is gone"):
        write_statements(tmp_path / "repair.sql", "p-1", broken)
    assert os.listdir(tmp_path) == []


def test_a_configuration_is_its_owner_s_alone(tmp_path: Path) -> None:
    file, victim = tmp_path / "tieout.yaml", tmp_path / "victim"
    write_template(file)
    assert mode(file) == 0o600
    victim.write_text("precious")
    (tmp_path / "linked.yaml").symlink_to(victim)
    with pytest.raises(UsageError, match="it is a symbolic link"):
        write_template(tmp_path / "linked.yaml", force=True)
    assert victim.read_text() == "precious"
