"""From a verification's differences to a plan of changes. Reads both sides; changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tieout.config.urls import EndpointUrl
from tieout.errors import UsageError
from tieout.meta import ChangeAction, ChangeState, Job, JobState, MetaStore, RepairChange
from tieout.model.differences import Difference, DifferenceKind
from tieout.model.progress import Listener, Progress, silence
from tieout.model.repairs import RepairSummary, Unrepaired
from tieout.repair.from_differences.deciding import decide, key_of, skipped
from tieout.repair.from_differences.looking import on_source, on_target, within_condition
from tieout.repair.from_differences.sides import Sides, opened, verification
from tieout.repair.from_differences.tables import RepairTable
from tieout.runtime.ranges import Portions

BATCH = 200
"""Differences looked up at once, if their rows are short."""


def plan_repair(
    store: MetaStore,
    job_ref: str,
    source_url: EndpointUrl,
    target_url: EndpointUrl,
    *,
    table: str | None = None,
    with_values: bool = False,
    listener: Listener = silence,
) -> RepairSummary:
    """Keeps a plan that would end the differences of a job, or of one of its tables (by the source's name).

    A plan keeps whole rows, which are read anew: of a job that redacted values only `with_values`.
    """
    job = verification(store, job_ref)
    if job.request.get("options", {}).get("redact_values") and not with_values:
        raise UsageError(
            f"job {job.id} redacted values, and a plan keeps whole rows in the meta store: undo needs them",
            f"accept that: tieout repair plan {job.id} --with-values",
        )
    with opened(job, source_url, target_url) as sides:
        planner = _Planner(store, job, sides, table, listener)
        plan = store.repairs.create(job.id, planner.changes(), table=table)
    return planner.summary(RepairSummary(plan.id, job.id, job.source, job.target or ""))


class _Planner:
    def __init__(self, store: MetaStore, job: Job, sides: Sides, only: str | None, listener: Listener) -> None:
        self._store = store
        self._job = job
        self._sides = sides
        self._listener = listener
        self._tally: Counter[str] = Counter()
        known = store.tables.all(job.id)
        # Differences are named by the source's table, or the target's where the source has none.
        self._ordinals = {t.source_table or t.target_table or "": t.ordinal for t in known}
        if only is not None:
            if only not in self._ordinals:
                raise UsageError(f"job {job.id} has no table {only}", f"it has {', '.join(sorted(self._ordinals))}")
            self._ordinals = {only: self._ordinals[only]}

    def changes(self) -> Iterator[RepairChange]:
        """Deletes, then updates, then inserts, so that few get in another's way; children go first and come last."""
        tables = [t for name, t in self._sides.tables.items() if name in self._ordinals]
        for kind in (DifferenceKind.EXTRA, DifferenceKind.CHANGED, DifferenceKind.MISSING):
            for table in reversed(tables) if kind is DifferenceKind.EXTRA else tables:
                yield from self._of_table(table, kind)

    def _of_table(self, table: RepairTable, kind: DifferenceKind) -> Iterator[RepairChange]:
        found = self._store.differences.iterate(self._job.id, self._ordinals[table.name])
        wanted = (difference for difference in found if difference.kind is kind)
        portions = Portions(BATCH)
        for some in portions.of(wanted):
            for change in self._decided(table, some, portions):
                self._tally[change.state if change.state is ChangeState.SKIPPED else change.action] += 1
                yield change
            self._listener(Progress("plan", table.name, self._tally.total()))

    def _decided(
        self, table: RepairTable, differences: Sequence[Difference], portions: Portions
    ) -> Iterator[RepairChange]:
        keys = [key for each in differences if (key := key_of(table, each.key)) is not None]
        source, target = on_source(table, keys), on_target(table, self._sides.writer, keys)
        portions.took(max(source.rows.size, target.rows.size))
        inside = None
        if table.plan.target.scan.where is not None:
            inside = within_condition(table, self._sides.writer, list(target.places))
        for difference in differences:
            key = key_of(table, difference.key)
            if inside is not None and key in target.places and key not in inside:
                yield skipped(difference, "the target has a row with this key outside the condition")
                continue
            change = decide(table, difference, source, target)
            if change is None:
                self._tally["vanished"] += 1
            elif (size := self._store.repairs.too_large(change)) is not None:
                yield skipped(difference, f"the row can't be kept for undo: {size}")
            else:
                yield change

    def summary(self, empty: RepairSummary) -> RepairSummary:
        counted = self._counted()
        kept = {name: self._store.differences.count(self._job.id, at).total for name, at in self._ordinals.items()}
        refused = []
        for name in self._ordinals:
            reason = self._sides.refused.get(name, "the table is not there any more")
            if name not in self._sides.tables and counted.get(name, kept[name]):
                refused.append(Unrepaired(name, counted.get(name, kept[name]), reason))
        notes = []
        if self._job.state is not JobState.DONE:
            notes.append(f"the verification is {self._job.state}: there may be more differences than it had found")
        if self._tally["vanished"]:
            notes.append(f"differences that are gone meanwhile: {self._tally['vanished']:,}")
        return replace(
            empty,
            inserts=self._tally[ChangeAction.INSERT],
            updates=self._tally[ChangeAction.UPDATE],
            deletes=self._tally[ChangeAction.DELETE],
            skipped=self._tally[ChangeState.SKIPPED],
            vanished=self._tally["vanished"],
            not_kept=sum(
                max(0, counted.get(name, 0) - kept[name]) for name in self._ordinals if name in self._sides.tables
            ),
            unrepaired=tuple(refused),
            notes=tuple(notes),
        )

    def _counted(self) -> dict[str, int]:
        """How many differences the job counted in each table, listed or not."""
        result = self._store.jobs.result(self._job.id) or {}
        return {
            table["source_table"] or table["target_table"]: sum(table["differences"].values())
            for table in result.get("tables", ())
        }
