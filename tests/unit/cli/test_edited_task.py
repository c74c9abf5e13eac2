"""A job's findings are not followed by a task that was edited since."""

from __future__ import annotations

from pathlib import Path

import pytest

from tieout.config.file import load
from tieout.meta import JobKind, open_store
from tieout.model.documents import request_document

META = "sqlite:///meta.db"
TASK = """
tasks:
  shop:
    source: sqlite:///a.db
    target: sqlite:///b.db
    tables:
      - {{from: orders, where: "{where}"}}
      - {{from: items, where: "{other}"}}
"""


def write(where: str, other: str = "id > 0") -> None:
    Path("tieout.yaml").write_text(TASK.format(where=where, other=other), encoding="utf-8")


@pytest.fixture
def job(tieout) -> str:
    """A verification of a table of the task, with a plan to repair it."""
    write("id > 0")
    request = load(None).verify_request("shop")
    document = request_document(request, (request.source, request.target))
    with open_store(META) as store:
        job = store.jobs.create(
            JobKind.VERIFICATION, source=request.source, target=request.target, request=document, task="shop"
        )
        store.tables.add(job.id, [("main.orders", "main.orders")])
        store.repairs.create(job.id, [])
        return job.id


COMMANDS = [("verify", "--resume"), ("jobs", "resume"), ("repair", "plan"), ("repair", "apply")]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_task_that_says_something_else_of_the_table(tieout, job: str, words: tuple[str, ...]):
    write("id > 1")
    ended = tieout(*words, "last" if words[1] == "apply" else job, "--meta", META)
    assert (ended.code, ended.err) == (
        2,
        f"error[usage]: the task shop was edited since job {job}: it says something else about main.orders"
        " — verify it again: tieout verify shop\n",
    )


@pytest.mark.parametrize("words", COMMANDS[2:])
@pytest.mark.parametrize("change", ["another table", "no task", "no file"])
def test_other_edits_do_not_matter(tieout, job: str, words: tuple[str, ...], change: str):
    if change == "another table":
        write("id > 0", other="id > 1")
    elif change == "no task":
        Path("tieout.yaml").write_text("redact_values: false\n", encoding="utf-8")
    else:
        Path("tieout.yaml").unlink()
    ended = tieout(*words, "last" if words[1] == "apply" else job, "--meta", META)
    assert "was edited" not in ended.err
    assert "a.db" in ended.err  # which does not exist
