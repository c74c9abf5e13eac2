"""What transforms a table's rows on the way, as its task stores it: rows of two definitions must not be mixed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from tieout.model.requests import TableRequest
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
