"""The Python that Spark starts here: without Spark's zips, and otherwise as it would be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import tieout
from tieout.spark.session import WORKER_PYTHON, worker_python

HOME = Path(pyspark.__file__).parent
SHOWN = "import json, os, pyspark, sys; print(json.dumps([pyspark.__file__, sys.path, sys.argv, sys.executable]))"


OF_SPARK = {"SPARK_HOME": str(HOME), WORKER_PYTHON: sys.executable}
"""What a Python process of Spark's finds in its environment."""


@pytest.fixture(autouse=True)
def no_spark_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)


def test_what_is_started_is_a_file_of_the_package() -> None:
    launcher = Path(worker_python())
    assert launcher.parent == Path(tieout.__file__).parent / "spark"
    assert launcher.read_text().startswith("#!/bin/sh\n")


def test_spark_s_zips_are_left_out_and_nothing_else(tmp_path: Path) -> None:
    others = [str(tmp_path / "with a space"), str(tmp_path / "own.zip"), "*"]
    zips = sorted(map(str, (HOME / "python" / "lib").glob("*.zip")))
    assert len(zips) == 2, "Spark has no zips: there is nothing to leave out"
    path = ":".join([others[0], *zips, others[1], str(HOME / "jars" / "spark-core_2.13.jar"), others[2]])
    command = [worker_python(), "-c", SHOWN, "an 'argument'", "$HOME"]
    told = subprocess.run(
        command,
        env={**os.environ, **OF_SPARK, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    module, found, arguments, executable = json.loads(told.stdout)
    assert Path(module) == HOME / "__init__.py"
    assert executable == sys.executable
    assert arguments == ["-c", "an 'argument'", "$HOME"]
    assert [each for each in found if each in zips or each.endswith(".jar")] == []
    assert found[1:4] == [others[0], others[1], str(tmp_path / "*")]


def test_without_a_path_there_is_none() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = subprocess.run(
        [worker_python(), "-c", SHOWN], env={**environment, **OF_SPARK}, capture_output=True, text=True, check=True
    )
    assert Path(json.loads(told.stdout)[0]) == HOME / "__init__.py"


@pytest.mark.parametrize("home", [HOME, "/opt/spark"])
def test_the_zips_of_another_spark_are_what_fits_it(home: Path | str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(home))
    assert (worker_python() == sys.executable) is (home != HOME)


def test_a_launcher_that_may_not_be_run_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "worker-python.sh"
    copy.write_text("#!/bin/sh\n")
    monkeypatch.setattr("tieout.spark.session._LAUNCHER", copy)
    assert worker_python() == sys.executable
