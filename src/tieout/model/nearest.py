"""What a mistyped name was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
