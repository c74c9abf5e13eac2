"""Decodes messages of pgoutput into row images, many messages at once.

A Relation message describes a table before its first change. A text of PostgreSQL contains no zero byte. So a zero
replaces the last byte of each value's length, right before the value; all bytes between values are dropped; and what is
left is one text to split: one call makes all the strings.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tieout.model.row_changes import KEPT, ChangeKind, Image, LogTable
from tieout.model.tables import TableName

_OID = struct.Struct(">xI")
_COLUMNS = struct.Struct(">xH")
_TYPE = struct.Struct(">Ii")


@dataclass(frozen=True, slots=True)
class Relation:
    """`identity` has True for each column that old images hold."""

    oid: int
    table: LogTable
    identity: tuple[bool, ...]

    @property
    def whole(self) -> tuple[bool, ...]:
        """The form of `identity` if all columns were in it."""
        return (True,) * len(self.identity)


def described(message: bytes) -> Relation:
    """The table that a Relation message describes."""
    (oid,) = _OID.unpack_from(message)
    schema, at = _name(message, _OID.size)
    name, at = _name(message, at)
    (count,) = _COLUMNS.unpack_from(message, at)  # after the kind of replica identity
    at += _COLUMNS.size
    columns, identity = [], []
    for _ in range(count):
        identity.append(bool(message[at] & 1))
        column, at = _name(message, at + 1)
        columns.append(column)
        at += _TYPE.size
    return Relation(oid, LogTable(TableName(schema or "pg_catalog", name), tuple(columns)), tuple(identity))


def _name(message: bytes, at: int) -> tuple[str, int]:
    """A zero-terminated name, and the offset after it."""
    end = message.index(0, at)
    return message[at:end].decode(), end + 1


Places = NDArray[np.int64]
"""Offsets in a batch's buffer."""

_FRAME = 6
"""The bytes of a binary COPY row before its only field: the number of fields and the field's length."""

# A length is read for every value, even for one that turns out to be absent at the end of the buffer.
_PADDING = bytes(8)


class Batch:
    """The rows of a binary COPY with one field: one message each, which begins at `starts` in `buffer`.

    `octets`, `shorts` and `words` are the numbers of one, two and four bytes that begin at each offset.
    """

    __slots__ = ("_ends", "buffer", "octets", "shorts", "starts", "words")

    def __init__(self, rows: Sequence[memoryview | bytes]) -> None:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        self.buffer = b"".join([*rows, _PADDING])
        self._ends = np.cumsum(lengths)
        self.starts: Places = self._ends - lengths + _FRAME
        self.octets = np.frombuffer(self.buffer, np.uint8)
        self.shorts: NDArray[np.uint16] = self._numbers(">u2")
        self.words: NDArray[np.uint32] = self._numbers(">u4")

    def __len__(self) -> int:
        return len(self.starts)

    def message(self, number: int) -> bytes:
        return self.buffer[self.starts[number] : self._ends[number]]

    def only(self, numbers: Places) -> Batch:
        """A batch of these messages only."""
        begins, ends = (self.starts[numbers] - _FRAME).tolist(), self._ends[numbers].tolist()
        return Batch([self.buffer[begin:end] for begin, end in zip(begins, ends, strict=True)])

    def _numbers(self, dtype: str) -> NDArray[Any]:
        number = np.dtype(dtype)
        return np.ndarray((len(self.buffer) - number.itemsize + 1,), number, self.buffer, strides=(1,))


_TEXT, _NULL, _UNCHANGED = ord("t"), ord("n"), ord("u")

_COUNT = 2
"""A tuple begins with the number of its columns."""

_HEAD = 5
"""The bytes before a value: its kind, and its length unless it is absent."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Values of tuples, column by column; the ends of the tuples; the columns that some of them leave unchanged."""

    columns: list[list[Any]]
    ends: Places
    unchanged: list[int]

    def rows(self) -> list[Image]:
        return list(zip(*self.columns, strict=True)) if self.columns else [()] * len(self.ends)


def cut(batch: Batch, begins: Places, present: Sequence[bool]) -> Cut:
    """Decodes tuples that begin at these offsets. A column that is not `present` is KEPT in all of them.

    Raises UnicodeDecodeError if a value is not UTF-8.
    """
    assert (batch.shorts[begins] == len(present)).all(), "a tuple has the columns of its relation"
    texts = _Texts(batch)
    kinds: list[NDArray[np.uint8]] = []
    at = begins + _COUNT
    for is_present in present:
        kind = batch.octets[at]
        is_text = kind == _TEXT
        ends = np.where(is_text, at + _HEAD + batch.words[at + 1], at + 1)
        if is_present:
            texts.add(np.where(is_text, at + _HEAD - 1, at), ends)
        kinds.append(kind)
        at = ends
    found = iter(texts.columns())
    columns = [
        _with_absent(next(found), kind) if each else [KEPT] * len(at) for each, kind in zip(present, kinds, strict=True)
    ]
    unchanged = [place for place, kind in enumerate(kinds) if (kind == _UNCHANGED).any()]
    return Cut(columns, at, unchanged)


def _with_absent(values: list[Any], kinds: NDArray[np.uint8]) -> list[Any]:
    absent = np.flatnonzero(kinds != _TEXT)
    for place, kind in zip(absent.tolist(), kinds[absent].tolist(), strict=True):
        values[place] = None if kind == _NULL else KEPT
    return values


class _Texts:
    """Pieces of a batch's buffer, each after one byte that becomes a zero."""

    def __init__(self, batch: Batch) -> None:
        self._octets = batch.octets.copy()
        self._edges = np.zeros(len(self._octets), np.int8)
        self._columns = 0

    def add(self, begins: Places, ends: Places) -> None:
        """Adds a column: for each tuple, the piece after `begins` and before `ends`."""
        self._octets[begins] = 0
        # A piece may begin where another ends.
        self._edges[begins] += 1
        self._edges[ends] -= 1
        self._columns += 1

    def columns(self) -> list[list[Any]]:
        inside = np.cumsum(self._edges, dtype=np.int8).view(np.bool_)
        # The pieces are in the order of tuples, and within a tuple in the order of columns.
        pieces = self._octets[inside].tobytes().decode().split("\0")
        return [pieces[first :: self._columns] for first in range(1, self._columns + 1)]


_NEW = ord("N")

_TUPLE = 6
"""The offset of the first tuple of a message: after kind, relation and the mark of the tuple."""


@dataclass(frozen=True, slots=True)
class Images:
    """One row for each message. For updates also the row before, or None if the message does not have it.

    `whole`: no row holds KEPT.
    """

    rows: list[Image]
    before: list[Image | None] | None = None
    whole: bool = False


def images(batch: Batch, messages: Places, relation: Relation, kind: ChangeKind) -> Images:
    """The images of messages of one table and kind. Raises UnicodeDecodeError if a value is not UTF-8."""
    if kind is ChangeKind.UPDATE:
        return _updates(batch, messages, relation)
    present = relation.identity if kind is ChangeKind.DELETE else relation.whole
    found = cut(batch, messages + _TUPLE, present)
    return Images(found.rows(), whole=all(present) and not found.unchanged)


def _updates(batch: Batch, messages: Places, relation: Relation) -> Images:
    at = messages + _TUPLE
    with_old = np.flatnonzero(batch.octets[at - 1] != _NEW)
    if not len(with_old):
        new = cut(batch, at, relation.whole)
        return Images(new.rows(), whole=not new.unchanged)
    old = cut(batch, at[with_old], relation.identity)
    at[with_old] = old.ends + 1  # the mark of the new tuple is in between
    new = cut(batch, at, relation.whole)
    before: list[Image | None] = [None] * len(at)
    for place, image in zip(with_old.tolist(), old.rows(), strict=True):
        before[place] = image
    for column in new.unchanged:
        _fill(new.columns[column], [image and image[column] for image in before])
    return Images(new.rows(), before, whole=not new.unchanged)


def _fill(values: list[Any], olds: list[Any]) -> None:
    for place, (value, old) in enumerate(zip(values, olds, strict=True)):
        # A value stored outside its row is not NULL: an old NULL here comes from a partition that logs only its key.
        if value is KEPT and old is not None:
            values[place] = old
