"""Row filters and column expressions on rows in tab form, as Spark SQL: one projection, whatever the tables are.

Everything that a task computes is computed here: by a mover for the rows that it writes, by a verification for the rows
that it expects. Columns that no expression names never pass through Spark's types.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType, StructField

from tieout.connectors.sql.copy_text import MARK
from tieout.errors import UsageError
from tieout.model.moves import OWN_COLUMN, SCHEMA_NAME, TABLE_NAME, Shape, Transfer, WrongForTypes
from tieout.model.row_changes import ChangeKind
from tieout.model.tables import Table, TableName
from tieout.model.types import LogicalType, TypeName, fits_spark
from tieout.spark.errors import complaint, frame_errors
from tieout.spark.executor_work import cell_name, schema_with
from tieout.spark.frames.types import is_interval
from tieout.spark.session import refuse_other_time_zone

TRANSFORMED = "transformed"
_CARRIED = ("work", "bucket", "payload")


def transformed(
    frame: DataFrame,
    transfers: Mapping[int, Transfer],
    extra: int = 0,
    *,
    named: bool = False,
    classed: bool = False,
) -> DataFrame:
    """A frame of work with Cells, as one with `work`, `bucket`, `payload` and an array of texts, `transformed`.

    A bucket is a transfer's number. Its array begins with whether the row passes the filter ("true"), then come the
    texts for the columns of its target, then `extra` cells unchanged: for a change, the first one is its kind.
    `named`: after what is read come the schema and the name of the row's table, so that tables can share a transfer.
    `classed`: values are in SQLite's tab form, whose letter is a value's class.
    """
    refuse_other_time_zone(frame.sparkSession)
    frame = frame.select(*(fn.col(name).alias(_own(name)) for name in frame.columns))
    projection = _Projection(extra, named, classed)
    for number, transfer in transfers.items():
        with frame_errors(str(transfer.source.name)):
            frame = projection.added(frame, number, transfer)
    results = [fn.col(_result(number)) for number in transfers]
    return frame.select(
        *(fn.col(_own(name)).alias(name) for name in _CARRIED),
        fn.coalesce(*results).alias(TRANSFORMED),
    )


@dataclass(frozen=True, slots=True)
class _Projection:
    extra: int
    named: bool
    classed: bool

    def added(self, frame: DataFrame, number: int, transfer: Transfer) -> DataFrame:
        shape = transfer.shape
        assert shape is not None
        here = fn.col(_own("bucket")) == number
        table = transfer.source
        width = len(shape.reads)
        origin = (
            (_cell(width), _cell(width + 1)) if self.named else (fn.lit(table.name.schema), fn.lit(table.name.name))
        )
        values = dict(zip((SCHEMA_NAME, TABLE_NAME), origin, strict=True))
        for name, place in shape.uses:
            values[name] = fn.when(here, typed(_cell(place), table.column(name).type, classed=self.classed))
        frame = frame.withColumns(values)
        extras = [_cell(width + place) for place in range(self.extra)]
        # A deleted row may have only its key.
        whole = extras[0] != str(int(ChangeKind.DELETE)) if extras and transfer.key else fn.lit(True)
        passes = fn.lit(True)
        if shape.where:
            _refuse_condition(_analysed(frame, table.name, shape.where), table.name, shape.where)
            passes = fn.when(whole, fn.expr(shape.where))
        passes = fn.coalesce(passes, fn.lit(False))
        texts = []
        for place, cell in enumerate(shape.cells):
            if isinstance(cell, int):
                texts.append(_cell(cell))
            else:
                kind = _analysed(frame, table.name, cell).dataType
                # A row that does not pass is deleted by its key: an expression may fail for the rest of it.
                guard = fn.lit(True) if place in transfer.key else whole & passes
                holder = transfer.columns[place][1].type
                _refuse_interval(kind, holder, table.name, cell)
                texts.append(fn.when(guard, _held_text(fn.expr(cell), kind, holder, classed=self.classed)))
        result = fn.array(passes.cast("string"), *texts, *extras)
        return frame.withColumn(_result(number), fn.when(here, result)).drop(*values)


def _own(name: str) -> str:
    return f"{OWN_COLUMN}{name}"


def _cell(place: int) -> Column:
    return fn.col(_own(cell_name(place)))


def _result(number: int) -> str:
    return _own(f"transformed_{number}")


def refuse_wrong(session: SparkSession, transfers: Iterable[Transfer]) -> None:
    """Raises UsageError for the first expression that Spark refuses. Reads nothing, and starts no Spark job."""
    for transfer in transfers:
        empty = session.createDataFrame([], schema_with(len(transfer.reads.columns)))
        transformed(empty, {0: transfer})


def computed(session: SparkSession, table: Table, shape: Shape) -> list[StructField]:
    """The types of a table's expressions, in their order."""
    frame = _of_columns(session, table, shape)
    return [_analysed(frame, table.name, cell) for cell in shape.cells if isinstance(cell, str)]


def resolved_condition(session: SparkSession, table: Table, shape: Shape) -> DataFrame:
    """A condition, or any expression in its place, in a frame that is not read: Spark has resolved it."""
    assert shape.where is not None
    return _selected(_of_columns(session, table, shape), table.name, shape.where)


def _of_columns(session: SparkSession, table: Table, shape: Shape) -> DataFrame:
    """No rows, with the columns that expressions may name."""
    refuse_other_time_zone(session)
    empty = session.createDataFrame([], schema_with(len(shape.reads)))
    named = {name: typed(fn.col(cell_name(place)), table.column(name).type) for name, place in shape.uses}
    return empty.withColumns({SCHEMA_NAME: fn.lit(""), TABLE_NAME: fn.lit(""), **named})


def _analysed(frame: DataFrame, table: TableName, text: str) -> StructField:
    """The expression's type. UsageError if Spark refuses it, or if its value depends on more than its row."""
    with _refusing(table, text):
        found = _selected(frame, table, text).schema["computed"]
        assert isinstance(found.dataType, spark.ArrayType)
        return StructField("computed", found.dataType.elementType)


def _selected(frame: DataFrame, table: TableName, text: str) -> DataFrame:
    with _refusing(table, text):
        # In an array and beside a column, where the projection has it: an aggregate or a generator can't stand there.
        return frame.select(frame.columns[0], fn.array(fn.expr(text)).alias("computed"))


@contextmanager
def _refusing(table: TableName, text: str) -> Iterator[None]:
    try:
        yield
    except AnalysisException as error:  # a ParseException is one, too
        refused = WrongForTypes if (error.getCondition() or "").startswith("DATATYPE_MISMATCH") else UsageError
        raise refused(
            f"{table}: {text!r}: {complaint(error)}", "correct the condition or expression; it has to be Spark SQL"
        ) from None


def _refuse_condition(found: StructField, table: TableName, text: str) -> None:
    if not isinstance(found.dataType, spark.BooleanType):
        said = f"{table}: {text!r} is not a condition: it is of type {found.dataType.simpleString()}"
        raise WrongForTypes(said, "correct the condition; it has to be Spark SQL")


def _refuse_interval(t: DataType, holder: LogicalType, table: TableName, text: str) -> None:
    if is_interval(t) and holder.name not in _WORDS:
        raise WrongForTypes(
            f"{table}: {text!r} is of type {t.simpleString()}, whose text is no {holder}",
            "compute a number, as with timestampdiff(SECOND, started, ended), or a text of the column's own form",
        )


_WORDS = {TypeName.TEXT, TypeName.CHAR}
_INTEGER_BITS = 63


def typed(cell: Column, t: LogicalType, *, classed: bool = False) -> Column:
    """A text of tab form as a Spark value. A value that Spark's type can't hold is an error, never NULL."""
    if classed:
        cell = _unclassed(cell, t)
    if t.name is TypeName.BOOLEAN:
        return cell.isin("1", "t", "true")
    if t.name in _DATED:
        cell = _before_christ(cell)
    if t.name is TypeName.CHAR:
        return fn.rtrim(cell)
    if t.name is TypeName.BINARY:
        return fn.unhex(fn.substr(cell, fn.lit(3)))
    if t.name is TypeName.INSTANT:
        return fn.concat(fn.regexp_replace(cell, r"\+00$", ""), fn.lit("+00:00")).cast("timestamp")
    if t.name is TypeName.TIME:
        # Engines write 12:00:00.500 with as many zeros as the column has digits, or with none.
        text = fn.regexp_replace(fn.regexp_replace(cell, r"(\.\d*?)0+$", "$1"), r"\.$", "")
        # As texts, 9 hours are more than 100, and so are -1.
        wrong = fn.raise_error(fn.lit("a TIME below 0 or above 99 hours can't be used in an expression")).cast("string")
        return fn.when(cell.rlike(r"^\d\d:"), text).when(cell.isNotNull(), wrong)
    kind = _spark_type(t)
    if kind is None:
        return cell
    value = cell.cast(kind)
    if not kind.startswith("decimal"):
        return value
    # SQLite does not enforce a size. The cast alone would round.
    wrong = fn.raise_error(fn.concat(fn.lit("a value does not fit into "), fn.lit(kind))).cast(kind)
    return fn.when(value.cast("double") == cell.cast("double"), value).when(cell.isNotNull(), wrong)


_DATED = {TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT}


def _before_christ(cell: Column) -> Column:
    """PostgreSQL's 0044-03-15 BC as Spark and the canonical form have it: the year -43. Spark would ignore the BC."""
    year = fn.regexp_extract(cell, r"^\d+", 0)
    number = fn.lpad((year.cast("int") - 1).cast("string"), 4, "0")
    rest = fn.regexp_extract(cell, r"^\d+(.*) BC$", 1)
    sign = fn.when(number == "0000", "").otherwise("-")
    return fn.when(cell.endswith(" BC"), fn.concat(sign, number, rest)).otherwise(cell)


def _unclassed(cell: Column, t: LogicalType) -> Column:
    r"""SQLite's tab form (a letter for the class of a value) without its letter; a BLOB with \x, a REAL in digits."""
    rest = fn.substr(cell, fn.lit(2))
    wrong = fn.raise_error(fn.lit("a text that is not UTF-8 can't be used in an expression"))
    # Java reads hexadecimal digits of a float, and writes the shortest decimal ones that mean the same.
    real = rest.cast("double").cast("string")
    return (
        fn.when(cell.startswith("t"), rest)
        .when(cell.startswith("r"), real)
        .when(cell.startswith("b"), fn.concat(fn.lit("\\x"), rest))
        .when(cell.startswith("u"), wrong.cast("string"))
        .otherwise(cell)
    )


def _spark_type(t: LogicalType) -> str | None:
    """None: the text itself."""
    if t.name is TypeName.INTEGER:
        bits = (t.precision or 64) + int(t.unsigned) - 1
        return "bigint" if bits <= _INTEGER_BITS else "decimal(20,0)"
    if t.name is TypeName.DECIMAL:
        return f"decimal({t.precision},{t.scale or 0})" if fits_spark(t) else None
    return {
        TypeName.FLOAT32: "float",
        TypeName.FLOAT64: "double",
        TypeName.DATE: "date",
        TypeName.TIMESTAMP: "timestamp_ntz",
        TypeName.YEAR: "int",
    }.get(t.name)


_MICROSECONDS = 6
_WITH_DIGITS = {TypeName.TIMESTAMP, TypeName.INSTANT}


def _held_text(value: Column, t: DataType, holder: LogicalType, *, classed: bool) -> Column:
    """A computed value as a text that its column holds unchanged: a moment with no more digits than the column has,
    rounded half up. PostgreSQL would round it, and MariaDB cut it off. What goes to a column of bytes are the bytes of
    its text, if it is not bytes itself: PostgreSQL would look for escapes in it. An SQLite column takes both.
    """
    if holder.name is TypeName.BINARY and not classed and not isinstance(t, spark.BinaryType):
        return as_text(as_text(value, t).cast("binary"), spark.BinaryType())
    if holder.name is TypeName.YEAR and isinstance(t, spark.NumericType):
        return _year(as_text(value, t, classed=classed))
    if holder.native.startswith(_SHORTENED) and holder.precision is not None and not classed:
        text = as_text(value, t)
        return fn.when(fn.length(text) > holder.precision, fn.concat(text, fn.lit(MARK))).otherwise(text)
    if holder.name is TypeName.FLOAT64 and isinstance(t, spark.FloatType):
        # Its shortest digits are those of another double.
        return as_text(value.cast("double"), spark.DoubleType(), classed=classed)
    if holder.name is TypeName.FLOAT32 and holder.scale is None and not classed and isinstance(t, _FINER_THAN_FLOATS):
        return _float_text(value, t)
    digits = holder.precision
    is_moment = isinstance(t, spark.TimestampType | spark.TimestampNTZType) and holder.name in _WITH_DIGITS
    if not is_moment or digits is None or digits >= _MICROSECONDS:
        return as_text(value, t, classed=classed)
    half = 10 ** (_MICROSECONDS - digits) // 2
    text = as_text(fn.timestamp_add("MICROSECOND", fn.lit(half), value), t, classed=classed)
    return fn.regexp_replace(text, rf"(\.\d{{{digits}}})\d+$" if digits else r"\.\d+$", "$1" if digits else "")


_FINER_THAN_FLOATS = (spark.DoubleType, spark.DecimalType, spark.LongType)


def _float_text(value: Column, t: DataType) -> Column:
    """A number as the text of the nearest FLOAT: PostgreSQL rounds the digits of a text, MariaDB a double of them, and
    the two differ where a value is half-way between two floats. What a FLOAT can't hold is the server's to refuse.
    """
    short, wide = value.cast("float"), value.cast("double")
    lost = (fn.abs(short) == math.inf) & (fn.abs(wide) != math.inf) | (short == 0) & (wide != 0)
    return fn.when(lost, as_text(value, t)).otherwise(as_text(short, spark.FloatType()))


_SHORTENED = ("varchar", "character varying")
"""PostgreSQL silently drops spaces that are too much for such a column."""


def _year(text: Column) -> Column:
    """A number as four digits: MariaDB reads one or two as a year of this century or of the last. Those from 1 to 99
    are not years, and become a text that it refuses.
    """
    return (
        fn.when(text.rlike(r"^-?0(\.0*)?$"), "0000")
        .when(text.rlike(r"^\d{1,2}(\.|$)"), fn.concat(text, fn.lit(" is not a year")))
        .otherwise(text)
    )


def as_text(value: Column, t: DataType, *, classed: bool = False) -> Column:
    """A value as a text of tab form, not escaped yet."""
    text = _plain_text(value, t)
    if not classed:
        return text
    if isinstance(t, spark.BinaryType):
        return fn.concat(fn.lit("b"), fn.substr(text, fn.lit(3)))
    if isinstance(t, spark.BooleanType | spark.IntegralType):
        return text
    # The column's own affinity makes a number of a text, except for a double: its digits are read as exactly that.
    letter = "d" if isinstance(t, spark.FloatType | spark.DoubleType) else "t"
    return fn.concat(fn.lit(letter), text)


def _plain_text(value: Column, t: DataType) -> Column:
    if isinstance(t, spark.BooleanType):
        return value.cast("int").cast("string")
    if isinstance(t, spark.BinaryType):
        return fn.concat(fn.lit("\\x"), fn.lower(fn.hex(value)))
    if isinstance(t, spark.TimestampType):
        return fn.convert_timezone(fn.current_timezone(), fn.lit("UTC"), value.cast("timestamp_ntz")).cast("string")
    if isinstance(t, spark.ArrayType | spark.MapType | spark.StructType):
        return fn.to_json(value)
    return value.cast("string")


@dataclass(frozen=True, slots=True)
class TransformedRows:
    """Rows of a transfer, as columns: whether they pass the filter, their texts, and further cells."""

    number: int
    columns: list[pa.Array]

    def __len__(self) -> int:
        return len(self.columns[0])


def transformed_items(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """In a task, the batches of `transformed`: results of work in order, and the rows between them (TransformedRows);
    each with the number of its work.
    """
    for batch in batches:
        start = 0
        works, buckets, payloads = (batch.column(name) for name in _CARRIED)
        # Runs of rows of one sort: a result stands alone, rows of one piece of work and one table come together.
        sorts = [
            None if payload else (work, bucket)
            for payload, work, bucket in zip(
                payloads.is_valid().to_pylist(), works.to_pylist(), buckets.to_pylist(), strict=True
            )
        ]
        while start < len(sorts):
            sort = sorts[start]
            if sort is None:
                yield works[start].as_py(), pickle.loads(payloads[start].as_py())
                start += 1
                continue
            end = start
            while end < len(sorts) and sorts[end] == sort:
                end += 1
            yield sort[0], TransformedRows(sort[1], _columns(batch.column(TRANSFORMED).slice(start, end - start)))
            start = end


def _columns(rows: pa.ListArray) -> list[pa.Array]:
    """Lists of one length, as columns."""
    width = len(rows[0])
    flat = rows.flatten().cast(pa.large_string())
    return [flat.take(pa.array(range(place, len(flat), width))) for place in range(width)]


def result_batch(work: int, value: Any, bucket: int | None = None) -> pa.RecordBatch:
    """A result of work as a row of its frame."""
    return pa.RecordBatch.from_arrays(
        [pa.array([work], pa.int64()), pa.array([bucket], pa.int32()), pa.array([pickle.dumps(value)], pa.binary())],
        list(_CARRIED),
    )
