"""Runs work on executors, through a PySpark data source.

A piece of work is a picklable value with `run()`, which yields picklable results. Partitions are lists of
pieces, done one after another by one task. An error ends its piece of work and travels to the driver as
data: what to make of it is the flow's business, and the other pieces go on.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakSet

import pyarrow as pa
import stamina
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from tieout.connectors.sql.connection_cache import kept_open
from tieout.errors import SparkFailure, TieoutError
from tieout.model.server_words import are_hidden, hidden, told
from tieout.spark.faults import log_hint, said, worker_fault
from tieout.spark.interrupts import interruptible
from tieout.spark.workers import keep_what_is_loaded

SCHEMA = "work long, bucket int, payload binary"
_CELLS = "cells"
"""The option with the number of columns for Cells; they are named by `cell_name`."""
_HIDES = "hides"
"""The option that says whether what servers say is told without values."""
_MOST_ROWS = 10_000
"""Of Cells in one batch: Arrow's strings are of 2 GB together."""
_OPTION = "secret.work"
"""Named so that Spark redacts it from plans and event logs: connections hold passwords."""


class Work(Protocol):
    def run(self) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one piece of work: its results, and the error that ended it, if one did."""

    results: tuple[Any, ...]
    error: TieoutError | None = None

    def only(self) -> Any:
        """The single result; the error is raised."""
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

    With `then`, Spark goes on with the results, of which so many columns may be Cells; it is to end in SCHEMA again.
    """
    partitions = [list(partition) for partition in partitions]
    if not any(partitions):
        return [[] for _ in partitions]

    def collected() -> list[Row]:
        frame = work_frame(spark, partitions, cells)
        return (frame if then is None else then(frame)).collect()

    with spark_errors():
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
    """The results of work as a frame of SCHEMA, for what goes on in Spark; payloads are pickled.

    With columns for Cells, if there are some among the results.
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
def spark_errors() -> Iterator[None]:
    """Failures of a Spark job inside become a SparkFailure of one line."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        if fault := worker_fault(str(error)):
            raise fault from None
        # The last line of a Python traceback names the error; Java's frames ("at …withInternalError…") name nothing.
        lines = [
            line.strip() for line in str(error).splitlines() if line.strip() and not line.strip().startswith("at ")
        ]
        line = next((line for line in reversed(lines) if "Error" in line), lines[0] if lines else type(error).__name__)
        raise SparkFailure(f"a Spark job failed: {said(error, line[:300])}", log_hint()) from None


_REGISTERED: WeakSet[SparkSession] = WeakSet()


@dataclass(frozen=True, slots=True)
class Bucketed:
    """A result that goes on to be grouped by `bucket`."""

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
    """SCHEMA with so many columns for Cells."""
    return ", ".join([SCHEMA, *(f"{cell_name(place)} string" for place in range(cells))])


class Pieces(InputPartition):
    """Pickled work for a task; `first` is the number of its first piece, `cells` of how many columns its frame has.

    `hides`: what servers say is told without values, as in the process that asks for the work.
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
        # Packed once more with every partition, all the work would travel to each task.
        self._packed = ""
        return result

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_pieces(partition)


def read_pieces(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Does the work of a task; its results as rows of its frame."""
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
        # The worker's loop: a mistake of ours ends this piece of work, with its name, and not the job.
        yield SparkFailure(f"{type(piece).__name__} failed: {type(error).__name__}: {told(str(error))}")


def _results(piece: Work) -> Iterator[Any]:
    """What `run` yields. A connection lost before the first result is worth another try."""
    for attempt in stamina.retry_context(on=_worth_another_try, attempts=3, wait_initial=0.5, timeout=60):
        with attempt:
            results = iter(piece.run())
            first = next(results, _NOTHING)
    if first is not _NOTHING:
        yield first
        yield from results


def _worth_another_try(error: Exception) -> bool:
    return isinstance(error, TieoutError) and error.transient


_NOTHING = object()
