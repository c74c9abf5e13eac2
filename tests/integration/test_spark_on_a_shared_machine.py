"""What other users of a machine see and reach of Spark, looked up in /proc, on Spark's pages and at its ports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SECRETS = {
    "spark.hadoop.fs.s3a.secret.key": "Kx7-of-a-bucket",
    # Names that no list of suspicious words foresees hold passwords too.
    "spark.hadoop.fs.s3a.encryption.key": "Kx8 with \\ and ü",
    "spark.sql.catalog.lake.jdbc.password": "Kx9=of:a#catalog",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -Dtieout.test.password=Kx6-of-java",
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("shared")
    for name in ("events", "local"):
        (directory / name).mkdir()
    conf = {
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{directory / 'events'}",
        "spark.local.dir": str(directory / "local"),
        # A user's own pattern does not lay the work's passwords open.
        "spark.redaction.regex": "(?i)mine",
    }
    asked = {
        "conf": conf,
        "secrets": SECRETS,
        "password": "Kx5-of-a-database",
        "events": str(directory / "events"),
        "local": str(directory / "local"),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "tests.integration.shared_machine"],
        input=json.dumps(asked),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    assert told["worked"] == [len("Kx5-of-a-database"), [1]]
    return told


def test_no_setting_is_on_a_command_line(seen: dict[str, Any]) -> None:
    assert seen["java_seen"], "the processes were not looked at"
    assert seen["lines"] == []


def test_settings_arrive_all_the_same(seen: dict[str, Any]) -> None:
    options = seen["settings"].pop("spark.driver.extraJavaOptions")
    assert seen["settings"] == {name: value for name, value in SECRETS.items() if "Java" not in name}
    assert "-Dtieout.test.password=Kx6-of-java" in options
    assert seen["property"] == "Kx6-of-java", "Java itself has its options"


def test_who_connects_to_spark_has_to_know_its_secret(seen: dict[str, Any]) -> None:
    assert "ObjectInputStream" not in seen["driver"], "Java unpacks what a stranger sent"
    assert "SaslRpcHandler" in seen["driver"]


def test_who_calls_a_function_of_a_stream_has_to_know_it_too(seen: dict[str, Any]) -> None:
    assert seen["answer"] == ""


def test_ports_are_this_machine_s_alone(seen: dict[str, Any]) -> None:
    assert seen["listening"] >= 3
    assert seen["elsewhere"] == []


def test_pages_plans_and_logs_hide_passwords(seen: dict[str, Any]) -> None:
    assert min(seen["sizes"].values()) > 100, "something was not looked at"
    assert seen["showing"] == []


def test_files_of_spark_are_this_user_s_alone(seen: dict[str, Any]) -> None:
    assert seen["open"] == []
