"""Work on executors: the rows that break constraints, as the engine finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.canonical.fields import PRESENT, Field
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Part, Violations
from tieout.model.truncated import LONGEST_IN_FAILURE
from tieout.pace import Pace

MOST = 100_000
"""Rows that break one constraint, of one look: more are counted, not listed."""

Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Breaker:
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
    breakers: list[list[Breaker]]
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
            if self.part.sure and not any(seen.breakers):
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
            listed = seen.breakers[number]
            for row in rows[: MOST - len(listed)]:
                group = None if alone or not marks else marks[0].kept(int(row), LONGEST_IN_FAILURE)
                listed.append(Breaker(_texts(address, row), _texts(key, row), _texts(values, row), group))
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
