"""A task that is only looked at, before anything is touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers.server import PASSWORD
from tieout import api
from tieout.config.urls import parse_url
from tieout.model.preflight import Preflight, Severity
from tieout.model.requests import MoveRequest, TableRequest, VerifyRequest, table_requests

if TYPE_CHECKING:
    from tests.servers.server import Database

WEAK = "weak"


@dataclass(frozen=True)
class Ahead:
    """A pair of databases, and a task that is only looked at."""

    source: Database
    target: Database
    directory: Path

    def look(self, *tables: str | TableRequest, urls: tuple[str, str] | None = None, **asked: object) -> Preflight:
        source, target = urls or (self.source.url, self.target.url)
        requests = table_requests(tables)
        move = replace(MoveRequest("ahead", source, target, requests), **asked)  # type: ignore[arg-type]
        return api.preflight(VerifyRequest(source, target, requests), f"sqlite:///{self.directory}/meta.db", move=move)

    def as_weak(self, side: Database) -> str:
        return parse_url(side.url).reveal().replace("//tieout:", f"//{WEAK}:")


def between(*pairs: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("ahead", pairs, indirect=True)


def prevents(found: Preflight) -> dict[str, str]:
    """The words of what stands in the way, and what to do."""
    problems = [problem for problem in found.problems if problem.severity is Severity.PREVENTS]
    assert all(problem.fix for problem in problems)
    return {f"{problem.side} {problem.table or ''}: {problem.message}": problem.fix or "" for problem in problems}


def notes(found: Preflight) -> str:
    return "\n".join(problem.message for problem in found.problems if problem.severity is Severity.NOTE)


def only(found: dict[str, str], *words: str) -> None:
    """Each of the words is told once, and nothing else."""
    for each in words:
        assert sum(each in line for line in found) == 1, f"{each!r} in {found}"
    assert len(found) == len(words), found


@contextmanager
def weak_user(database: Database, *grants: str) -> Iterator[None]:
    if database.server.scheme == "mysql":
        database.execute(f"CREATE USER {WEAK}@'%' IDENTIFIED BY '{PASSWORD}'")
    else:
        database.execute(f"CREATE ROLE {WEAK} LOGIN PASSWORD '{PASSWORD}'")
    try:
        for grant in grants:
            database.execute(grant)
        yield
    finally:
        if database.server.scheme == "postgresql":
            database.execute(f"REASSIGN OWNED BY {WEAK} TO tieout")
            database.execute(f"DROP OWNED BY {WEAK}")
        database.execute(f"DROP {'USER' if database.server.scheme == 'mysql' else 'ROLE'} {WEAK}")
