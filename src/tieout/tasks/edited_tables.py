"""What a task says of the tables of an earlier job, then and now. Reads no database: the entries alone are compared."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tieout.model.requests import TableRequest
from tieout.model.tables import TableName
from tieout.tasks.definition import definition_of
from tieout.tasks.table_matching import EVERYTHING, is_pattern, matches


def edited_table(
    before: Sequence[TableRequest],
    now: Sequence[TableRequest],
    tables: Sequence[tuple[str | None, str | None]],
    *,
    is_moved: tuple[bool, bool],
) -> str | None:
    """The first of a job's tables (source, target) about which a task's entries say something else by now. `is_moved`:
    whether it is moved, then and now.
    """
    # A task without entries of its own is given them by whoever verifies it.
    typed = bool(before) and not now
    for source, target in tables:
        for name in _names_of(source) if source else [target or ""]:
            kept, present = (_said_of(name, entries or [EVERYTHING], source is not None) for entries in (before, now))
            if [_meaning(r, is_moved[0], typed) for r in kept] != [_meaning(r, is_moved[1], typed) for r in present]:
                return name
    return None


def _names_of(source: str) -> list[str]:
    """The names of merged tables, as far as a job lists them."""
    return re.sub(r" and \d+ more$", "", source).split(", ")


def _said_of(name: str, entries: Sequence[TableRequest], is_source: bool) -> list[TableRequest]:
    """The entries about a table: those that name it, or else the first whose pattern matches it."""
    table = TableName.parse(name) or TableName("", name)
    folded = {name.casefold(), table.name.casefold()}
    plain = [r for r in entries if not is_pattern(r.source)]
    if said := [r for r in plain if (r.source if is_source else r.target or r.source).casefold() in folded]:
        return said
    patterns = [r for r in entries if is_pattern(r.source) and _matches(table, r.source, is_source)]
    left = [r for r in patterns if not any(_matches(table, pattern, is_source) for pattern in r.exclude)]
    return left[:1]


def _matches(table: TableName, pattern: str, is_source: bool) -> bool:
    # A target's schema may have another name.
    return matches(table, table.schema, pattern if is_source else pattern.rpartition(".")[2])


def _meaning(request: TableRequest, is_moved: bool, typed: bool) -> tuple[object, ...]:
    """What an entry says of its tables. The order of columns means nothing, except in a key."""
    return (
        definition_of(request),
        None if typed else request.target,
        request.key,
        request.target_where or (None if is_moved else request.where),
        request.tolerance,
        {name: text for name, (_, text) in request.expressions.items()},
    )
