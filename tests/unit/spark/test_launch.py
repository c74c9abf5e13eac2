"""The file that Spark's settings travel in, and the arguments that a user gave spark-submit beside it."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

import pytest

from tieout.spark.session import _arguments, properties


def given() -> list[str]:
    return shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])


def test_every_character_outlives_the_file() -> None:
    assert properties({"a.b": "plain-1/x"}) == "a.b=plain-1/x\n"
    assert properties({"k:k": " =\\\nü😀"}) == "k\\u003ak=\\u0020\\u003d\\u005c\\u000a\\u00fc\\ud83d\\ude00\n"


def test_the_file_is_private_and_what_was_given_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = "--packages 'a:b:1' pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", before)
    with _arguments(tmp_path, {"spark.x": "1"}):
        option, file, *rest = given()
        assert option == "--properties-file"
        assert rest == ["--load-spark-defaults", "--packages", "a:b:1", "pyspark-shell"]
        assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
        assert Path(file).read_text() == "spark.x=1\n"
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == before


def test_a_user_s_own_file_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "theirs.conf"
    theirs.write_text("spark.x 1\nspark.y 2")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {theirs} pyspark-shell")
    with _arguments(tmp_path, {"spark.x": "3"}):
        assert given()[2:] == ["pyspark-shell"]
        assert Path(given()[1]).read_text() == "spark.x 1\nspark.y 2\nspark.x=3\n"


def test_java_reads_its_options_from_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with _arguments(tmp_path, {"spark.driver.extraJavaOptions": """-Da=1 -Db='x "y\\ z'"""}):
        assert (tmp_path / "java.options").read_text() == '"-Da=1"\n"-Db=x \\"y\\\\ z"\n'
        assert stat.S_IMODE((tmp_path / "java.options").stat().st_mode) == 0o600
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ
