"""Whatever a default is told by, a command's help, a key or a signature: it is the one that is used."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from typer.main import get_command

from tieout import api
from tieout.checks.options import CheckOptions
from tieout.cli.main import app
from tieout.config.durations import seconds_text
from tieout.config.settings import Settings
from tieout.config.task_settings import MoveSettings, OptionSettings, TaskSettings
from tieout.meta.failures import Failures
from tieout.meta.jobs import Jobs
from tieout.model.check_statements import EngineChecker
from tieout.model.requests import MoveOptions, MoveRequest, VerifyOptions

VERIFY, CHECK = VerifyOptions(), CheckOptions()


def in_signature(function: Any, name: str) -> Any:
    return inspect.signature(function).parameters[name].default


def option(command: str, name: str) -> Any:
    found: Any = get_command(app)
    for word in command.split():
        found = found.commands[word]
    return next(param for param in found.params if name in param.opts)


def told(command: str, name: str) -> str:
    """What the help calls the default."""
    match = re.search(r"\(default: (\S+?)\)|(\S+) \(the default\)", option(command, name).help)
    assert match is not None
    return match[1] or match[2]


@pytest.mark.parametrize(
    ("command", "name", "used"),
    [
        ("verify", "--limit", str(VERIFY.limit)),
        ("verify", "--hash-bits", str(VERIFY.hash_bits)),
        ("verify", "--chunk-seconds", f"{seconds_text(VERIFY.chunk_seconds)}s"),
        ("verify", "--recheck-after", f"{seconds_text(VERIFY.recheck_after)}s"),
        ("verify", "--recheck-times", str(VERIFY.recheck_times)),
        ("check", "--recheck-after", f"{seconds_text(CHECK.recheck_after)}s"),
        ("check", "--recheck-times", str(CHECK.recheck_times)),
        ("check", "--engine-checker", EngineChecker.SAFE),  # nobody asked: run where it is installed
        ("check", "--every", f"{seconds_text(in_signature(api.follow_checks, 'every'))}s"),
    ],
)
def test_help_tells_what_is_used(command: str, name: str, used: str) -> None:
    assert told(command, name) == used


def test_a_list_of_what_differs_is_as_long_everywhere() -> None:
    limits = [in_signature(function, "limit") for function in (api.compare, api.check, api.follow_checks)]
    assert {*limits, option("check", "--limit").default} == {VERIFY.limit}


def test_lists_over_time_are_as_long_everywhere() -> None:
    jobs = [in_signature(api.list_jobs, "limit"), in_signature(Jobs.list, "limit")]
    assert len({*jobs, option("jobs list", "--limit").default}) == 1
    failures = [in_signature(api.list_failures, "limit"), in_signature(Failures.list, "limit")]
    assert len({*failures, option("failures list", "--limit").default}) == 1


def test_a_task_without_more_is_a_request_without_more() -> None:
    task = TaskSettings(source="a", target="b")
    request = MoveRequest("t", "a", "b")
    assert (task.delivery, task.consistency) == (request.delivery, request.consistency)
    assert MoveSettings().options() == MoveOptions()
    assert OptionSettings().options() == VERIFY


def test_the_meta_store_and_spark_are_where_the_configuration_says() -> None:
    settings = Settings()
    metas = {
        in_signature(function, "meta")
        for function in vars(api).values()
        if inspect.isfunction(function) and "meta" in inspect.signature(function).parameters
    }
    assert metas == {settings.meta.reveal()}
    assert api.SparkSettings().master == settings.spark.master
