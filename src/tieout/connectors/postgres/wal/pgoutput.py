"""Messages of pgoutput into images of rows: what many messages have in common is read from all of them at once.

A relation says what a table is before its first change. A text of PostgreSQL holds no zero byte. So a zero is put
before each value, where the last byte of its length was; all bytes between the values are left out; and the rest is one
text, to be split: one call makes all the strings.
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
    """`identity` says of each column whether old images hold it."""

    oid: int
    table: LogTable
    identity: tuple[bool, ...]

    @property
    def whole(self) -> tuple[bool, ...]:
        """All columns, as `identity` would name them."""
        return (True,) * len(self.identity)


def described(message: bytes) -> Relation:
    """The table that a Relation message describes."""
    (oid,) = _OID.unpack_from(message)
    schema, at = _name(message, _OID.size)
    name, at = _name(message, at)
    (count,) = _COLUMNS.unpack_from(message, at)  # behind the kind of replica identity
    at += _COLUMNS.size
    columns, identity = [], []
    for _ in range(count):
        identity.append(bool(message[at] & 1))
        column, at = _name(message, at + 1)
        columns.append(column)
        at += _TYPE.size
    return Relation(oid, LogTable(TableName(schema or "pg_catalog", name), tuple(columns)), tuple(identity))


def _name(message: bytes, at: int) -> tuple[str, int]:
    """A name that ends with a zero, and where the next thing begins."""
    end = message.index(0, at)
    return message[at:end].decode(), end + 1


Places = NDArray[np.int64]
"""Offsets in a batch's buffer."""

_FRAME = 6
"""What a row of a binary COPY has before its only field: the number of fields and the field's length."""

# A word is read at the place of each value before it is known whether there is one.
_PADDING = bytes(8)


class Batch:
    """The rows of a binary COPY with one field, a message each. `starts` is where they begin in `buffer`.

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
        """These messages alone."""
        begins, ends = (self.starts[numbers] - _FRAME).tolist(), self._ends[numbers].tolist()
        return Batch([self.buffer[begin:end] for begin, end in zip(begins, ends, strict=True)])

    def _numbers(self, dtype: str) -> NDArray[Any]:
        number = np.dtype(dtype)
        return np.ndarray((len(self.buffer) - number.itemsize + 1,), number, self.buffer, strides=(1,))


_TEXT, _NULL, _UNCHANGED = ord("t"), ord("n"), ord("u")

_COUNT = 2
"""A tuple begins with the number of its columns."""

_HEAD = 5
"""What stands before a value: its kind, and its length unless it is absent."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The values of some tuples, column by column; where the tuples end; columns that some of them leave unchanged."""

    columns: list[list[Any]]
    ends: Places
    unchanged: list[int]

    def rows(self) -> list[Image]:
        return list(zip(*self.columns, strict=True)) if self.columns else [()] * len(self.ends)


def cut(batch: Batch, begins: Places, told: Sequence[bool]) -> Cut:
    """Tuples that begin at these places. A column that is not `told` is KEPT in all of them.

    UnicodeDecodeError if a value is no UTF-8.
    """
    assert (batch.shorts[begins] == len(told)).all(), "a tuple has the columns of its relation"
    texts = _Texts(batch)
    kinds: list[NDArray[np.uint8]] = []
    at = begins + _COUNT
    for is_told in told:
        kind = batch.octets[at]
        present = kind == _TEXT
        ends = np.where(present, at + _HEAD + batch.words[at + 1], at + 1)
        if is_told:
            texts.add(np.where(present, at + _HEAD - 1, at), ends)
        kinds.append(kind)
        at = ends
    found = iter(texts.columns())
    columns = [
        _with_absent(next(found), kind) if each else [KEPT] * len(at) for each, kind in zip(told, kinds, strict=True)
    ]
    unchanged = [place for place, kind in enumerate(kinds) if (kind == _UNCHANGED).any()]
    return Cut(columns, at, unchanged)


def _with_absent(values: list[Any], kinds: NDArray[np.uint8]) -> list[Any]:
    absent = np.flatnonzero(kinds != _TEXT)
    for place, kind in zip(absent.tolist(), kinds[absent].tolist(), strict=True):
        values[place] = None if kind == _NULL else KEPT
    return values


class _Texts:
    """Pieces of a batch's buffer, each behind one byte that is given up for a zero."""

    def __init__(self, batch: Batch) -> None:
        self._octets = batch.octets.copy()
        self._edges = np.zeros(len(self._octets), np.int8)
        self._columns = 0

    def add(self, begins: Places, ends: Places) -> None:
        """A column: of each tuple, the piece behind `begins` and before `ends`."""
        self._octets[begins] = 0
        # Where one piece ends another may begin.
        self._edges[begins] += 1
        self._edges[ends] -= 1
        self._columns += 1

    def columns(self) -> list[list[Any]]:
        inside = np.cumsum(self._edges, dtype=np.int8).view(np.bool_)
        # The pieces stand in the order of tuples, and in a tuple in that of columns.
        pieces = self._octets[inside].tobytes().decode().split("\0")
        return [pieces[first :: self._columns] for first in range(1, self._columns + 1)]


_NEW = ord("N")

_TUPLE = 6
"""Where the first tuple of a message stands: behind kind, relation and the mark of the tuple."""


@dataclass(frozen=True, slots=True)
class Images:
    """One row for each message; for updates also what it was before, None where the message does not say.

    `whole`: no row holds KEPT.
    """

    rows: list[Image]
    before: list[Image | None] | None = None
    whole: bool = False


def images(batch: Batch, messages: Places, relation: Relation, kind: ChangeKind) -> Images:
    """The images of messages of one table and kind. UnicodeDecodeError if a value is no UTF-8."""
    if kind is ChangeKind.UPDATE:
        return _updates(batch, messages, relation)
    told = relation.identity if kind is ChangeKind.DELETE else relation.whole
    found = cut(batch, messages + _TUPLE, told)
    return Images(found.rows(), whole=all(told) and not found.unchanged)


def _updates(batch: Batch, messages: Places, relation: Relation) -> Images:
    at = messages + _TUPLE
    with_old = np.flatnonzero(batch.octets[at - 1] != _NEW)
    if not len(with_old):
        new = cut(batch, at, relation.whole)
        return Images(new.rows(), whole=not new.unchanged)
    old = cut(batch, at[with_old], relation.identity)
    at[with_old] = old.ends + 1  # the mark of the new tuple stands between
    new = cut(batch, at, relation.whole)
    before: list[Image | None] = [None] * len(at)
    for place, image in zip(with_old.tolist(), old.rows(), strict=True):
        before[place] = image
    for column in new.unchanged:
        _fill(new.columns[column], [image and image[column] for image in before])
    return Images(new.rows(), before, whole=not new.unchanged)


def _fill(values: list[Any], olds: list[Any]) -> None:
    for place, (value, old) in enumerate(zip(values, olds, strict=True)):
        # What is kept outside of its row is not NULL: an old NULL here would be a partition's image of its key alone.
        if value is KEPT and old is not None:
            values[place] = old
