"""How to repair each failure: as people have chosen, or in the only possible way. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tieout.errors import UsageError
from tieout.model.failures import Failure, FailureKind, KeptFailure
from tieout.model.repair import Decisions, OpenFailure, where_of
from tieout.model.repair_choices import Advice, Category, Choice, advice_for, advice_on

_OF_VALUES = (
    FailureKind.INVALID_VALUE,
    FailureKind.INVALID_ENCODING,
    FailureKind.VALUE_OUT_OF_RANGE,
    FailureKind.INVALID_JSON,
    FailureKind.WRONG_GENERATED_VALUE,
)


@dataclass(frozen=True)
class Decided:
    """A failure, and what to do about it; `choice` None: nobody has decided."""

    id: str
    failure: Failure
    advice: Advice
    choice: Choice | None

    @property
    def values(self) -> dict[str, str | None]:
        """The row's columns as the check saw them, as canonical text."""
        details, columns = self.failure.details, self.failure.columns
        seen = {name.removeprefix("row."): text for name, text in details.items() if name.startswith("row.")}
        return seen if self.is_of_value else {**{name: details[name] for name in columns if name in details}, **seen}

    @property
    def is_of_value(self) -> bool:
        """Whether it is about one value, which the check saw as the engine writes it, perhaps truncated."""
        return self.failure.kind in _OF_VALUES

    @property
    def value(self) -> str | None:
        return self.failure.details.get("value") if self.is_of_value else None

    @property
    def entry(self) -> dict[str, str | None]:
        """The values of an index entry, as the check saw them."""
        details = self.failure.details.items()
        return {name.removeprefix("entry."): value for name, value in details if name.startswith("entry.")}

    def open(self, reason: str) -> OpenFailure:
        choices = tuple(choice.value for choice in self.advice.choices)
        failure = self.failure
        return OpenFailure(self.id, failure.kind.value, failure.table, where_of(failure), choices, reason)


def decide(kept: Sequence[KeptFailure], decisions: Decisions) -> list[Decided]:
    """UsageError for a choice that matches no failure, or does not apply to its kind."""
    by_id = {_id_of(kept, name): choice for name, choice in decisions.choices.items() if name.startswith("f-")}
    by_kind = {name: choice for name, choice in decisions.choices.items() if not name.startswith("f-")}
    kinds = {each.failure.kind.value for each in kept}
    unknown = [name for name in by_kind if name not in kinds]
    if unknown:
        there = f"it has {', '.join(sorted(kinds))}" if kinds else "it has none"
        raise UsageError(f"the job has no failure of the kind {', '.join(unknown)}", there)
    return [_decided(each, by_id, by_kind) for each in kept]


def _decided(kept: KeptFailure, by_id: Mapping[str, Choice], by_kind: Mapping[str, Choice]) -> Decided:
    failure = kept.failure
    advice = advice_on(failure)
    chosen = by_id.get(kept.id) or by_kind.get(kept.failure.kind)
    if chosen is not None and chosen not in (*advice_for(failure.kind).choices, Choice.LEAVE):
        ways = ", ".join([*advice.choices, Choice.LEAVE])
        raise UsageError(f"{chosen} can't repair {kept.failure.kind}", f"choose one of {ways}")
    if chosen is None and advice.category is Category.AUTOMATIC:
        chosen = advice.choices[0]
    return Decided(kept.id, failure, advice, chosen)


def _id_of(kept: Sequence[KeptFailure], reference: str) -> str:
    found = [each.id for each in kept if each.id == reference] or [
        each.id for each in kept if each.id.startswith(reference)
    ]
    if len(found) != 1:
        words = "matches several failures" if found else "matches no failure that this job was the last to find"
        raise UsageError(f"{reference} {words}", "see `tieout failures list`")
    return found[0]
