"""Tables that only a Spark session can read, with the face of an endpoint: lakes, and `spark:///catalog.schema`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Capabilities
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import MissingObjectError
from tieout.model.tables import Column, Table, TableName
from tieout.spark.errors import frame_errors
from tieout.spark.frames.types import logical_type
from tieout.spark.frames.values import quoted

CAPABILITIES = Capabilities(family="spark", native_hash=True, bucket_hash=True)

_STRICT = {
    # Whatever the session says: a file that Spark skips would pass as equal.
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    # Later files of a table may have more columns: compare all of them.
    "mergeSchema": "true",
}


@dataclass(frozen=True)
class FrameReader(SessionOnly):
    """How the session reads a frame endpoint's tables: `places` are paths of a `format`, or names if it is None."""

    format: str | None = None
    places: Mapping[TableName, str] = field(default_factory=dict)
    opened: dict[TableName, DataFrame] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[FrameReader], tuple[str | None, dict[TableName, str]]]:
        return FrameReader, (self.format, dict(self.places))  # a frame can't leave the driver

    def frame(self, spark: SparkSession, name: TableName) -> DataFrame:
        """Opens a table once, so that its digests and its rows come from the same files."""
        if name not in self.opened:
            with frame_errors(self.place(name)):
                self.opened[name] = self._open(spark, self.places[name])
        return self.opened[name]

    def _open(self, spark: SparkSession, place: str) -> DataFrame:
        if self.format is None:
            return spark.table(place)
        return spark.read.format(self.format).options(**_STRICT).load(place)

    def place(self, name: TableName) -> str:
        """A table's path or name, for messages."""
        return self.places[name] if self.format is not None else str(name)


class FrameEndpoint:
    """The tables of a lake or of a session. They have no keys: the request or the other side names one."""

    capabilities = CAPABILITIES

    def __init__(self, url: EndpointUrl, spark: SparkSession, schema: str, reader: FrameReader) -> None:
        self.url = url
        self.version = f"Spark {spark.version}"
        self._spark = spark
        self._schema = schema
        self._reader = reader

    names_schema = True

    def schemas(self) -> list[str]:
        return [self._schema]

    def computed(self, table: Table, column: Column, expression: str) -> Column:
        with frame_errors(f"{self.url.redacted()}: {table.name}"):
            result = self._reader.frame(self._spark, table.name).select(fn.expr(expression)).schema.fields[0]
        return Column(column.name, logical_type(result))

    def default_schema(self) -> str:
        return self._schema

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        return sorted(self._reader.places)

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        for name in names:
            if name not in self._reader.places:
                raise MissingObjectError(f"{self.url.redacted()}: no table {name}", "check its name")
        return [describe_frame(name, self._reader.frame(self._spark, name)) for name in names]

    def reader(self) -> FrameReader:
        return self._reader

    round_trip = 0.0

    def position(self) -> str | None:
        return None

    def close(self) -> None:
        """Does nothing: the endpoint does not own the session."""


def describe_frame(name: TableName, frame: DataFrame) -> Table:
    """A frame as a table without a key. Its `nullable` is a hint for the optimizer, and not enforced."""
    columns = tuple(Column(field.name, logical_type(field)) for field in frame.schema.fields)
    return Table(name, columns, declares=False)


def open_catalog(url: EndpointUrl, spark: SparkSession) -> FrameEndpoint:
    """Opens `spark:///catalog.schema`. One name is a schema of the current catalog; none is the current schema."""
    with frame_errors(url.redacted()):
        names = (url.database or spark.catalog.currentDatabase()).split(".")
        namespace = names if len(names) > 1 else [spark.catalog.currentCatalog(), *names]
        schema = ".".join(namespace[1:])
        if not spark.catalog.databaseExists(quoted(*namespace)):
            raise MissingObjectError(f"{url.redacted()}: the Spark session has no schema {schema}", "check the URL")
        places = {}
        for table in sorted(spark.catalog.listTables(quoted(*namespace)), key=lambda t: not t.isTemporary):
            # Spark lists temporary views in every schema; a table of the same name takes precedence.
            ident = quoted(table.name) if table.isTemporary else quoted(*namespace, table.name)
            places[TableName(schema, table.name)] = ident
    return FrameEndpoint(url, spark, schema, FrameReader(None, places))
