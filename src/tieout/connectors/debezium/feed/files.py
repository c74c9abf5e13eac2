"""The files of a feed as one sequence of bytes, and the proof that what was read of it is still the same.

A position counts the bytes before it, over all files in the order of their names. Its proof (Position.tail) has three
parts: a hash of the names and sizes of the files before its own, a hash of all blocks before it, and one of the bytes
since the last whole block. So the proof of a later position takes one block and what was added, and a proof is checked
by reading the feed once.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from tieout.config.urls import EndpointUrl
from tieout.errors import AccessError, LogLostError, MissingObjectError, ReadError, UnreachableError, UnsupportedError
from tieout.model.positions import Position

ENDINGS = (".json", ".jsonl", ".ndjson")
_PACKED = tuple(ending + packed for ending in ENDINGS for packed in (".gz", ".zst", ".bz2", ".xz", ".lz4"))
BLOCK = 1 << 20
_SIZE = 8
_NOTHING = bytes(_SIZE)
_DIGITS = re.compile(r"(\d+)", re.ASCII)
START_OVER = (
    "the files of a feed have to stay as they are while a task reads them, and new ones sort after them: put them "
    "back, or drop the task, empty its tables and start over"
)


@dataclass(frozen=True, slots=True)
class FeedFile:
    """`start`: how many bytes of the feed are before it."""

    path: Path
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Feed:
    """The files that have bytes, as they were at one moment."""

    url: EndpointUrl
    files: tuple[FeedFile, ...]

    def end(self) -> int:
        """The end of the last whole line: a line is whole once its line end is there.

        UnreachableError if a file ends within a line and another follows it: its writer may not be done.
        """
        with translated(self.url):
            for file in self.files[:-1]:
                if not _ends_with_line(file):
                    raise UnreachableError(
                        f"{file.path} ends within a line, and other files follow it",
                        "end the line; events are added to the last file alone",
                    )
            return self.files[-1].start + _last_line_end(self.files[-1]) if self.files else 0

    def where(self, offset: int) -> str:
        """The place after an offset, for people."""
        file = next((file for file in self.files if file.start <= offset < file.end), None)
        if file is None:
            return f"byte {offset}"
        with translated(self.url):
            number = _lines_before(file, offset - file.start) + 1
        return f"line {number} of {file.path.name}, byte {offset - file.start}"

    def proven(self, after: Position) -> None:
        """Reads what lies before the position. LogLostError unless it is what it was."""
        if after.offset > self.end():
            raise LogLostError(f"{self.url.redacted()}: {after} was read, and it ends at {self.end()}", START_OVER)
        walk = Walk(self)
        with translated(self.url):
            walk.skip(after.offset)
        if after.tail and walk.proof != after.tail:
            raise LogLostError(
                f"{self.url.redacted()}: what was read before {after} is not there any more as it was: a file was "
                "changed, renamed or deleted, or a new one sorts before it",
                START_OVER,
            )


def feed_of(url: EndpointUrl) -> Feed:
    """The feed now. MissingObjectError without a file or directory there, UnsupportedError for packed files."""
    assert url.path is not None
    place = Path(url.path)
    with translated(url):
        found = place.stat()
        if S_ISREG(found.st_mode):
            names = [place]
        elif S_ISDIR(found.st_mode):
            names = sorted((each for each in place.iterdir() if _is_of_feed(each)), key=_natural)
        else:
            raise UnsupportedError(f"{url.redacted()} is neither a file nor a directory")
        packed = [name.name for name in names if name.name.endswith(_PACKED)]
        if packed:
            raise UnsupportedError(
                f"{url.redacted()}: {packed[0]} is packed, and can't be read from the middle", "unpack it"
            )
        files, start = [], 0
        for name in names:
            size = name.stat().st_size
            if size:
                files.append(FeedFile(name, start, size))
            start += size
    return Feed(url, tuple(files))


@dataclass
class Walk:
    """Reads lines from a position on, and keeps the proof of how far it is. UnreachableError if that is not the feed
    that the position was in: `resume` finds out what became of it.
    """

    feed: Feed
    after: Position = field(default_factory=lambda: Position("0"))
    offset: int = field(init=False, default=0)
    _file: int = field(init=False, default=-1)
    _chain: bytes = field(init=False, default=_NOTHING)
    _rest: bytearray = field(init=False, default_factory=bytearray)

    def __post_init__(self) -> None:
        if not self.after.offset:
            return
        if not self.after.tail:
            self.skip(self.after.offset)
            return
        names, chain, last = (bytes.fromhex(self.after.tail[at : at + 2 * _SIZE]) for at in range(0, 48, 2 * _SIZE))
        self.offset, self._chain = self.after.offset, chain
        self._file = bisect_left([file.end for file in self.feed.files], self.offset)
        if self._file < len(self.feed.files):
            self._read_rest()
        if self._file == len(self.feed.files) or self._names() != names or _hash(chain, self._rest) != last:
            raise UnreachableError(
                f"{self.feed.url.redacted()}: its files are not those that were read before {self.after}",
                "the mover checks what became of them",
            )

    def _read_rest(self) -> None:
        file = self.feed.files[self._file]
        within = self.offset - file.start
        with file.path.open("rb") as opened:
            opened.seek(within - within % BLOCK)
            self._rest = bytearray(opened.read(within % BLOCK))

    @property
    def proof(self) -> str:
        """What proves the position, which is behind the lines that were taken so far."""
        if not self.offset:
            return ""
        return (self._names() + self._chain + _hash(self._chain, self._rest)).hex()

    @property
    def position(self) -> Position:
        return Position(str(self.offset)).of_log("", tail=self.proof)

    def lines(self, upto: int, *, until: Callable[[bytes], bool] = lambda line: False) -> Iterator[bytes]:
        """Yields the lines up to an offset. Ends before one for which `until` is true, unless it is the first."""
        first = True
        while self.offset < upto:
            with self._opened() as (opened, end):
                while self.offset < min(upto, end):
                    line = opened.readline(min(upto, end) - self.offset)
                    if not first and until(line):
                        return
                    first = False
                    self._take(line)
                    yield line

    def skip(self, upto: int) -> None:
        """Takes everything up to an offset."""
        while self.offset < upto:
            with self._opened() as (opened, end):
                while self.offset < min(upto, end):
                    self._take(opened.read(min(BLOCK, upto - self.offset, end - self.offset)))

    @contextmanager
    def _opened(self) -> Iterator[tuple[BinaryIO, int]]:
        """The file of the next byte, opened there, and the offset at which it ends."""
        if self._file < 0 or self.offset == self.feed.files[self._file].end:
            self._next_file()
        file = self.feed.files[self._file]
        with file.path.open("rb") as opened:
            opened.seek(self.offset - file.start)
            yield opened, file.end

    def _next_file(self) -> None:
        self._file += 1
        name = self.feed.files[self._file].path.name
        self._chain, self._rest = _hash(_hash(self._chain, self._rest), name.encode()), bytearray()

    def _take(self, data: bytes) -> None:
        if not data:
            path = self.feed.files[self._file].path
            raise UnreachableError(f"{path} became shorter while it was read", "the mover reads it again")
        self.offset += len(data)
        self._rest += data
        if len(self._rest) >= BLOCK:
            whole = len(self._rest) - len(self._rest) % BLOCK
            for at in range(0, whole, BLOCK):
                self._chain = _hash(self._chain, self._rest[at : at + BLOCK])
            del self._rest[:whole]

    def _names(self) -> bytes:
        before = [f"{file.path.name}/{file.size}" for file in self.feed.files[: self._file]]
        return _hash(_NOTHING, "\n".join([*before, self.feed.files[self._file].path.name]).encode())


def _hash(chain: bytes, data: bytes | bytearray) -> bytes:
    return blake2b(data, digest_size=_SIZE, key=chain).digest()


def _is_of_feed(path: Path) -> bool:
    return not path.name.startswith(".") and path.name.endswith(ENDINGS + _PACKED) and path.is_file()


def _natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Numbers in names sort as numbers: events-9 is before events-10."""
    parts = _DIGITS.split(path.name)
    return [(int(part), "") if at % 2 else (-1, part) for at, part in enumerate(parts)], path.name


def _ends_with_line(file: FeedFile) -> bool:
    with file.path.open("rb") as opened:
        opened.seek(file.size - 1)
        return opened.read(1) == b"\n"


def _lines_before(file: FeedFile, offset: int) -> int:
    found = 0
    with file.path.open("rb") as opened:
        while offset > 0 and (data := opened.read(min(BLOCK, offset))):
            found += data.count(b"\n")
            offset -= len(data)
    return found


def _last_line_end(file: FeedFile) -> int:
    end = file.size
    with file.path.open("rb") as opened:
        while end:
            start = max(0, end - BLOCK)
            opened.seek(start)
            at = opened.read(end - start).rfind(b"\n")
            if at >= 0:
                return start + at + 1
            end = start
    return 0


@contextmanager
def translated(url: EndpointUrl) -> Iterator[None]:
    """Turns errors of the file system into ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingObjectError(
            f"{url.redacted()}: there is no {_named(error)}", "check the path; it must not move while it is read"
        ) from None
    except PermissionError as error:
        raise AccessError(f"{url.redacted()}: {_named(error)} can't be read", "let this user read it") from None
    except OSError as error:
        raise ReadError(f"{url.redacted()}: {_named(error)}: {os.strerror(error.errno or 0)}") from None


def _named(error: OSError) -> str:
    return str(error.filename or "file")
