"""Calls into Spark that Ctrl-C can end.

py4j has one connection for each thread. A call that an exception leaves in the middle leaves its answer
behind, for the next call to take as its own; and pyspark makes such calls on its way out. So the thread that
hears signals only waits, and another one calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

T = TypeVar("T")


def interruptible(spark: SparkSession, call: Callable[[], T]) -> T:
    """What `call` returns. KeyboardInterrupt cancels the jobs that it has started, and no others."""
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

    # A daemon: who gives up waiting is not held up by a job that won't end. Jobs are of the caller's group and pool.
    threading.Thread(target=inheritable_thread_target(spark)(run), name="tieout-spark", daemon=True).start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        spark.sparkContext.cancelJobsWithTag(tag)
        raise
