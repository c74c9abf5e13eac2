"""What the checks of constraints have told already: a rule of values may be a constraint, and one fault is told once.

The constraint tells it, by a name that people know. What it could not be asked, or named only in part, values tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tieout.checks.checked import Checked
from tieout.model.failures import Failure


@dataclass(frozen=True)
class Told:
    """Constraints, each with a row that breaks it."""

    rows: frozenset[tuple[object, ...]]

    def __contains__(self, failure: Failure) -> bool:
        return _row(failure) in self.rows


def told_by(checked: Iterable[Checked]) -> Told:
    """A row that has no name might be any."""
    found = [failure for each in checked for failure in each.failures]
    return Told(frozenset(_row(each) for each in found if each.constraint and (each.primary_key or each.place)))


def _row(failure: Failure) -> tuple[object, ...]:
    """By its key, or else by its place."""
    key = failure.primary_key
    return failure.constraint, tuple(key.items()) if key else failure.place
