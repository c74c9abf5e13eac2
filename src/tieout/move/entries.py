"""The entries of a task, one by one: a wrong one does not hide the problems of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.errors import TieoutError
from tieout.model.preflight import Problem, Severity
from tieout.model.requests import MoveRequest, TableRequest
from tieout.tasks.preflight import as_problem
from tieout.tasks.routing import NothingToMove, Route, routes
from tieout.tasks.table_matching import Names, find_table, is_pattern, matching_tables, names_of


def routes_of_right_entries(
    endpoints: tuple[Endpoint, Endpoint], request: MoveRequest
) -> tuple[list[Route], list[Problem]]:
    """The routes that `run` takes; if it would refuse the task, those of the entries that are right."""
    known: Sequence[TableRequest] = request.tables
    problems: list[Problem] = []
    try:
        found = routes(*endpoints, request)
    except TieoutError as error:
        known, found, wrong = _right_ones(endpoints, request)
        problems += [as_problem(each, Severity.PREVENTS) for each in wrong or [error]]
    if found:
        problems += _empty_ones(endpoints[0], known)
    return found, problems


def _right_ones(
    endpoints: tuple[Endpoint, Endpoint], request: MoveRequest
) -> tuple[list[TableRequest], list[Route], list[TieoutError]]:
    """The entries that are right beside those before them, their routes, and what is wrong with the others."""
    known: list[TableRequest] = []
    found: list[Route] = []
    wrong: list[TieoutError] = []
    for entry in request.tables:
        try:
            found = routes(*endpoints, replace(request, tables=(*known, entry)))
        except NothingToMove:
            pass  # another entry may have tables
        except TieoutError as error:
            wrong.append(error)
            continue
        known.append(entry)
    return known, found, wrong


def _empty_ones(source: Endpoint, entries: Sequence[TableRequest]) -> Iterator[Problem]:
    names = names_of(source, entries, of_target=False).without_own()
    for entry in entries:
        if not _has_tables(names, entry):
            said = "no table matches" if is_pattern(entry.source) else "there is no table"
            fix = "check the task's tables; a table that is created later joins the task"
            yield Problem(Severity.NOTE, f"{said} {entry.source}", fix, "source")


def _has_tables(names: Names, entry: TableRequest) -> bool:
    if is_pattern(entry.source):
        return bool(matching_tables(names, entry))
    return find_table(names, entry.source) is not None
