"""Tables that only a Spark session can read, with the face of an endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Capabilities
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import MissingObjectError
from tieout.model.tables import Column, Table, TableName
from tieout.spark.faults import spark_faults
from tieout.spark.types import logical_type

CAPABILITIES = Capabilities(family="spark", native_hash=True, bucket_hash=True)

_STRICT = {
    # Whatever the session says: a file that is left out would pass as equal.
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    # The files of a table may have grown columns: all of them are compared.
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
        """Opened once: the files that it was digested from are those that its rows come from."""
        if name not in self.opened:
            with spark_faults(self.place(name)):
                self.opened[name] = self._open(spark, self.places[name])
        return self.opened[name]

    def _open(self, spark: SparkSession, place: str) -> DataFrame:
        if self.format is None:
            return spark.table(place)
        return spark.read.format(self.format).options(**_STRICT).load(place)

    def place(self, name: TableName) -> str:
        """Where a table is, for people."""
        return self.places[name] if self.format is not None else str(name)


class FrameEndpoint:
    """The tables of a lake or of a session. No table has a key: the request or the other side names one."""

    capabilities = CAPABILITIES

    def __init__(self, url: EndpointUrl, spark: SparkSession, schema: str, reader: FrameReader) -> None:
        self.url = url
        self.version = f"Spark {spark.version}"
        self._spark = spark
        self._schema = schema
        self._reader = reader

    def default_schema(self) -> str:
        return self._schema

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        return sorted(self._reader.places)

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        for name in names:
            if name not in self._reader.places:
                raise MissingObjectError(f"{self.url.redacted()}: there is no table {name}", "check its name")
        return [describe_frame(name, self._reader.frame(self._spark, name)) for name in names]

    def reader(self) -> FrameReader:
        return self._reader

    round_trip = 0.0

    def position(self) -> str | None:
        return None

    def close(self) -> None:
        """The session is not the endpoint's to stop."""


def describe_frame(name: TableName, frame: DataFrame) -> Table:
    """A frame as a table without a key. What it says of NULLs is a hint for the optimizer, and binds nobody."""
    columns = tuple(Column(field.name, logical_type(field)) for field in frame.schema.fields)
    return Table(name, columns, declares=False)
