"""A program: verifies and compares in sessions of a user's own, one after another, and prints what came of it."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import tieout
from tieout import TieoutError, VerificationResult
from tieout.api import SparkSettings, run_verification
from tieout.model.requests import VerifyRequest


def main() -> None:
    asked = json.load(sys.stdin)
    # Of this process alone: Spark's Python processes find what they are given for each session.
    os.environ.pop("PYTHONPATH", None)
    os.environ.pop("SPARK_ANSI_SQL_MODE", None)
    print(json.dumps({name: told_in(**session) for name, session in asked.items()}))  # noqa: T201 - a program


def told_in(python: str, path: str, conf: dict[str, str], how: str = "") -> list[Any]:
    if how == "ours":  # Java has been started by then, and not by us
        os.environ.pop("PYSPARK_PYTHON", None)
        ours = SparkSettings("local[1]", {"spark.executorEnv.PYTHONPATH": path})
        return [told(lambda: run_verification(VerifyRequest(database("a"), database("b"), "t"), spark=ours))]
    os.environ["PYSPARK_PYTHON"] = python
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for name, value in {"spark.executorEnv.PYTHONPATH": path, **conf}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    a, b = (spark.range(3).selectExpr("id", f"id * {factor} AS v") for factor in (1, 2))
    if how == "stopped":
        spark.stop()
    try:
        verified = told(lambda: tieout.verify(database("a"), database("b"), "t", strategy="pull", spark=spark))
        return [verified, told(lambda: tieout.compare(a, b, key="id"))] if how == "compares" else [verified]
    finally:
        spark.stop()


def database(name: str) -> str:
    path = Path(f"{name}.db").absolute()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v TEXT)")
    return f"sqlite:///{path}"


def told(call: Callable[[], VerificationResult]) -> Any:
    try:
        return call().verdict
    except TieoutError as error:
        return error.code, error.message, error.hint
    except Exception as error:  # a crash in one session hides nothing of the others
        return "crash", type(error).__name__, str(error)


if __name__ == "__main__":
    main()
