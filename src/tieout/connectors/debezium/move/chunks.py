"""A feed has nothing to copy: the snapshot of a table is among its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from tieout.connectors.protocols.move import TextOf
from tieout.connectors.sql import copy_text
from tieout.connectors.sql.copy_text import marked, most_letters
from tieout.model.keys import Key, KeyRange
from tieout.model.moves import Held, Transfer
from tieout.model.positions import Position
from tieout.model.tables import Column
from tieout.model.types import TypeName

_NUMBERS = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.BOOLEAN}
BEGINNING = Position("0")


@dataclass(frozen=True)
class DebeziumChunkReader:
    """No rows, as they were before the first event."""

    held: Held = field(default_factory=lambda: Held(BEGINNING))

    def lines(self, transfer: Transfer, keys: KeyRange, *, same_engine: bool) -> Iterator[bytes]:
        return iter(())


@dataclass(frozen=True)
class DebeziumChunkSource:
    @contextmanager
    def reading(self) -> Iterator[DebeziumChunkReader]:
        yield DebeziumChunkReader()

    def texts(self, transfer: Transfer, *, same_engine: bool) -> Sequence[TextOf]:
        return [_text_of(source, target) for source, target in transfer.columns]

    def chunks_of(self, transfer: Transfer, bounds: Sequence[Key], keys: Sequence[Key]) -> list[int]:
        """There is one chunk: a feed sorts nothing."""
        return [0] * len(keys)


def _text_of(source: Column, target: Column) -> TextOf:
    name, wanted = source.type.name, target.type.name
    if name is TypeName.UUID and wanted is TypeName.BINARY:
        return _each(lambda value: "\\x" + value.replace("-", ""))
    if name is TypeName.BINARY and wanted is TypeName.UUID:
        return _each(bytes.hex)
    if name is TypeName.BITS and wanted in _NUMBERS:
        return _each(lambda value: str(int(value, 2)))
    if name is wanted is TypeName.YEAR:
        return _each("{:04d}".format)  # 0 would mean 2000
    most = most_letters(source, target)
    return copy_text.texts if most is None else _each(lambda value: marked(value, most))


def _each(text: Callable[..., str]) -> TextOf:
    def texts(values: list[object]) -> pa.Array:
        return pa.array([None if value is None else text(value) for value in values], pa.large_string())

    return texts
