"""Which column of a table a name in a task's entry means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tieout.errors import UsageError


def columns_meant(names: Iterable[str], columns: Sequence[str], table: str) -> dict[str, str]:
    """For each name the column that it means, if there is one: the column of just that name, or else one whose name
    differs only in case.

    UsageError if a name could be two columns, or two names would be one: no mapping says which of them wins.
    """
    found: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names:
        alike = [name] if name in columns else [each for each in columns if each.casefold() == name.casefold()]
        if len(alike) > 1:
            raise UsageError(f"{name} could be {' or '.join(alike)} of {table}", "write it as the column is written")
        if alike:
            found[name] = alike[0]
        # What is no column yet may become one: most databases know it in any case.
        first = taken.setdefault(alike[0] if alike else name.casefold(), name)
        if first != name:
            raise UsageError(f"{first} and {name} would be one column of {table}", "keep one of them")
    return found
