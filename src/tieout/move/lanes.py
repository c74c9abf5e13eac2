"""Lanes: which rows of a target are merged in one transaction, and which side by side.

With `transaction` there is no lane: one transaction merges everything. With `table` each table of the target is a lane.
With `row` the keys of large tables are divided into shares, and each share of all of them is a lane; small tables are
lanes of their own, which costs less: no row of theirs is staged for one connection and skipped by the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tieout.connectors.protocols.move import StagedChanges
from tieout.model.moves import Consistency, Lane, LaneProgress, Transfer
from tieout.model.positions import Position
from tieout.model.tables import TableName


@dataclass(frozen=True)
class LaneStart:
    """Where a lane is when it merges its first batch: None, and 0, where the task as a whole is."""

    applied: Position | None = None
    batch: int = 0


@dataclass(frozen=True)
class LanePlan:
    """The lanes of a task; none: one transaction merges everything.

    `shares`: by source table in how many shares its keys are divided, for those that are. `starts`: by the name of its
    lane where a lane is that is ahead of the task.
    """

    lanes: tuple[Lane, ...] = ()
    shares: Mapping[TableName, int] = field(default_factory=dict)
    starts: Mapping[str, LaneStart] = field(default_factory=dict)

    @cached_property
    def divided(self) -> frozenset[str]:
        """The target tables whose keys are divided into shares."""
        return frozenset(table for lane in self.lanes if lane.share is not None for table in lane.tables)

    @classmethod
    def of(
        cls, consistency: Consistency, transfers: Sequence[Transfer], joined: Mapping[TableName, str], shares: int
    ) -> LanePlan:
        """`joined`: the target tables whose keys can't be divided (Target.joined_keys). `shares`: how many connections
        merge at the same time.
        """
        if consistency is Consistency.TRANSACTION:
            return cls()
        if consistency is Consistency.TABLE or shares < 2:
            return cls._divided(transfers, frozenset(), 1)
        divided = {name for name in _large(transfers, shares) if name not in joined}
        return cls._divided(transfers, frozenset(map(str, divided)), shares)

    @classmethod
    def as_stored(cls, transfers: Sequence[Transfer], ahead: Sequence[LaneProgress]) -> LanePlan:
        """The lanes of an earlier mover, as far as they matter: without a lane that is ahead, all rows of a table are
        where the task is, however it was divided.
        """
        divided = next((each.lane for each in ahead if each.lane.share is not None), None)
        starts = {each.lane.name: LaneStart(each.applied, each.batch) for each in ahead}
        plan = cls._divided(transfers, frozenset(divided.tables if divided else ()), divided.shares if divided else 1)
        if divided is not None:
            # In its own words: tables that were stopped since belong to its name, too.
            lanes = tuple(
                lane if lane.share is None else Lane(divided.tables, lane.share, lane.shares) for lane in plan.lanes
            )
            return cls(lanes, plan.shares, starts)
        return cls(plan.lanes, plan.shares, starts)

    @classmethod
    def _divided(cls, transfers: Sequence[Transfer], divided: frozenset[str], shares: int) -> LanePlan:
        names = list(dict.fromkeys(str(transfer.target.name) for transfer in transfers))
        whole = tuple(Lane((name,)) for name in names if name not in divided)
        together = tuple(name for name in names if name in divided)
        parts = tuple(Lane(together, share, shares) for share in range(shares)) if together else ()
        by_source = {each.source.name: shares for each in transfers if str(each.target.name) in divided}
        return cls((*parts, *whole), by_source)

    def steps(self, changes: Sequence[StagedChanges]) -> list[tuple[tuple[Lane, ...], list[StagedChanges]]]:
        """What to merge in one transaction each: the lanes that it moves, and the staged changes that it needs."""
        found: list[tuple[tuple[Lane, ...], list[StagedChanges]]] = []
        for lane in self.lanes:
            if lane.share is None:
                own = [each for each in changes if str(each.stage.transfer.target.name) in lane.tables]
                found += [((lane,), own)] if own else []
        parts = [lane for lane in self.lanes if lane.share is not None]
        divided = [each for each in changes if each.stage.transfer.source.name in self.shares]
        if any(each.emptied for each in divided):
            # Nobody can tell by SQL which share an old row belongs to.
            return [*found, (tuple(parts), divided)]
        for lane in parts:
            assert lane.share is not None
            own = [each for each in divided if each.shares[lane.share].rows]
            found += [((lane,), own)] if own else []
        return found


def _large(transfers: Sequence[Transfer], shares: int) -> set[TableName]:
    """The target tables with more rows than a connection would have if all were divided; and those of unknown size."""
    rows: dict[TableName, float] = {}
    for each in transfers:
        estimate = each.source.estimated_rows
        rows[each.target.name] = rows.get(each.target.name, 0) + (math.inf if estimate is None else estimate)
    known = sum(each for each in rows.values() if each != math.inf)
    return {name for name, each in rows.items() if each * shares >= known}
