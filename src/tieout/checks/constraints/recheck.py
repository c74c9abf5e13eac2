"""The rows that break constraints, as the engine finds them: looked for on executors, and looked for again before a row
is said to break one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from tieout.canonical.decode import decode
from tieout.canonical.fields import PRESENT, Field
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Part, Violations
from tieout.errors import TieoutError
from tieout.model.truncated import LONGEST_IN_FAILURE
from tieout.pace import Pace
from tieout.runtime.dispatch import rate_of_a_task, run_dealt
from tieout.runtime.recheck import Rechecked, RecheckPolicy, by_identity, recheck
from tieout.spark.executor_work import Work

MOST = 100_000
"""Rows that break one constraint, of one look: more are counted, not listed."""

Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class BreakingRow:
    """A row that breaks a constraint. `group` is what rows have in common that are not unique."""

    address: Values
    key: Values
    values: Values
    group: str | None = None

    @property
    def identity(self) -> Values:
        """What the row is called at another look."""
        return self.key or self.address or self.values


@dataclass
class Seen:
    """What one look found: for each constraint the rows that break it. `cut`: those of which there are more.

    `unlisted` rows break something, as the engine counts them, and are not among those that it lists.
    """

    rows: int
    breaking: list[list[BreakingRow]]
    cut: set[int] = field(default_factory=set)
    unlisted: int = 0


@dataclass(frozen=True)
class Look:
    """One part, of all that is asked."""

    violations: Violations
    part: Part
    rows_per_second: float | None = None

    def run(self) -> Iterator[Seen]:
        pace = Pace(self.rows_per_second)
        rows, suspicious = self.violations.asking.numbers(self.part.probe)
        seen = Seen(rows, [[] for _ in self.violations.constraints])
        if suspicious:
            for batch in self.violations.asking.rows(self.part.listing, self.violations.columns):
                self._add(seen, batch)
            if self.part.sure and not any(seen.breaking):
                seen.unlisted = suspicious
        pace.reached(rows)
        yield seen

    def _add(self, seen: Seen, batch: pa.RecordBatch) -> None:
        asked = self.violations
        fields = [decode(column.kind, array) for column, array in zip(asked.columns, batch.columns, strict=True)]
        address, rest = _split(fields, asked.address)
        key, rest = _split(rest, asked.key)
        values, marks = _split(rest, asked.values)
        for number, constraint in enumerate(asked.constraints):
            alone = constraint.kind.of_row_alone
            rows = np.flatnonzero(_truths(marks[number])) if alone else np.arange(batch.num_rows)
            listed = seen.breaking[number]
            for row in rows[: MOST - len(listed)]:
                group = None if alone or not marks else marks[0].kept(int(row), LONGEST_IN_FAILURE)
                listed.append(BreakingRow(_texts(address, row), _texts(key, row), _texts(values, row), group))
            if len(rows) and len(listed) == MOST:
                seen.cut.add(number)


def _split(fields: list[Field], columns: Sequence[ScanColumn]) -> tuple[list[Field], list[Field]]:
    return fields[: len(columns)], fields[len(columns) :]


def _truths(mark: Field) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (mark.status == PRESENT) & mark.words().astype(np.bool_)
    return found


def _texts(fields: Sequence[Field], row: np.integer) -> Values:
    """As failures keep them: long values truncated."""
    return tuple(field.kept(int(row), LONGEST_IN_FAILURE) for field in fields)


@dataclass
class ConstraintOutcome:
    """What came of one constraint. `unstable` broke it at the last look and at none before. `cut`: there may be more.

    `unlisted` rows break it or one that was asked with it: see Seen. `error` is what kept it from being asked.
    """

    rows: int = 0
    breaking: list[BreakingRow] = field(default_factory=list)
    unstable: int = 0
    unlisted: int = 0
    cut: bool = False
    error: TieoutError | None = None


_Suspect = tuple[int, int, Values]
"""What was asked, by its place; the constraint's number in it; what the rows are called at another look."""

_NOBODY = -1
"""Instead of a constraint's number: rows that break something, and that the engine does not list."""


@dataclass
class ConstraintRecheck:
    """`rest` waits so many seconds, or raises to end it all."""

    spark: SparkSession
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, asked: Sequence[Violations]) -> list[list[ConstraintOutcome]]:
        """For each of what is asked, what came of its constraints. Two looks in a row must find a row, whatever its
        values were.
        """
        last = dict(enumerate(self._look(asked)))
        outcomes = [
            [ConstraintOutcome(seen.rows, cut=number in seen.cut) for number in range(len(seen.breaking))]
            if isinstance(seen, Seen)
            else [ConstraintOutcome(error=seen) for _ in violations.constraints]
            for violations, seen in zip(asked, last.values(), strict=True)
        ]
        wrong = [place for place, seen in last.items() if isinstance(seen, Seen) and _is_wrong(seen)]
        looks = count()

        def look_again(_: Mapping[_Suspect, tuple[BreakingRow, ...]]) -> dict[_Suspect, tuple[BreakingRow, ...]]:
            last.update(zip(wrong, self._look([asked[place] for place in wrong]), strict=True))
            return _suspects({place: last[place] for place in wrong}, next(looks))

        suspects = _suspects({place: last[place] for place in wrong}, next(looks))
        policy = RecheckPolicy(self.options.recheck_after, max(1, self.options.recheck_times), grows=True)
        rechecked = recheck(suspects, look_again, policy, self.rest)
        for place in wrong:
            for number, result in enumerate(outcomes[place]):
                _take(result, place, number, last[place], rechecked)
        return outcomes

    def _look(self, asked: Sequence[Violations]) -> list[Seen | TieoutError]:
        """All of it at once."""
        rate = rate_of_a_task(self.spark, self.options.max_rows_per_second)
        work: list[tuple[int, Work]] = [
            (place, Look(violations, part, rate)) for place, violations in enumerate(asked) for part in violations.parts
        ]
        outcomes = run_dealt(self.spark, [piece for _, piece in work])
        seen: list[Seen | TieoutError] = [Seen(0, [[] for _ in violations.constraints]) for violations in asked]
        for (place, _), outcome in zip(work, outcomes, strict=True):
            total = seen[place]
            if isinstance(total, TieoutError):
                continue
            if outcome.error is not None:
                seen[place] = outcome.error
            else:
                _add(total, outcome.only())
        return seen


def _add(total: Seen, more: Seen) -> None:
    total.rows += more.rows
    total.unlisted += more.unlisted
    total.cut |= more.cut
    for number, (listed, found) in enumerate(zip(total.breaking, more.breaking, strict=True)):
        listed.extend(found[: MOST - len(listed)])
        if len(listed) == MOST:
            total.cut.add(number)


def _is_wrong(seen: Seen) -> bool:
    return any(seen.breaking) or seen.unlisted > 0


def _suspects(looked: Mapping[int, Seen | TieoutError], look: int) -> dict[_Suspect, tuple[BreakingRow, ...]]:
    found: dict[_Suspect, tuple[BreakingRow, ...]] = {}
    for place, seen in looked.items():
        if isinstance(seen, TieoutError):
            continue
        for number, breaking in enumerate(seen.breaking):
            for identity, alike in by_identity(breaking, lambda each: each.identity).items():
                found[place, number, identity] = alike
        if seen.unlisted:  # never the same: another look may list them
            found[place, _NOBODY, (str(look),)] = ()
    return found


def _take(
    result: ConstraintOutcome,
    place: int,
    number: int,
    seen: Seen | TieoutError,
    rechecked: Rechecked[_Suspect, tuple[BreakingRow, ...]],
) -> None:
    if isinstance(seen, TieoutError):
        result.error = seen
        return
    certain = {identity for of, which, identity in rechecked.certain if (of, which) == (place, number)}
    result.breaking = [each for each in seen.breaking[number] if each.identity in certain]
    result.unstable = len(seen.breaking[number]) - len(result.breaking)
    result.unlisted = seen.unlisted
    result.cut = number in seen.cut
