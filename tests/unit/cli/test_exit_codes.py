"""Whatever goes wrong: one line, exit code 2, no traceback, no password."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tieout import api
from tieout.errors import AccessError, MetaStoreError, SparkFailure, UnreachableError

SIDES = ("--source", "sqlite:///a.db", "--target", "sqlite:///b.db")


def one_line(ended) -> str:
    assert ended.code == 2
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert "Traceback" not in line
    return line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verify", "--nope"], "No such option: --nope"),
        (["verify", "--sorce", "x"], "--source"),
        (["nope"], "No such command 'nope'"),
        (["jobs"], "Missing command"),
        (["verify"], "--source and --target missing"),
        (["verify", "--source", "sqlite:///a.db"], "--target missing"),
        (["verify", *SIDES, "--strategy", "magic"], "'magic'"),
        (["verify", *SIDES, "--hash-bits", "32"], "'32'"),
        (["verify", *SIDES, "--recheck-after", "soon"], "is not a duration"),
        (["verify", *SIDES, "--chunk-seconds", "0"], "more than 0"),
        (["verify", *SIDES, "--chunk-rows", "0"], "--chunk-rows"),
        (["verify", *SIDES, "--limit", "some"], "--limit 'some'"),
        (["verify", *SIDES, "--output", "yaml"], "'yaml'"),
        (["verify", "shop"], "no tieout.yaml here"),
        (["verify", "shop", *SIDES], "no tieout.yaml here"),
        (["verify", "--source", "old", "--target", "new"], "not an endpoint URL"),
        (["verify", "--source", "oracle://a/b", "--target", "sqlite:///b.db"], "unknown kind of endpoint"),
        (["verify", "--resume", "v-nope"], "there is no job 'v-nope'"),
        (["jobs", "show", "nope"], "there is no job 'nope'"),
        (["jobs", "list", "--state", "asleep"], "'asleep'"),
        (["jobs", "list", "--output", "html"], "can't be written as html"),
        (["repair", "apply", "nope"], "there is no repair plan 'nope'"),
        (["config", "check"], "no tieout.yaml here"),
        (["config", "check", "--config", "nope.yaml"], "there is no file nope.yaml"),
        (["demo", "--output", "csv"], "can't be written as csv"),
        (["demo", "--report", "nope/report.html"], "--report FILE"),
    ],
)
def test_what_can_not_run_says_so_in_one_line(tieout, words: list[str], said: str):
    line = one_line(tieout(*words))
    assert line.startswith("error[")
    assert said in line


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AccessError("wrong password", "check it"), "error[access]: wrong password — check it"),
        (UnreachableError("no such host"), "error[unreachable]: no such host"),
        (MetaStoreError("the disk is full"), "error[meta-store]: the disk is full"),
        (SparkFailure("Spark did not start"), "error[spark]: Spark did not start"),
        (RuntimeError("boom\nat line 7"), "error[crash]: RuntimeError: boom — run again with --verbose for"),
        (KeyError("x"), "error[crash]: KeyError: 'x'"),
    ],
)
def test_each_class_of_error(tieout, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str):
    def fail(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(api, "run_verification", fail)
    assert one_line(tieout("verify", *SIDES, "--quiet")).startswith(said)


def test_no_password_in_a_crash_nor_in_its_traceback(tieout, monkeypatch: pytest.MonkeyPatch):
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("could not log in to mysql://root:hunter2secret@db/shop with hunter2secret")

    monkeypatch.setattr(api, "run_verification", fail)
    words = ("verify", "--source", "mysql://root:hunter2secret@db/shop", "--target", "sqlite:///b.db", "--quiet")
    assert "hunter2secret" not in one_line(tieout(*words))
    loud = tieout(*words, "--verbose")
    assert loud.code == 2
    assert "Traceback" in loud.err
    assert "hunter2secret" not in loud.err


def test_ctrl_c_before_there_is_a_job(tieout, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "run_verification", interrupt)
    ended = tieout("verify", *SIDES, "--quiet")
    assert (ended.code, ended.out, ended.err) == (130, "", "interrupted\n")


def test_init_then_check(tieout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert tieout("init").out.startswith("wrote tieout.yaml")
    assert "exists already" in one_line(tieout("init"))
    assert tieout("init", "--force").code == 0
    unset = tieout("config", "check")
    assert unset.code == 2
    assert "OLD_PASSWORD" in unset.err
    for name in ("OLD_USER", "OLD_PASSWORD", "NEW_USER", "NEW_PASSWORD"):
        monkeypatch.setenv(name, "x")
    assert tieout("config", "check").out == "tieout.yaml is ok: 2 endpoints, 1 task\n"
    checked = json.loads(tieout("config", "check", "-o", "json").out)
    assert checked["ok"] is True


def test_every_problem_of_the_configuration_at_once(tieout, tmp_path: Path):
    (tmp_path / "tieout.yaml").write_text("tasks: {shop: {sorce: a, target: b}}\nspork: 1\n")
    ended = tieout("config", "check")
    assert ended.code == 2
    assert "tieout.yaml:1: tasks.shop.sorce: unknown key" in ended.err
    assert "tieout.yaml:2: spork: unknown key" in ended.err


def test_a_task_has_its_own_endpoints(tieout, tmp_path: Path):
    (tmp_path / "tieout.yaml").write_text(
        "endpoints: {a: {url: 'sqlite:///a.db'}, b: {url: 'sqlite:///b.db'}}\ntasks: {shop: {source: a, target: b}}\n"
    )
    assert "a task has its own source and target" in one_line(tieout("verify", "shop", *SIDES))
    assert 'no task is named "shpo"' in one_line(tieout("verify", "shpo"))
    assert 'no endpoint is named "c"' in one_line(tieout("verify", "--source", "c", "--target", "b"))


def test_a_task_that_says_nothing_of_a_move_is_not_moved(tieout, tmp_path: Path):
    """Verified, it would be compared as two databases are: rows that its `where` leaves out would be equal."""
    task = "{source: 'sqlite:///a.db', target: 'sqlite:///b.db', tables: [{from: t, where: 'id < 3'}]"
    (tmp_path / "tieout.yaml").write_text(f"tasks:\n  shop: {task}}}\n  moved: {task}, delivery: exactly-once}}\n")
    refused = one_line(tieout("run", "shop"))
    assert refused == "error[usage]: the task shop does not say that it is moved — add `move: {}` to the task"
    assert "does not say that it is moved" not in one_line(tieout("run", "moved"))  # there are no such files


def test_versions_as_text_and_json(tieout):
    assert tieout("version").out.startswith("tieout ")
    assert set(json.loads(tieout("version", "--output", "json").out)) == {"tieout", "python", "pyspark", "java"}


def test_help_is_what_you_get_without_a_command(tieout):
    ended = tieout()
    assert ended.code == 0
    assert "verify" in ended.out
