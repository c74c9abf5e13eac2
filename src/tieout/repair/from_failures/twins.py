"""Rows that are the same in what has to be unique: one of them is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.model.failures import FailureKind
from tieout.model.remedies import Choice
from tieout.repair.from_failures.deciding import Decided
from tieout.repair.from_failures.draft import Draft

KEEPS_ONE = (Choice.KEEP_FIRST, Choice.KEEP_LAST)


def all_but_one(draft: Draft, decided: Sequence[Decided]) -> list[Decided]:
    """Those that go. A row whose twins are not known has to wait."""
    groups: dict[tuple[Any, ...], list[Decided]] = {}
    for each in decided:
        groups.setdefault((each.failure.table, each.failure.constraint, *_in_common(each)), []).append(each)
    found = []
    for group in groups.values():
        if len(group) == 1:
            draft.wait(group[0], "the other rows of the same values are not among the failures")
            continue
        ordered = sorted(group, key=_by_key, reverse=group[0].choice is Choice.KEEP_LAST)
        found += ordered[1:]
    return found


def _in_common(decided: Decided) -> Sequence[str | None]:
    """What rows that are the same have in common: who they are, or else their values, which may be written in ways
    that only the engine takes for the same."""
    told = decided.failure.details.get("same_as")
    if told is None or told.endswith(" more") or "another row" in told:
        return [decided.values.get(name) for name in decided.failure.columns]
    key = decided.failure.primary_key
    own = ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in (key or {}).items())
    by_place = key is None or decided.failure.kind is FailureKind.PRIMARY_KEY_VIOLATION
    return sorted([decided.failure.place or "" if by_place else own, *told.split("; ")])


def _by_key(decided: Decided) -> list[tuple[bool, float, str]]:
    """Numbers by their size, before all else; places by the numbers in them."""
    failure = decided.failure
    if failure.primary_key is not None and failure.kind is not FailureKind.PRIMARY_KEY_VIOLATION:
        parts = [value or "" for value in failure.primary_key.values()]
    else:
        parts = (failure.place or "").strip("()").split(",")
    return [(not _is_number(part), float(part) if _is_number(part) else 0.0, part) for part in parts]


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdigit()
