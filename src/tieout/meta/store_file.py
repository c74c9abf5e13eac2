"""The file of a store and where it is: values of rows are in it, so it is this user's alone.

Whoever can put a file where the store will be, or beside it where SQLite writes its log, chooses who reads it. Root can
read all of it in any case.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tieout.errors import MetaStoreError
from tieout.meta.faults import Fault, explain_os
from tieout.meta.location import Location

_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, with its rows in it, by the mode that the database has."""

_MODES_TELL = os.name != "nt"
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(location: Location) -> None:
    """Makes directory and file, for this user alone, or makes sure that those that are there are."""
    file = location.file
    assert file is not None
    try:
        new = not file.parent.exists()
        if new:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_directory(location, file.parent)
        if new:
            (file.parent / ".gitignore").write_text("*\n")
        _check_beside(location, file)
        try:
            # Only if it is new: closing a file that SQLite has open elsewhere in this process drops its locks.
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            _check_there(location, file)
    except OSError as error:
        raise explain_os(error, location) from error


def check_beside(location: Location) -> None:
    """Once more, when SQLite has made what was not there: another user may have been faster."""
    file = location.file
    assert file is not None
    try:
        _check_beside(location, Path(os.path.realpath(file)))
    except OSError as error:
        raise explain_os(error, location) from error


def _check_there(location: Location, file: Path) -> None:
    if file.is_symlink():
        if _MODES_TELL:
            _check_owner(location, file.lstat(), "the link to it")
        if not file.exists():
            raise _refused(location, "it is a link to a file that does not exist")
        file = Path(os.path.realpath(file))
        _check_directory(location, file.parent)
        _check_beside(location, file)
    _check_file(location, file, "its file")


def _check_beside(location: Location, file: Path) -> None:
    for end in _BESIDE:
        path = file.with_name(file.name + end)
        if os.path.lexists(path):
            _check_file(location, path, f"its {path.name}")


def _check_file(location: Location, path: Path, what: str) -> None:
    if not _MODES_TELL:
        return
    try:
        found = path.lstat()
    except FileNotFoundError:  # another process has just closed the store
        return
    _check_owner(location, found, what)
    if not stat.S_ISREG(found.st_mode) or not found.st_mode & _OF_OTHERS:
        return
    if found.st_uid == os.geteuid():
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OF_OTHERS)
    elif found.st_mode & stat.S_IRWXO:
        raise _refused(location, f"all users can read or write {what}")


def _check_directory(location: Location, directory: Path) -> None:
    if not _MODES_TELL:
        return
    found = directory.stat()
    _check_owner(location, found, "its directory")
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        raise _refused(location, "all users can write to its directory")


def _check_owner(location: Location, found: os.stat_result, what: str) -> None:
    if found.st_uid not in (os.geteuid(), 0):
        raise _refused(location, f"{what} belongs to another user (uid {found.st_uid})")


def _refused(location: Location, words: str) -> MetaStoreError:
    return Fault.NOT_OURS.at(location, words)
