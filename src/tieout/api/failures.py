"""What checks have found over time."""

from __future__ import annotations

from tieout.errors import UsageError
from tieout.meta import DEFAULT_URL, open_store
from tieout.model.defaults import LISTED_FAILURES
from tieout.model.failures import FailureKind, FailureState, KeptFailure
from tieout.model.nearest import chosen, suggestion

_OTHER_NAMES = {
    "missing_secondary_index": FailureKind.MISSING_INDEX_ENTRY,
    "missing_secondary_index_entry": FailureKind.MISSING_INDEX_ENTRY,
    "dangling_secondary_index": FailureKind.DANGLING_INDEX_ENTRY,
    "dangling_secondary_index_entry": FailureKind.DANGLING_INDEX_ENTRY,
    "dangling_index_reference": FailureKind.DANGLING_INDEX_ENTRY,
    "check_constraint_violation": FailureKind.CHECK_VIOLATION,
    "unique_constraint_violation": FailureKind.UNIQUE_VIOLATION,
    "null_value_error": FailureKind.NOT_NULL_VIOLATION,
}
"""The names that SCRUB and INSPECT use."""


def list_failures(
    meta: str = DEFAULT_URL,
    *,
    limit: int = LISTED_FAILURES,
    state: FailureState | str | None = None,
    kind: FailureKind | str | None = None,
    gone: bool = False,
) -> list[KeptFailure]:
    """Failures, newest first. `gone` adds those that later checks no longer found."""
    chosen_state = None if state is None else chosen(FailureState, state, "state")
    with open_store(meta) as store:
        return store.failures.list(
            limit=limit,
            state=chosen_state,
            kind=None if kind is None else kind_named(kind).value,
            gone=gone,
        )


def show_failure(reference: str, meta: str = DEFAULT_URL) -> KeptFailure:
    with open_store(meta) as store:
        return store.failures.get(reference)


def judge_failure(reference: str, state: FailureState | str, note: str | None, meta: str = DEFAULT_URL) -> KeptFailure:
    """Marks a failure as ignored, resolved or open, with a note that says why."""
    chosen_state = chosen(FailureState, state, "state")
    with open_store(meta) as store:
        return store.failures.judge(reference, chosen_state, note)


def kind_named(name: str) -> FailureKind:
    """The kind with this name, or with the name that SCRUB and INSPECT use. UsageError if there is none."""
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    try:
        return FailureKind(name)
    except ValueError:
        raise UsageError(f"no failure is called {name!r}", suggestion(name, list(FailureKind))) from None
