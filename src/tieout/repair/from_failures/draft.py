"""A plan in the making: what people decided, and what of that can't be done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tieout.connectors.protocols.repair import Repairer
from tieout.meta import ChangeAction, ChangeState, RepairChange
from tieout.model.repair import Decisions, OpenFailure
from tieout.repair.from_failures.database import Database
from tieout.repair.from_failures.decisions import Decided
from tieout.repair.from_failures.details import Details
from tieout.repair.from_failures.rows_known_only_to_indexes import IndexOnlyRow


@dataclass
class Draft:
    """By failure id: `open` failures wait for a decision, the plan does nothing about `left` ones. `vanished` failures
    belong to rows that are not as the check saw them.
    """

    database: Database
    decided: Sequence[Decided]
    decisions: Decisions
    index_only_rows: Sequence[IndexOnlyRow]
    open: dict[str, OpenFailure] = field(default_factory=dict)
    left: dict[str, OpenFailure] = field(default_factory=dict)
    vanished: set[str] = field(default_factory=set)

    @property
    def repairer(self) -> Repairer:
        return self.database.repairer

    def wait(self, each: Decided, reason: str) -> None:
        self.open[each.id] = each.open(reason)

    def leave(self, each: Decided, reason: str) -> None:
        self.left[each.id] = each.open(reason)

    def leave_all(self, failures: Iterable[Decided], reason: str) -> None:
        for each in failures:
            self.leave(each, reason)

    def is_planned(self, each: Decided) -> bool:
        return each.choice is not None and each.id not in self.open and each.id not in self.left

    def undone(self) -> list[RepairChange]:
        """Entries for failures without a change: the plan stores the reason."""
        return [*self._undone(ChangeState.UNDECIDED, self.open), *self._undone(ChangeState.SKIPPED, self.left)]

    def _undone(self, state: ChangeState, failures: dict[str, OpenFailure]) -> list[RepairChange]:
        by_id = {each.id: each.failure for each in self.decided}
        return [
            RepairChange(
                each.table,
                ChangeAction.NONE,
                by_id[each.id].primary_key or {},
                state=state,
                message=f"{each.failure} {each.where}: {each.reason}",
                details=Details((each.id,), tuple(filter(None, [by_id[each.id].index]))).document(),
            )
            for each in failures.values()
        ]
