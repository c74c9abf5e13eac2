"""What a typed name means: the choice that it names, or the most similar one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from tieout.errors import UsageError

E = TypeVar("E", bound=StrEnum)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelt most like `name`, or None if none is close; case does not count."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[close[0]] if close else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the nearest known one, else all of them."""
    names = list(known)
    close = nearest(name, names)
    if close is not None:
        return f'did you mean "{close}"?'
    return f"known: {', '.join(names)}" if names else "there are none"


def chosen(choices: Iterable[E], value: object, what: str) -> E:
    """The choice that a value names: one of them, or its text, in upper or lower case, with - or _ between words.

    UsageError for anything else; `what` is what they are, such as "strategy".
    """
    known = {_folded(choice.value): choice for choice in choices}
    found = known.get(_folded(value)) if isinstance(value, str) else None
    if found is None:
        names = [choice.value for choice in known.values()]
        close = nearest(value, names) if isinstance(value, str) else None
        hint = None if close is None else f'did you mean "{close}"?'
        raise UsageError(f"{str(value)!r} is no {what}: there are {', '.join(names)}", hint)
    return found


def _folded(text: str) -> str:
    return text.casefold().replace("_", "-")
