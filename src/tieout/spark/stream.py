"""A change log as a Spark Structured Streaming source: its offsets are positions.

What is done with the changes is done where they are read, by a piece of work for each part of the log; Spark gets
what comes of it. Its checkpoint is worth nothing to us: the target knows how far it is.
"""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.errors import TieoutError
from tieout.model.positions import Position
from tieout.model.server_words import are_hidden, hidden
from tieout.spark.callbacks import guard_callbacks
from tieout.spark.work import Pieces, Work, read_pieces, schema_with
from tieout.spark.workers import keep_what_is_loaded

_OPTION = "secret.following"
_POSITION = "position"
_TROUBLE = "trouble"
"""Of an offset that is none: why the log could not be asked for its end."""
_SOON, _LATE, _MOST_TIMES = 1.0, 4.0, 32


class Following(Protocol):
    """What a stream reads and does. Picklable: it lives in processes that Spark starts."""

    @property
    def log(self) -> ChangeLog: ...

    @property
    def start(self) -> Position: ...

    @property
    def batch_bytes(self) -> int: ...

    @property
    def poll_seconds(self) -> float: ...

    @property
    def cells(self) -> int:
        """How many columns there are to be for Cells."""

    def work(self, after: Position, upto: Position) -> Work: ...


class Pace:
    """How many bytes of a log to read at once: more while that takes no time, less when it takes long.

    What takes time are changes; of a log that is full of other tables' there may be gigabytes without one.
    """

    def __init__(self, bytes_: int) -> None:
        self._least = self.bytes = bytes_
        self._began = time.monotonic()

    def went_on(self) -> None:
        """A batch is done, and the next one begins."""
        took, self._began = time.monotonic() - self._began, time.monotonic()
        if took < _SOON:
            self.bytes = min(self.bytes * 2, self._least * _MOST_TIMES)
        elif took > _LATE:
            self.bytes = max(self.bytes // 2, self._least)


def stream_frame(spark: SparkSession, following: Following) -> DataFrame:
    """An endless frame of work.SCHEMA, with columns for Cells: what comes of the work, pickled."""
    guard_callbacks()
    spark.dataSource.register(ChangeSource)
    packed = base64.b64encode(pickle.dumps((are_hidden(), following))).decode("ascii")
    return spark.readStream.format(ChangeSource.name()).option(_OPTION, packed).load()


class ChangeSource(DataSource):
    """The changes of a log, as far as they have been worked on."""

    @classmethod
    def name(cls) -> str:
        return "tieout_changes"

    def schema(self) -> str:
        schema = schema_with(self._unpacked[1].cells)
        keep_what_is_loaded()
        return schema

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - the name that Spark asks for
        reader = _ChangeReader(*self._unpacked)
        keep_what_is_loaded()
        return reader

    @property
    def _unpacked(self) -> tuple[bool, Following]:
        unpacked: tuple[bool, Following] = pickle.loads(base64.b64decode(self.options[_OPTION]))
        return unpacked


@dataclass(frozen=True)
class _Trouble:
    """A piece of work whose result is an error."""

    error: TieoutError

    def run(self) -> Iterator[TieoutError]:
        yield self.error


class _ChangeReader(DataSourceStreamReader):
    def __init__(self, hides: bool, following: Following) -> None:
        self._hides = hides
        self._following = following
        self._pace = Pace(following.batch_bytes)
        self._asked = 0.0

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        return {_POSITION: self._following.start.text}

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802
        # Asked every few milliseconds by Spark, the server shall not be.
        time.sleep(max(0.0, self._asked + self._following.poll_seconds - time.monotonic()))
        self._pace.went_on()
        try:
            with hidden(self._hides):
                ends = self._following.log.ends(Position(start[_POSITION]), self._pace.bytes, 1)
        except TieoutError as error:
            # Raised here, it would end the stream as words of Spark's, with a stack in them.
            return {**start, _TROUBLE: base64.b64encode(pickle.dumps(error)).decode("ascii")}
        self._asked = 0.0 if ends else time.monotonic()
        return {_POSITION: ends[-1].text} if ends else start

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        if start == end:
            return []
        if _TROUBLE in end:
            work: Work = _Trouble(pickle.loads(base64.b64decode(end[_TROUBLE])))
        else:
            work = self._following.work(Position(start[_POSITION]), Position(end[_POSITION]))
        return [Pieces(0, pickle.dumps([work]), self._following.cells, self._hides)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_pieces(partition)
