"""What transforms a table's rows on the way, as its task stores it: rows of two definitions must not be mixed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tieout.model.requests import TableRequest
from tieout.model.tables import TableName
from tieout.tasks.table_matching import EVERYTHING, is_pattern
from tieout.tasks.transforms import condition_of


def definition_of(request: TableRequest) -> str:
    """The definition as JSON. The order of names means nothing; the texts are compared letter by letter."""
    return json.dumps(
        {
            "where": condition_of(request),
            "columns": None if request.columns is None else sorted(request.columns),
            "exclude_columns": sorted(request.exclude_columns),
            "expressions": {name: text for name, (text, _) in request.expressions.items()},
        },
        sort_keys=True,
        ensure_ascii=False,
    )


def is_same(stored: str, present: str, columns: Collection[str]) -> bool:
    """Whether two definitions mean the same rows. `columns`: those that the table has by now; the present one need not
    leave out others any more.
    """
    old, new = json.loads(stored), json.loads(present)
    known = {name.casefold() for name in columns}
    gone = {name for name in old["exclude_columns"] if name.casefold() not in known}
    old["exclude_columns"] = [name for name in old["exclude_columns"] if name not in gone - set(new["exclude_columns"])]
    return bool(old == new)


def left_out_of(stored: str | None) -> tuple[str, ...]:
    """The columns that a stored definition leaves out."""
    return tuple(json.loads(stored)["exclude_columns"]) if stored is not None else ()


def changes_between(stored: str, present: str) -> str:
    """What differs between two definitions, in words."""
    return "; ".join(_changes(json.loads(stored), json.loads(present)))


def _changes(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for part in ("where", "columns", "exclude_columns"):
        if old[part] != new[part]:
            yield f"{part} was {_words(old[part])} and is {_words(new[part])}"
    before, now = old["expressions"], new["expressions"]
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield f"the column {name} was {_words(before.get(name))} and is {_words(now.get(name))}"


def _words(value: str | list[str] | None) -> str:
    if not value:
        return "not given"
    return repr(value) if isinstance(value, str) else ", ".join(value)


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
    full = TableName.parse(name)
    names = (name, name if full is None else full.name)
    folded = {each.casefold() for each in names}
    plain = [r for r in entries if not is_pattern(r.source)]
    if said := [r for r in plain if (r.source if is_source else r.target or r.source).casefold() in folded]:
        return said
    patterns = [r for r in entries if is_pattern(r.source) and _matches(names, r.source, is_source)]
    left = [r for r in patterns if not any(_matches(names, pattern, is_source) for pattern in r.exclude)]
    return left[:1]


def _matches(names: tuple[str, str], pattern: str, is_source: bool) -> bool:
    if is_source:
        return fnmatchcase(names[0] if "." in pattern else names[1], pattern)
    return fnmatchcase(names[1], pattern.rpartition(".")[2])  # a target's schema may have another name


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
