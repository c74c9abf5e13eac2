"""Opens the endpoint that a URL names: a database, or tables that only a Spark session can read."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.registry import open_endpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOADING = Lock()
"""pyspark has circular imports: two threads that import it at once can deadlock."""


def open_any(url: EndpointUrl, session: Callable[[], SparkSession]) -> Endpoint:
    """Calls `session` only if the tables need Spark; the call may wait for Spark to start."""
    if url.scheme == "lake":
        with _LOADING:
            from tieout.spark.frames.lake import open_lake

        return open_lake(url, session())
    if url.scheme == "spark":
        with _LOADING:
            from tieout.spark.frames.endpoint import open_catalog

        return open_catalog(url, session())
    return open_endpoint(url)
