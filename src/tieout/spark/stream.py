"""A change log as a Spark Structured Streaming source: its offsets are positions.

Each log batch is a piece of work, done where the changes are read; Spark gets its result. Spark's checkpoint is worth
nothing to us: the target knows how far it is.
"""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import pyarrow as pa
from py4j.clientserver import ClientServer
from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.errors import TieoutError
from tieout.model.positions import Position
from tieout.model.server_words import are_hidden, hidden
from tieout.spark.executor_work import Pieces, Work, keep_what_is_loaded, read_pieces, schema_with

_OPTION = "secret.following"
_POSITION = "position"
_ERROR = "error"
"""Marks an offset that holds an error instead: why the log's end could not be read."""
_SOON, _LATE = 1.0, 4.0
MOST_TIMES = 32
"""How many times the asked bytes a batch may have."""


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
        """How many columns the frame has for Cells."""

    def work(self, after: Position, upto: Position) -> Work: ...


class Pace:
    """How many bytes of a log to read at once: more while a batch takes no time, less when it takes long.

    Changes take time; a log that is full of other tables' changes may have gigabytes without one of ours.
    """

    def __init__(self, bytes_: int) -> None:
        self._least = self.bytes = bytes_
        self._began = time.monotonic()

    def went_on(self) -> None:
        """A batch is done, and the next one begins."""
        took, self._began = time.monotonic() - self._began, time.monotonic()
        if took < _SOON:
            self.bytes = min(self.bytes * 2, self._least * MOST_TIMES)
        elif took > _LATE:
            self.bytes = max(self.bytes // 2, self._least)


def stream_frame(spark: SparkSession, following: Following) -> DataFrame:
    """An endless frame of executor_work.SCHEMA, with columns for Cells: the pickled results of the work."""
    guard_callbacks()
    spark.dataSource.register(ChangeSource)
    packed = base64.b64encode(pickle.dumps((are_hidden(), following))).decode("ascii")
    return spark.readStream.format(ChangeSource.name()).option(_OPTION, packed).load()


class ChangeSource(DataSource):
    """The results of working on the changes of a log."""

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
class _Failed:
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
        # Spark asks every few milliseconds; the server should not have to answer that often.
        time.sleep(max(0.0, self._asked + self._following.poll_seconds - time.monotonic()))
        self._pace.went_on()
        try:
            with hidden(self._hides):
                ends = self._following.log.ends(Position(start[_POSITION]), self._pace.bytes, 1)
        except TieoutError as error:
            # Raised here, it would end the stream as an error of Spark's, with a stack trace in it.
            return {**start, _ERROR: base64.b64encode(pickle.dumps(error)).decode("ascii")}
        self._asked = 0.0 if ends else time.monotonic()
        return {_POSITION: ends[-1].text} if ends else start

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        if start == end:
            return []
        if _ERROR in end:
            work: Work = _Failed(pickle.loads(base64.b64decode(end[_ERROR])))
        else:
            work = self._following.work(Position(start[_POSITION]), Position(end[_POSITION]))
        return [Pieces(0, pickle.dumps([work]), self._following.cells, self._hides)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_pieces(partition)


_CLIENT = "cbClient"
_OURS: WeakKeyDictionary[ClientServer, JavaObject] = WeakKeyDictionary()
"""Java's end of the callbacks that each gateway was given here."""
_GUARDING = Lock()


def guard_callbacks() -> None:
    """From now on Java has to send the token of the session's own connection when it calls into this process.

    A stream hands its batches to Python through a port of this machine. pyspark lets anyone call there: when it gives
    Java the port, py4j's copy of the client loses the token that both sides have (PythonClient.copyWith). Another
    process that uses the same Java takes the callbacks away the same way, so each stream looks whether they are ours.
    """
    gateway = SparkContext._gateway
    # Gateways of other kinds were made by a platform for its users; it answers for them.
    if not isinstance(gateway, ClientServer) or gateway.java_parameters.auth_token is None:
        return
    with _GUARDING:
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
        if server.getCallbackClient() != _OURS.get(gateway):
            _OURS[gateway] = _client(gateway, server, gateway.java_parameters.auth_token)
            _set_client(gateway, server, _OURS[gateway])
            gateway.python_parameters.auth_token = gateway.java_parameters.auth_token


def _client(gateway: Any, server: Any, token: str) -> Any:
    """A client like the one that py4j has, with the token and this process's port."""
    java, known = gateway.jvm, server.getCallbackClient()
    seconds = java.java.util.concurrent.TimeUnit.SECONDS
    factory = java.javax.net.SocketFactory.getDefault()
    address = gateway._callback_server.port, known.getAddress()
    rest = server, known.isMemoryManagementEnabled(), known.getReadTimeout(), token
    commands = server.getCustomCommands()
    return java.py4j.PythonClient(server.getGateway(), commands, *address, 30, seconds, factory, *rest)


def _set_client(gateway: Any, server: Any, client: Any) -> None:
    field = server.getGateway().getClass().getDeclaredField(_CLIENT)
    field.setAccessible(True)
    field.set(server.getGateway(), client)
