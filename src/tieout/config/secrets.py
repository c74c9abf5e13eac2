"""Keeps passwords out of messages, and files with rows or passwords private.

Known passwords are hidden everywhere, unknown ones where the text around them gives them away.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO
from urllib.parse import quote, quote_plus

MASK = "***"

_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credential|(?:api|access|account|private)[._-]?key"
    r"|(?:^|[._-])pass(?:$|[._-])",
    re.IGNORECASE,
)
# Up to the last @: a password that should have been percent-encoded may contain an @ or a slash.
_URL_PASSWORD = re.compile(r'(://[^\s:/@"<>]*:)[^\s"<>]*@')
_ASSIGNMENT = re.compile(r"""(?<![\w.-])([\w.-]+)=('[^']*'|"[^"]*"|[^\s&;,)'"]+)""")

# Up to this length a secret is hidden only as a whole word: with the password "postgres",
# "postgresql://" would otherwise read "***ql://".
_ALONE = 8
# A byte string in a driver's message reads \x00secret\x00: the escape before it is not part of the word.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\x[0-9a-fA-F]{2})|(?<=\\[nrt0]))"
_END = r"(?![A-Za-z0-9])"


def looks_secret(name: str) -> bool:
    """Whether a parameter, setting or variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text with each of these secrets masked, however it is encoded."""
    pattern = _pattern(secrets)
    return pattern.sub(MASK, text) if pattern else text


class SecretRegistry:
    """The secrets of one process. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def register(self, secret: str | None) -> None:
        """From now on `scrub` hides this text. None and blank text are ignored."""
        if not secret or secret.isspace():
            return
        with self._lock:
            if secret not in self._secrets:
                self._secrets |= {secret}
                self._pattern = None

    def scrub(self, text: str) -> str:
        """The text without registered secrets, without passwords in URLs and in `password=…`."""
        with self._lock:
            if self._pattern is None:
                self._pattern = _pattern(self._secrets)
            pattern = self._pattern
        hidden = pattern.sub(MASK, text) if pattern else text
        hidden = _URL_PASSWORD.sub(rf"\g<1>{MASK}@", hidden)
        return _ASSIGNMENT.sub(_mask_assignment, hidden)


_registry = SecretRegistry()


def register_secret(secret: str | None) -> None:
    """Hides this text from every message that is scrubbed in this process."""
    _registry.register(secret)


def scrub(text: str) -> str:
    """The text as Tieout may show, log and store it."""
    return _registry.scrub(text)


class SecretFilter(logging.Filter):
    """Scrubs log records, tracebacks included. Belongs on handlers: a logger's filter misses its children's records."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = scrub(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            # Drop the exception itself: a formatter that renders it again would show the secret.
            record.exc_text, record.exc_info = scrub(record.exc_text), None
        if record.stack_info:
            record.stack_info = scrub(record.stack_info)
        return True


def _pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    spellings = {spelling for secret in secrets if secret and not secret.isspace() for spelling in _spellings(secret)}
    if not spellings:
        return None
    # Longest first, so that a secret that is part of another leaves nothing of it behind.
    return re.compile("|".join(_alternative(text) for text in sorted(spellings, key=lambda s: (-len(s), s))))


def _alternative(spelling: str) -> str:
    escaped = re.escape(spelling)
    return f"{_START}{escaped}{_END}" if len(spelling) <= _ALONE else escaped


def _spellings(secret: str) -> set[str]:
    """The secret as such, percent-encoded in the usual ways, and escaped as in a repr or in JSON."""
    encoded = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    lower_case = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text) for text in encoded}
    return {secret, *encoded, *lower_case, repr(secret)[1:-1], json.dumps(secret)[1:-1]}


def _mask_assignment(match: re.Match[str]) -> str:
    name = match[1]
    return f"{name}={MASK}" if looks_secret(name) else match[0]


@contextmanager
def private_file(path: Path) -> Iterator[TextIO]:
    """A stream whose text becomes the whole file when the block ends. After an error the file is unchanged.

    Only this user can read the file, and no link leads the text elsewhere: it is written under an unpredictable name
    and replaces only a plain file. OSError if the path is anything else.
    """
    _refuse_special_file(path)
    number, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(number, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        _refuse_special_file(path)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _refuse_special_file(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a symbolic link")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a plain file")
