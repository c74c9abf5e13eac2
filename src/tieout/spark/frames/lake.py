"""`lake:///path?format=parquet`: which tables a path holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tieout.config.urls import EndpointUrl
from tieout.errors import MissingObjectError
from tieout.model.tables import TableName
from tieout.spark.errors import frame_errors
from tieout.spark.frames.endpoint import FrameEndpoint, FrameReader

_PART = re.compile(r"part[-._].*|(data|chunk)?[-_]?\d+|[0-9a-f-]{32,}.*", re.IGNORECASE)
"""Names that writers give to the files of one table (Spark, Hive, Dask, DuckDB, Polars); nobody names a table so."""

_ENDING = re.compile(
    r"(\.(snappy|gz|gzip|zstd|lz4|brotli|zlib|c\d+))?\.(parquet|parq|orc|delta|iceberg)$", re.IGNORECASE
)
_LEFT_BY_WRITERS = {"_SUCCESS", "_metadata", "_common_metadata"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory directly under a path."""

    name: str
    path: str
    is_directory: bool

    @property
    def table(self) -> str:
        """The name without what a writer adds to it."""
        return _ENDING.sub("", self.name) or self.name

    @property
    def hidden(self) -> bool:
        return self.name.startswith(("_", "."))

    @property
    def is_part(self) -> bool:
        if self.is_directory:
            return "=" in self.name
        return _PART.fullmatch(self.table) is not None


def open_lake(url: EndpointUrl, spark: SparkSession) -> FrameEndpoint:
    """Lists the path; MissingObjectError if there is none."""
    path = url.path or ""
    with frame_errors(url.redacted()):
        here, entries = _listed(spark, path)
    if here is None:
        raise MissingObjectError(f"{url.redacted()}: there is no such path", "check the path in the URL")
    form = url.params.get("format", "parquet")
    schema, places = tables_of(here, entries, form)
    return FrameEndpoint(url, spark, schema, FrameReader(form, places))


def tables_of(here: Entry, entries: Iterable[Entry], form: str = "parquet") -> tuple[str, dict[TableName, str]]:
    """The schema name and the tables of a path.

    The path is one table if it is a file or holds the files of one: part files, partitions, a table format's
    log. Otherwise each file and each directory in it is a table.
    """
    entries = list(entries)
    shown = [entry for entry in entries if not entry.hidden]
    if not here.is_directory or _is_table(entries, shown, form):
        parent = here.path.rstrip("/").rpartition("/")[0].rpartition("/")[2]
        return parent or "lake", {TableName(parent or "lake", here.table): here.path}
    names = [entry.table for entry in shown]
    places = {}
    for entry in shown:
        name = entry.table if names.count(entry.table) == 1 else entry.name
        places[TableName(here.name, name)] = entry.path
    return here.name, places


def _is_table(entries: list[Entry], shown: list[Entry], form: str) -> bool:
    names = {entry.name for entry in entries}
    if "_delta_log" in names or (form == "iceberg" and "metadata" in names):
        return True
    holds_tables = any(entry.is_directory and not entry.is_part for entry in shown)
    if names & _LEFT_BY_WRITERS and not holds_tables:
        return True
    return bool(shown) and all(entry.is_part for entry in shown)


def _listed(spark: SparkSession, path: str) -> tuple[Entry | None, list[Entry]]:
    """Lists the path through Hadoop, which knows every store that Spark reads."""
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    store = place.getFileSystem(spark._jsc.hadoopConfiguration())
    if not store.exists(place):
        return None, []
    status = store.getFileStatus(place)
    here = _entry(status)
    return here, [_entry(item) for item in store.listStatus(place)] if here.is_directory else []


def _entry(status: Any) -> Entry:
    place = status.getPath()
    return Entry(str(place.getName()), str(place.toString()), bool(status.isDirectory()))
