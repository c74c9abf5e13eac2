#!/usr/bin/env python3
"""Writes the generated parts of docs/reference: the tables between `<!-- generated: NAME -->` and `<!-- end -->`.

    .venv/bin/python tools/reference.py           # writes
    .venv/bin/python tools/reference.py --check   # exit 1 if something is out of date

A test holds the documents to the code, so run it after a change of tieout.yaml's keys or of a URL's parameters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tieout.config import field_types as fields
from tieout.config.durations import seconds_text
from tieout.config.endpoint_settings import EndpointSettings
from tieout.config.settings import Settings, SparkSettings
from tieout.config.task_settings import ColumnExpression, MoveSettings, OptionSettings, TableSettings, TaskSettings
from tieout.config.url_parameters import PARAMETERS
from tieout.config.urls import EndpointUrl
from tieout.model.levels import TargetLevel, choose, promise_of
from tieout.model.moves import Consistency, Delivery

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"

SECTIONS: dict[str, type[fields.Section]] = {
    "top": Settings,
    "spark": SparkSettings,
    "endpoint": EndpointSettings,
    "task": TaskSettings,
    "table": TableSettings,
    "column": ColumnExpression,
    "options": OptionSettings,
    "move": MoveSettings,
}
"""Every section of tieout.yaml, by the name that its generated table has in configuration.md."""

_WORDS: Sequence[tuple[Any, str]] = (
    (fields.Count, "whole number, at least 1"),
    (fields.PositiveSeconds, "duration, more than 0"),
    (fields.Seconds, "duration"),
    (fields.Names, "list of names"),
    (fields.EndpointReference, "endpoint or URL"),
    (fields.Text, "text"),
    (fields.Tolerance, "tolerance"),
)

_BLOCK = re.compile(r"(?P<start><!-- generated: (?P<name>[\w ]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def key_table(section: type[fields.Section]) -> str:
    """The keys of a section: what each holds, its default, and its description."""
    hints = get_type_hints(section, include_extras=True)
    rows = []
    for name, field in section.model_fields.items():
        default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True), name)
        rows.append((f"`{field.alias or name}`", _type_words(hints[name]), default, field.description or ""))
    return _table(("key", "holds", "default", "meaning"), rows)


def parameter_table(scheme: str) -> str:
    """The query parameters of a scheme's URLs."""
    rows = [(f"`{name}`", parameter.description) for name, parameter in sorted(PARAMETERS[scheme].items())]
    return _table(("parameter", "meaning"), rows)


def _default(value: Any, name: str) -> str:
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, BaseModel):
        return "its defaults"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"`{seconds_text(value)}s`"
    if isinstance(value, EndpointUrl):
        return f"`{value.redacted()}`"
    if value is PydanticUndefined:
        raise ValueError(f"{name} has no default that can be written down")
    return f"`{value}`"


def _type_words(hint: Any) -> str:
    for known, words in _WORDS:
        if hint == known:
            return words
    return next(iter(dict.fromkeys(_alternatives(hint))))


def _alternatives(hint: Any) -> Iterator[str]:
    """What a type may hold, the most telling first; several kinds of mapping and list are one."""
    for known, words in _WORDS:
        if hint == known:
            yield words
            return
    origin = get_origin(hint)
    if origin is Literal:
        yield " or ".join(f"`{choice}`" for choice in get_args(hint))
    elif isinstance(hint, type) and issubclass(hint, BaseModel):
        yield "section"
    elif hint is EndpointUrl:
        yield "URL"
    elif hint is bool:
        yield "`true` or `false`"
    elif hint is int:
        yield "whole number"
    elif hint is str:
        yield "text"
    elif origin is dict:
        yield f"mapping of {_plural(_type_words(get_args(hint)[1]))}"
    elif origin is tuple:
        yield f"list of {_plural(_type_words(get_args(hint)[0]))}"
    elif hasattr(hint, "__metadata__"):
        yield from _alternatives(hint.__origin__)
    else:
        parts = [part for part in get_args(hint) if part is not type(None)]
        yield " or ".join(dict.fromkeys(_type_words(part) for part in parts))


def _plural(words: str) -> str:
    return {"section": "sections", "tolerance": "tolerances"}.get(words, words)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def level_table() -> str:
    """What each combination of delivery, target level, key and consistency gives, or why it is refused."""
    rows = []
    for target in TargetLevel:
        for keyed in (True, False):
            for delivery in (Delivery.EXACTLY_ONCE, Delivery.AT_LEAST_ONCE, Delivery.AT_MOST_ONCE):
                found = [
                    promise_of(delivery, each, Consistency.TRANSACTION, target, keyed=keyed) for each in Consistency
                ]
                given = next((each for each in found if each.refused is None), None)
                kept = f"refused: {found[0].refused}" if given is None else given.killed
                seen = [str(each) for each, promise in zip(Consistency, found, strict=True) if promise.refused is None]
                key = "a key" if keyed else "no key"
                rows.append((f"`{target}`", key, f"`{delivery}`", kept, ", ".join(f"`{each}`" for each in seen)))
    return _table(("target level", "table", "delivery", "when a mover is killed", "consistency up to there"), rows)


def default_table() -> str:
    """What a task gets that chooses nothing."""
    rows = []
    for target in TargetLevel:
        for source in Consistency:
            chosen = choose(None, None, source, [target])
            rows.append((f"`{target}`", f"`{source}`", f"`{chosen.delivery}`", f"`{chosen.consistency}`"))
    return _table(("target level", "source level", "`delivery`", "`consistency`"), rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "levels": level_table,
    "defaults of levels": default_table,
    **{f"keys of {name}": lambda section=section: key_table(section) for name, section in SECTIONS.items()},
    **{f"parameters of {scheme}": lambda scheme=scheme: parameter_table(scheme) for scheme in PARAMETERS},
}


def refreshed(text: str) -> str:
    """The document with every generated block as the code has it now; KeyError for a block that is unknown."""
    return _BLOCK.sub(lambda match: f"{match['start']}{BLOCKS[match['name']]()}{match['end']}", text)


def block_names(text: str) -> list[str]:
    return [match["name"] for match in _BLOCK.finditer(text)]


def main(arguments: Sequence[str]) -> int:
    stale = [path for path in sorted(REFERENCE.glob("*.md")) if refreshed(path.read_text()) != path.read_text()]
    for path in stale:
        if "--check" in arguments:
            sys.stderr.write(f"{path.name} is out of date: run tools/reference.py\n")
        else:
            path.write_text(refreshed(path.read_text()))
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
