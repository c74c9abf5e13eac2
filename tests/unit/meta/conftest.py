"""A store in a temporary directory, a running job in it, and other processes that use it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tieout.meta
from tieout.meta import Job, JobKind, MetaStore, open_store
from tieout.model.keys import ranges_between

SOURCES = str(Path(tieout.meta.__file__).parents[2])

Child = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/.tieout/meta.db"


@pytest.fixture
def store(url: str) -> Iterator[MetaStore]:
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def job(store: MetaStore) -> Job:
    """A running verification of one table in ten ranges."""
    job = store.jobs.create(JobKind.VERIFICATION, source="sqlite:///a.db", target="sqlite:///b.db", request={})
    store.tables.add(job.id, [("main.orders", "main.orders")])
    store.ranges.plan(job.id, 0, ranges_between([(str(bound),) for bound in range(10, 100, 10)]))
    return job


@pytest.fixture
def child() -> Iterator[Child]:
    """Runs Python text in another process, which is gone when the test is."""
    started: list[subprocess.Popen[str]] = []

    def start(text: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(text), *arguments],
            env={**os.environ, "PYTHONPATH": SOURCES},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
