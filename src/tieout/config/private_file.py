"""Files for this user's eyes: rows and passwords stand in them."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO


@contextmanager
def private_file(path: Path) -> Iterator[TextIO]:
    """Text that becomes the file, whole, when the block ends, and nothing if it ends by an error.

    Nobody else can read it, and no link leads the text elsewhere: it is written under a name that nobody foresees, and
    takes the place of a plain file alone. OSError for anything else that is there.
    """
    _check_place(path)
    number, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(number, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        _check_place(path)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _check_place(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a symbolic link")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a plain file")
