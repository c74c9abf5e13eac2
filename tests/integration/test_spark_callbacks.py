"""Streams are called back by Java, whoever else was called back by it before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.java_gateway import JavaObject

from tests.integration.shared_machine import stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_stream_takes_back_callbacks_that_another_process_took(spark: SparkSession) -> None:
    """A second process that uses the same Java gets its callbacks, and leaves a client without a token."""
    before, _, _ = stream(spark, "hunter2")
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    server.resetCallbackClient(server.getCallbackClient().getAddress(), gateway._callback_server.port)
    after, answer, _ = stream(spark, "hunter2")
    assert before
    assert after
    assert "hunter2" not in answer
