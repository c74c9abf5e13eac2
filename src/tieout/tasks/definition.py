"""What transforms a table's rows on the way, as its task stores it: rows of two definitions must not be mixed."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
