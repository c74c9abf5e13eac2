"""`spark:///catalog.schema`: the tables and views of a session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tieout.config.urls import EndpointUrl
from tieout.errors import MissingObjectError
from tieout.model.tables import TableName
from tieout.spark.faults import spark_faults
from tieout.spark.frames import FrameEndpoint, FrameReader
from tieout.spark.wire import quoted


def open_catalog(url: EndpointUrl, spark: SparkSession) -> FrameEndpoint:
    """A single name in the URL is a schema of the session's current catalog; none at all is its current schema."""
    with spark_faults(url.redacted()):
        names = (url.database or spark.catalog.currentDatabase()).split(".")
        namespace = names if len(names) > 1 else [spark.catalog.currentCatalog(), *names]
        schema = ".".join(namespace[1:])
        if not spark.catalog.databaseExists(quoted(*namespace)):
            raise MissingObjectError(f"{url.redacted()}: the Spark session has no schema {schema}", "check the URL")
        places = {}
        for table in sorted(spark.catalog.listTables(quoted(*namespace)), key=lambda t: not t.isTemporary):
            # A temporary view is listed in every schema and belongs to none; a table of its name goes before it.
            ident = quoted(table.name) if table.isTemporary else quoted(*namespace, table.name)
            places[TableName(schema, table.name)] = ident
    return FrameEndpoint(url, spark, schema, FrameReader(None, places))
