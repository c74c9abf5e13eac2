"""What another user has prepared where a store will be is not used: values of rows would be theirs to read."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from tieout.errors import MetaStoreError
from tieout.meta import database as meta_database
from tieout.meta import open_store

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def give_away(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    directory = tmp_path / ".tieout"
    directory.mkdir(mode=0o700)
    return directory / "meta.db"


def use(file: Path) -> None:
    open_store(f"sqlite:///{file}").close()


def refusal(file: Path) -> str:
    with pytest.raises(MetaStoreError, match="other users could read or change") as caught:
        use(file)
    assert "set `meta` to a file in a directory of your own" in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@AS_ROOT
def test_a_file_of_another_user(file: Path) -> None:
    file.touch()
    file.chmod(0o666)
    give_away(file)
    assert f"its file belongs to another user (uid {NOBODY})" in refusal(file)
    assert file.stat().st_size == 0


@AS_ROOT
def test_a_directory_of_another_user(file: Path) -> None:
    give_away(file.parent)
    assert "its directory belongs to another user" in refusal(file)
    assert list(file.parent.iterdir()) == []


@AS_ROOT
@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("there", [False, True], ids=["of a new one", "of one that is there"])
def test_what_sqlite_writes_beside_it(file: Path, end: str, there: bool) -> None:
    if there:
        use(file)
    beside = file.with_name(file.name + end)
    beside.touch()
    give_away(beside)
    assert f"its meta.db{end} belongs to another user" in refusal(file)
    assert beside.stat().st_size == 0


@AS_ROOT
def test_and_puts_there_in_the_last_moment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = meta_database.make_private

    def overtaken(location: object) -> None:
        made(location)  # type: ignore[arg-type]
        beside = file.with_name("meta.db-wal")
        beside.touch()
        give_away(beside)

    monkeypatch.setattr(meta_database, "make_private", overtaken)
    assert "its meta.db-wal belongs to another user" in refusal(file)


@AS_ROOT
def test_a_link_of_another_user(file: Path, tmp_path: Path) -> None:
    ours = tmp_path / "ours.db"
    ours.touch(0o600)
    file.symlink_to(ours)
    give_away(file)
    assert "the link to it belongs to another user" in refusal(file)
    assert ours.stat().st_size == 0


@AS_ROOT
def test_a_link_to_another_user_s(file: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "meta.db").touch()
    give_away(theirs)
    file.symlink_to(theirs / "meta.db")
    assert "its directory belongs to another user" in refusal(file)


@AS_ROOT
def test_one_of_root_s_that_all_can_write() -> None:
    with tempfile.TemporaryDirectory() as directory:  # pytest's own are closed to others
        os.chmod(directory, 0o755)
        file = Path(directory, "meta.db")
        file.touch()
        file.chmod(0o666)
        os.seteuid(NOBODY)
        try:
            assert "all users can read or write its file" in refusal(file)
        finally:
            os.seteuid(0)
        assert file.stat().st_size == 0


def test_a_link_to_nothing_makes_no_file(file: Path, tmp_path: Path) -> None:
    file.symlink_to(tmp_path / "elsewhere.db")
    assert "it is a link to a file that does not exist" in refusal(file)
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_link_of_one_s_own(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    use(kept)
    file.symlink_to(kept)
    use(file)
    assert mode(kept) == 0o600


def test_a_directory_that_all_can_write(file: Path) -> None:
    file.parent.chmod(0o777)
    assert "all users can write to its directory" in refusal(file)
    file.parent.chmod(0o1777)  # as /tmp is: nobody takes the place of another's file
    use(file)


def test_a_file_of_one_s_own_becomes_private(file: Path) -> None:
    """As SQLite made it, or a careless copy."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    file.chmod(0o664)
    with open_store(f"sqlite:///{file}"):
        modes = {path.name: mode(path) for path in file.parent.glob("meta.db*")}
    assert modes == {"meta.db": 0o600, "meta.db-wal": 0o600, "meta.db-shm": 0o600}
