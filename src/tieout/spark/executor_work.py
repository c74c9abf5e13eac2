"""Runs work on executors, through a PySpark data source.

A piece of work is a picklable value with `run()`, which yields picklable results. Partitions are lists of
pieces, which one task does one after another. An error ends its piece of work and travels to the driver as
data: the flow decides what to make of it, and the other pieces go on.
"""

from __future__ import annotations

import base64
import gc
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

import pyarrow as pa
import stamina
from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from tieout.connectors.sql.connection_cache import kept_open
from tieout.errors import SparkFailure, TieoutError
from tieout.model.server_words import are_hidden, hidden, told
from tieout.spark.errors import job_failure

SCHEMA = "work long, bucket int, payload binary"
_CELLS = "cells"
"""The option with the number of columns for Cells; they are named by `cell_name`."""
_HIDES = "hides"
"""The option that says whether to quote servers without values."""
_MOST_ROWS = 10_000
"""The most rows of Cells in one batch: Arrow's strings take 2 GB together."""
_OPTION = "secret.work"
"""Named so that Spark redacts it from plans and event logs: connections hold passwords."""


class Work(Protocol):
    def run(self) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of one piece of work, and the error that ended it, if one did."""

    results: tuple[Any, ...]
    error: TieoutError | None = None

    def only(self) -> Any:
        """The single result; raises the error."""
        if self.error is not None:
            raise self.error
        (result,) = self.results
        return result


def run_work(
    spark: SparkSession,
    partitions: Sequence[Sequence[Work]],
    *,
    cells: int = 0,
    then: Callable[[DataFrame], DataFrame] | None = None,
) -> list[list[Outcome]]:
    """The outcomes, in the shape of `partitions`: one Spark task for each.

    With `then`, Spark goes on with the results: a frame with `cells` columns for Cells. `then` returns SCHEMA again.
    """
    partitions = [list(partition) for partition in partitions]
    if not any(partitions):
        return [[] for _ in partitions]

    def collected() -> list[Row]:
        frame = work_frame(spark, partitions, cells)
        return (frame if then is None else then(frame)).collect()

    with job_errors():
        rows = interruptible(spark, collected)
    results: dict[int, list[Any]] = {}
    errors: dict[int, TieoutError] = {}
    for row in rows:
        payload = pickle.loads(row.payload)
        if isinstance(payload, TieoutError):
            errors[row.work] = payload
        else:
            results.setdefault(row.work, []).append(payload)
    numbers = iter(range(sum(map(len, partitions))))
    return [
        [Outcome(tuple(results.get(n, ())), errors.get(n)) for _, n in zip(partition, numbers, strict=False)]
        for partition in partitions
    ]


def work_frame(spark: SparkSession, partitions: Sequence[Sequence[Work]], cells: int = 0) -> DataFrame:
    """The results of work as a frame of SCHEMA, for Spark to go on with; payloads are pickled.

    `cells` is the number of columns for Cells, if the results have some.
    """
    if spark not in _REGISTERED:
        spark.dataSource.register(WorkSource)
        _REGISTERED.add(spark)
    # Each partition in a pickle of its own: the process that plans hands them on, and never loads what they need.
    pickles = [(len(partition), pickle.dumps(list(partition))) for partition in partitions]
    packed = base64.b64encode(pickle.dumps(pickles)).decode("ascii")
    reader = spark.read.format(WorkSource.name()).option(_OPTION, packed).option(_CELLS, cells)
    return reader.option(_HIDES, are_hidden()).load()


@contextmanager
def job_errors() -> Iterator[None]:
    """Turns errors of a Spark job inside into a SparkFailure of one line: an ExpressionFailure if values caused it."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise job_failure(error) from None


_REGISTERED: WeakSet[SparkSession] = WeakSet()


@dataclass(frozen=True, slots=True)
class Bucketed:
    """A result that Spark groups by `bucket`."""

    bucket: int
    value: Any


@dataclass(frozen=True, slots=True)
class Cells:
    """A result that Spark itself works on: rows of text, as columns."""

    bucket: int
    columns: Sequence[pa.Array]


def cell_name(place: int) -> str:
    return f"c{place}"


def schema_with(cells: int) -> str:
    """SCHEMA with this number of columns for Cells."""
    return ", ".join([SCHEMA, *(f"{cell_name(place)} string" for place in range(cells))])


class Pieces(InputPartition):
    """Pickled work for a task; `first` is the number of its first piece, `cells` the number of columns for Cells.

    `hides`: quote servers without values, as the process that asks for the work does.
    """

    def __init__(self, first: int, pickled: bytes, cells: int = 0, hides: bool = False) -> None:
        self.hides = hides
        self.first = first
        self.pickled = pickled
        self.cells = cells


class WorkSource(DataSource):
    """A table whose rows are the results of work."""

    @classmethod
    def name(cls) -> str:
        return "tieout_work"

    def schema(self) -> str:
        keep_what_is_loaded()
        return schema_with(int(self.options[_CELLS]))

    def reader(self, schema: Any) -> DataSourceReader:
        keep_what_is_loaded()
        return _WorkReader(self.options[_OPTION], int(self.options[_CELLS]), self.options.get(_HIDES) == "true")


class _WorkReader(DataSourceReader):
    def __init__(self, packed: str, cells: int, hides: bool = False) -> None:
        self._packed = packed
        self._hides = hides
        self._cells = cells

    def partitions(self) -> Sequence[InputPartition]:
        first, result = 0, []
        for pieces, pickled in pickle.loads(base64.b64decode(self._packed)):
            result.append(Pieces(first, pickled, self._cells, self._hides))
            first += pieces
        # Otherwise all the work would be packed once more with every partition, and travel to each task.
        self._packed = ""
        return result

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_pieces(partition)


def read_pieces(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Does the work of a task; yields its results as rows of its frame."""
    assert isinstance(partition, Pieces)
    with kept_open(), hidden(partition.hides):
        for number, piece in enumerate(pickle.loads(partition.pickled), partition.first):
            for result in _results_or_error(piece):
                if isinstance(result, Cells):
                    yield from _cell_rows(number, result, partition.cells)
                elif isinstance(result, Bucketed):
                    yield _row(number, result.bucket, result.value, partition.cells)
                else:
                    yield _row(number, None, result, partition.cells)
    keep_what_is_loaded()


def _row(number: int, bucket: int | None, value: Any, cells: int) -> pa.RecordBatch:
    columns = [pa.array([number], pa.int64()), pa.array([bucket], pa.int32()), pa.array([pickle.dumps(value)])]
    return _batch([*columns, *(pa.nulls(1, pa.string()) for _ in range(cells))])


def _cell_rows(number: int, result: Cells, cells: int) -> Iterator[pa.RecordBatch]:
    rows = len(result.columns[0])
    for start in range(0, rows, _MOST_ROWS):
        part = [column.slice(start, _MOST_ROWS).cast(pa.string()) for column in result.columns]
        size = len(part[0])
        ends = [pa.nulls(size, pa.string()) for _ in range(cells - len(part))]
        places = [pa.repeat(pa.scalar(number, pa.int64()), size), pa.repeat(pa.scalar(result.bucket, pa.int32()), size)]
        yield _batch([*places, pa.nulls(size, pa.binary()), *part, *ends])


def _batch(columns: list[pa.Array]) -> pa.RecordBatch:
    names = ["work", "bucket", "payload", *(cell_name(place) for place in range(len(columns) - 3))]
    return pa.RecordBatch.from_arrays(columns, names)


def _results_or_error(piece: Work) -> Iterator[Any]:
    try:
        yield from _results(piece)
    except TieoutError as error:
        yield error
    except Exception as error:
        # The worker's loop: a bug of ours ends this piece of work, with its name, and not the job.
        yield SparkFailure(f"{type(piece).__name__} failed: {type(error).__name__}: {told(str(error))}")


def _results(piece: Work) -> Iterator[Any]:
    """Yields what `run` yields. Retries if the connection is lost before the first result."""
    for attempt in stamina.retry_context(on=_is_transient, attempts=3, wait_initial=0.5, timeout=60):
        with attempt:
            results = iter(piece.run())
            first = next(results, _NOTHING)
    if first is not _NOTHING:
        yield first
        yield from results


def _is_transient(error: Exception) -> bool:
    return isinstance(error, TieoutError) and error.transient


_NOTHING = object()


Mapped = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


_kept_modules = 0


def keep_what_is_loaded() -> None:
    """Takes the loaded modules out of garbage collection, which Spark's Python processes run after every task.

    They do one task after another. The collector would look at a hundred thousand objects each time, for longer than
    most tasks take. Does nothing unless modules were loaded since: what is garbage by then stays.
    """
    global _kept_modules  # noqa: PLW0603 - one for each process
    if len(sys.modules) > _kept_modules:
        gc.freeze()
        _kept_modules = len(sys.modules)


def map_batches(frame: DataFrame, function: Mapped, schema: str) -> DataFrame:
    """The batches that `function` makes of a frame's, in Python, where values are hidden if they are hidden here."""

    hides = are_hidden()

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with hidden(hides):
            yield from function(batches)
        keep_what_is_loaded()

    return frame.mapInArrow(mapped, schema)


T = TypeVar("T")


def interruptible(spark: SparkSession, call: Callable[[], T]) -> T:
    """Returns what `call` returns. Ctrl-C (KeyboardInterrupt) cancels the jobs that it has started, and no others.

    py4j has one connection for each thread. A call that an exception leaves in the middle leaves its answer
    behind, for the next call to take as its own; and pyspark makes such calls on its way out. So the thread that
    hears signals only waits, and another one calls.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome: Future[T] = Future()
    tag = f"tieout-{id(outcome)}"

    def run() -> None:
        try:
            spark.sparkContext.addJobTag(tag)
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    # A daemon, so that a job that won't end can't keep the program from ending. Jobs get the caller's group and pool.
    threading.Thread(target=inheritable_thread_target(spark)(run), name="tieout-spark", daemon=True).start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        spark.sparkContext.cancelJobsWithTag(tag)
        raise
