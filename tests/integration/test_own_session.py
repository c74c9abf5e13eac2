"""A Spark session that somebody brings, and what is wrong with it: one line, with the remedy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MINOR = sys.version_info.minor
REMEDY = f"set PYSPARK_PYTHON to a Python 3.{MINOR} that has tieout before the session starts"
OTHER_VERSION = f"""
import sys
from collections import namedtuple
Version = namedtuple("Version", "major minor micro releaselevel serial")
sys.version_info = Version(3, {MINOR + 1}, 0, "final", 0)
"""


# Half a minute of sessions that are started; tests/unit/spark/test_session_faults.py has the words.
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("own")
    venv.create(directory / "bare", symlinks=True)
    bare = str(directory / "bare" / "bin" / "python")
    other, old = directory / "other", directory / "old"
    for path, text in ((other / "sitecustomize.py", OTHER_VERSION), (old / "tieout" / "__init__.py", "")):
        path.parent.mkdir(parents=True)
        path.write_text(text)

    def session(python: str = sys.executable, path: str = os.pathsep.join(sys.path), **more: Any) -> dict[str, Any]:
        return {"python": python, "path": path, "conf": {}, **more}

    asked = {
        "fine": session(how="compares"),
        "without tieout": session(bare, "", how="compares"),
        "of another version": session(bare, str(old)),
        "of another Python": session(bare, str(other)),
        "of no Python": session("/nowhere/python"),
        "not ANSI": session(conf={"spark.sql.ansi.enabled": "false"}, how="compares"),
        "stopped": session(how="stopped"),
        "ours": session(how="ours"),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "tests.integration.own_sessions"],
        input=json.dumps(asked),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def test_a_session_that_has_what_we_need_does_the_work(seen: dict[str, Any]) -> None:
    assert seen["fine"] == ["equal", "different"]


def test_a_session_that_we_start_works_in_java_that_others_started(seen: dict[str, Any]) -> None:
    assert seen["ours"] == ["equal"]


@pytest.mark.parametrize(
    ("session", "message", "hint"),
    [
        (
            "without tieout",
            "Spark's Python processes can't import tieout",
            f"install tieout for the Python that they run, or {REMEDY}",
        ),
        (
            "of another version",
            "Spark's Python processes have another version of tieout, which has no tieout.spark",
            f"install the same version for them, or {REMEDY}",
        ),
        (
            "of another Python",
            f"Spark's Python processes run Python 3.{MINOR + 1}, and this one is Python 3.{MINOR}",
            REMEDY,
        ),
        ("of no Python", "Spark can't start its Python processes: can't run /nowhere/python", REMEDY),
        (
            "not ANSI",
            "the Spark session has ANSI mode off: it returns NULL or a wrong value where it should raise an error",
            "set spark.sql.ansi.enabled to true",
        ),
        ("stopped", "the Spark session was stopped", "start a new one and pass that"),
    ],
)
def test_what_is_wrong_with_a_session_is_said_in_a_line(
    seen: dict[str, Any], session: str, message: str, hint: str
) -> None:
    assert seen[session] == [["spark", message, hint]] * len(seen[session])
