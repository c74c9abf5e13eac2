"""From a verification's differences to a plan of changes. Reads both sides; changes nothing.

`decide` is pure: a difference and what is there now, into the change that would end it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tieout.config.urls import EndpointUrl
from tieout.errors import UsageError
from tieout.meta import ChangeAction, ChangeState, Job, JobState, JobTable, MetaStore, RepairChange
from tieout.model.differences import Difference, DifferenceKind
from tieout.model.progress_events import Listener, Progress, silence
from tieout.model.repair import RepairSummary, Unrepaired
from tieout.model.truncated import LONGEST_KEPT, is_whole
from tieout.repair.from_differences.tables import (
    OUTSIDE,
    RepairTable,
    Sides,
    exact_row,
    key_of,
    on_source,
    on_target,
    opened,
    verification,
    within_condition,
)
from tieout.repair.rows import Found, Unwritable
from tieout.runtime.ranges import Portions
from tieout.verification.compare import changed_columns
from tieout.verification.localise import shape_of

BATCH = 200
"""Differences to look up at once, if their rows are short."""


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
    """Stores a plan that would end the differences of a job, or of one of its tables.

    A plan stores whole rows, which it reads again: for a job that redacted values only `with_values`.
    """
    job = verification(store, job_ref)
    if job.request.get("options", {}).get("redact_values") and not with_values:
        raise UsageError(
            f"job {job.id} redacted values, and a plan stores whole rows in the meta store, for undo",
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
        self._ordinals: dict[str, list[int]] = {}
        for each in known:
            self._ordinals.setdefault(_listed_as(each), []).append(each.ordinal)
        if only is not None:
            meant = _meant(only, known)
            if not meant:
                raise UsageError(f"job {job.id} has no table {only}", f"it has {', '.join(sorted(self._ordinals))}")
            self._ordinals = {name: places for name, places in self._ordinals.items() if name in meant}

    def changes(self) -> Iterator[RepairChange]:
        """Deletes, then updates, then inserts, to avoid conflicts; deletes children first, inserts them last."""
        tables = [t for name, t in self._sides.tables.items() if name in self._ordinals]
        for kind in (DifferenceKind.EXTRA, DifferenceKind.CHANGED, DifferenceKind.MISSING):
            for table in reversed(tables) if kind is DifferenceKind.EXTRA else tables:
                yield from self._of_table(table, kind)

    def _of_table(self, table: RepairTable, kind: DifferenceKind) -> Iterator[RepairChange]:
        (ordinal,) = self._ordinals[table.name]  # tables that share a name are refused
        found = self._store.differences.iterate(self._job.id, ordinal)
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
                yield skipped(difference, f"the meta store can't hold the row for undo: {size}")
            else:
                yield change

    def summary(self, empty: RepairSummary) -> RepairSummary:
        kept = {
            name: sum(self._store.differences.count(self._job.id, at).total for at in ordinals)
            for name, ordinals in self._ordinals.items()
        }
        counted = counted_differences(self._store, self._job)
        refused = unrepaired(self._sides, {name: counted.get(name, kept[name]) for name in self._ordinals})
        notes = []
        if self._job.state is not JobState.DONE:
            notes.append(f"the verification is {self._job.state}: there may be more differences than it had found")
        if self._tally["vanished"]:
            notes.append(f"differences that have gone since: {self._tally['vanished']:,}")
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
            unrepaired=refused,
            notes=tuple(notes),
        )


def counted_differences(store: MetaStore, job: Job, only: str | None = None) -> dict[str, int]:
    """How many differences the job counted in each table, listed or not. `only`: one that a plan is limited to."""
    result = store.jobs.result(job.id) or {}
    counted: Counter[str] = Counter()
    for table in result.get("tables", ()):
        counted[table["source_table"] or table["target_table"]] += sum(table["differences"].values())
    if only is None:
        return counted
    meant = _meant(only, store.tables.all(job.id))
    return {name: count for name, count in counted.items() if name in meant}


def unrepaired(sides: Sides, counted: Mapping[str, int]) -> tuple[Unrepaired, ...]:
    """The tables with differences that can't be repaired."""
    return tuple(
        Unrepaired(name, count, sides.refused.get(name, "the table is not there any more"))
        for name, count in counted.items()
        if count and name not in sides.tables
    )


def _listed_as(table: JobTable) -> str:
    return table.source_table or table.target_table or ""


def _meant(typed: str, known: Sequence[JobTable]) -> set[str]:
    """The tables that a name means: the source's, else the target's (merged tables are listed under it), else a name
    without its schema.
    """
    for name_of in (lambda t: {t.source_table}, lambda t: {t.target_table}, _plain_names):
        if found := {_listed_as(table) for table in known if typed in name_of(table)}:
            return found
    return set()


def _plain_names(table: JobTable) -> set[str]:
    return {name.rpartition(".")[2] for name in (table.source_table, table.target_table) if name}


_ACTIONS = {
    DifferenceKind.MISSING: ChangeAction.INSERT,
    DifferenceKind.EXTRA: ChangeAction.DELETE,
    DifferenceKind.CHANGED: ChangeAction.UPDATE,
}


def decide(table: RepairTable, difference: Difference, source: Found, target: Found) -> RepairChange | None:
    """The change, a skipped change with its reason, or None if the difference is gone.

    If a row that the verification saw is not found, somebody has deleted it, or its key does not find it. Neither
    is a reason to delete or insert anything: the plan skips it.
    """
    key = key_of(table, difference.key)
    if key is None and not is_whole(difference.key):
        return skipped(difference, f"its key is too long to store: more than {LONGEST_KEPT:,} bytes")
    if key is None:
        return skipped(difference, "a key with NULL finds no row")
    failure = source.failed.get(key) or target.failed.get(key)
    if failure:
        return skipped(difference, failure if failure == OUTSIDE else f"could not be looked up: {failure}")
    here, there = source.places.get(key, []), target.places.get(key, [])
    if len(here) > 1 or len(there) > 1:
        return skipped(difference, "more than one row has this key")
    if not here and not there:
        return None
    try:
        if here and there:
            return _update(table, difference, (source, here[0]), (target, there[0]))
        if here:
            return _insert(table, difference, source, here[0])
        return _delete(table, difference, target, there[0])
    except Unwritable as reason:
        return skipped(difference, str(reason))


def skipped(difference: Difference, message: str) -> RepairChange:
    action = _ACTIONS[difference.kind]
    return RepairChange(difference.table, action, dict(difference.key), state=ChangeState.SKIPPED, message=message)


def _update(
    table: RepairTable, difference: Difference, here: tuple[Found, int], there: tuple[Found, int]
) -> RepairChange | None:
    (source, left), (target, right) = here, there
    changed = set(changed_columns(shape_of(table.plan), source.rows, left, target.rows, right))
    if not changed:
        return None
    fills = [fill for fill in table.fills if fill.compared in changed]
    if not fills:
        names = ", ".join(table.plan.columns[place] for place in sorted(changed))
        return skipped(difference, f"{names} can't be written: generated, or compared by an expression")
    new = {fill.column.name: source.text(left, fill.source) for fill in fills}
    return RepairChange(
        difference.table, ChangeAction.UPDATE, dict(difference.key), exact_row(table, target, right), new
    )


def _insert(table: RepairTable, difference: Difference, source: Found, row: int) -> RepairChange:
    if difference.kind is DifferenceKind.CHANGED:
        return skipped(difference, "the target's row is no longer found; verify again")
    if table.computed:
        return skipped(
            difference, f"{', '.join(table.computed)} is compared by an expression: the value to write is unknown"
        )
    new = {fill.column.name: source.text(row, fill.source) for fill in table.fills}
    return RepairChange(difference.table, ChangeAction.INSERT, dict(difference.key), None, new)


def _delete(table: RepairTable, difference: Difference, target: Found, row: int) -> RepairChange:
    if difference.kind is not DifferenceKind.EXTRA:
        return skipped(difference, "the source's row is no longer found; verify again")
    return RepairChange(difference.table, ChangeAction.DELETE, dict(difference.key), exact_row(table, target, row))
