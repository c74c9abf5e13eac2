"""Applies a plan and undoes it; after an apply, compares the rows of the plan on both sides.

A transaction takes some steps: it reads the source's rows and the locked ones, changes those that are as planned, and
commits. A step is one planned change, forwards or backwards: what must be there, and the statement. Updates that want
each other's unique values are circles: no order of them can be carried out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby, islice

from tieout.canonical.numbers import plain_number, within
from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.repair import Refused, Row, Statements
from tieout.meta import ChangeAction, ChangeOutcome, ChangeState, MetaStore, RepairChange, RepairPlan, RepairState
from tieout.meta.repairs import in_batches
from tieout.model.canonical_kinds import Kind
from tieout.model.differences import Difference
from tieout.model.keys import Key
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import RepairResult
from tieout.model.tables import Column, Table
from tieout.model.types import TypeName
from tieout.repair.execute import (
    BACKWARDS,
    FORWARDS,
    LISTED,
    Direction,
    End,
    Outcome,
    Passes,
    in_transaction,
    messages_of,
    restate,
    running,
)
from tieout.repair.from_differences.plan import counted_differences, unrepaired
from tieout.repair.from_differences.tables import (
    RepairTable,
    Sides,
    exact_row,
    key_of,
    on_source,
    on_target,
    opened,
    verification,
)
from tieout.repair.rows import Found, Unwritable
from tieout.runtime.ranges import Portions
from tieout.verification.compare import compare_rows
from tieout.verification.localise import shape_of
from tieout.verification.rows import LOOKUP, look_up_rows

BATCH = 200
"""Changes in one transaction."""


def apply_repair(
    store: MetaStore,
    plan_ref: str,
    source_url: EndpointUrl,
    target_url: EndpointUrl,
    *,
    listener: Listener = silence,
    batch: int = BATCH,
) -> RepairResult:
    """Changes the target as planned, then compares the plan's rows.

    Leaves alone a row that has changed on either side since the plan was made. Applied again after a crash or a
    failure, a plan goes on: it repeats nothing that is done, and retries what failed. Raises Interrupted if another
    terminal wants that.
    """
    plan = store.repairs.get(plan_ref)
    expected = (RepairState.PLANNED, RepairState.APPLYING, RepairState.APPLIED, RepairState.FAILED)
    with running(store, plan, FORWARDS, expected, RepairState.APPLYING) as work:
        with opened(verification(store, plan.job_id), source_url, target_url) as sides:
            if plan.state is not RepairState.PLANNED:
                settle_in_flight(store, plan, sides)
                restate(store, plan, ChangeState.FAILED, ChangeState.PLANNED)
            _passes(store, plan, sides, FORWARDS, batch, work.between(listener)).run()
            # What is still planned after the last pass was refused; its message says why.
            restate(store, plan, ChangeState.PLANNED, ChangeState.FAILED)
            return work.finish(_checked(store, plan, sides))


def undo_repair(
    store: MetaStore,
    plan_ref: str,
    source_url: EndpointUrl,
    target_url: EndpointUrl,
    *,
    listener: Listener = silence,
    batch: int = BATCH,
) -> RepairResult:
    """Restores what the plan has changed on the target, the last change first.

    Leaves alone a row that is not as the repair left it, and counts it as skipped.
    """
    plan = store.repairs.get(plan_ref)
    expected = (RepairState.APPLYING, RepairState.APPLIED, RepairState.FAILED, RepairState.UNDOING, RepairState.UNDONE)
    with running(store, plan, BACKWARDS, expected, RepairState.UNDOING) as work:
        with opened(verification(store, plan.job_id), source_url, target_url, undoes=True) as sides:
            settle_in_flight(store, plan, sides)
            passes = _passes(store, plan, sides, BACKWARDS, batch, work.between(listener))
            passes.run()
            counts = store.repairs.count(plan.id)
            skipped, failed = passes.left[End.CHANGED], passes.left[End.REFUSED]
            messages = messages_of(store, plan, ChangeState.APPLIED)
            done = counts.get(ChangeState.UNDONE, 0)
            return work.finish(RepairResult(plan.id, plan.job_id, "undo", done, skipped, failed, messages=messages))


def _passes(
    store: MetaStore,
    plan: RepairPlan,
    sides: Sides,
    direction: Direction,
    batch: int,
    between: Callable[[str, int], None],
) -> Passes:
    work = RowWork(store, plan, sides, direction, batch)
    return Passes(store, plan, direction, work, between, redacts=sides.redacts)


def _checked(store: MetaStore, plan: RepairPlan, sides: Sides) -> RepairResult:
    left = still_different(store, plan, sides)
    first: tuple[Difference, ...] = tuple(islice(left, LISTED))
    counts = store.repairs.count(plan.id)
    return RepairResult(
        plan.id,
        plan.job_id,
        "apply",
        done=counts.get(ChangeState.APPLIED, 0),
        skipped=counts.get(ChangeState.SKIPPED, 0),
        failed=counts.get(ChangeState.FAILED, 0),
        different=len(first) + sum(1 for _ in left),
        differences=first,
        unrepaired=unrepaired(sides, counted_differences(store, verification(store, plan.job_id), plan.table)),
        messages=messages_of(store, plan, ChangeState.FAILED) + messages_of(store, plan, ChangeState.SKIPPED),
    )


def still_different(store: MetaStore, plan: RepairPlan, sides: Sides) -> Iterator[Difference]:
    """Reads the rows of the plan again and yields the differences that are left, as the verification would."""
    for name, changes in groupby(store.repairs.changes(plan.id, rows=False), key=lambda change: change.table):
        table = sides.tables.get(name)
        if table is None:
            continue
        portions = Portions(LOOKUP)
        keys = (key for change in changes if (key := key_of(table, change.key)) is not None)
        for some in portions.of(keys):
            source = look_up_rows(table.plan.source.reader, table.plan.source.scan, some)
            target = look_up_rows(table.plan.target.reader, table.plan.target.scan, some)
            shape = shape_of(table.plan)
            yield from map(shape.shown, compare_rows(shape, source, target).differences())
            portions.took(max(source.size, target.size))


class Look(Enum):
    """What a recheck of the rows says about a step."""

    READY = "as it was when the step was planned"
    DONE = "as the step would leave it"
    CHANGED = "neither"
    OUTDATED = "as it was, but the source's is not"


@dataclass(frozen=True, slots=True)
class Step:
    """`backwards` undoes the change."""

    table: RepairTable
    change: RepairChange
    backwards: bool = False

    @property
    def key(self) -> Key:
        key = key_of(self.table, self.change.key)
        assert key is not None, "a change with no key is never planned"
        return key

    @property
    def action(self) -> ChangeAction:
        if not self.backwards:
            return self.change.action
        inverse = {ChangeAction.INSERT: ChangeAction.DELETE, ChangeAction.DELETE: ChangeAction.INSERT}
        return inverse.get(self.change.action, self.change.action)

    @property
    def values(self) -> Row:
        """The values that the step writes: the columns that change, or all of a row."""
        change = self.change
        new, old = change.new_row or {}, change.old_row or {}
        if not self.backwards:
            return new
        return {name: old[name] for name in new} if change.action is ChangeAction.UPDATE else old

    @property
    def whole(self) -> Row:
        """The row as an update leaves it, all columns."""
        return {**(self.change.old_row or {}), **self.values}

    @property
    def target_key(self) -> Row:
        """The key as the target spells it."""
        row = {**(self.change.new_row or {}), **(self.change.old_row or {})}
        return {name: row[name] for name in self.table.key}

    def look(self, found: Found, source: Found | None = None) -> Look:
        """Whether the target's row, and the source's if given, is still what the step was planned for. Written values
        must be those that were written.
        """
        places = found.places.get(self.key, [])
        if len(places) > 1 or self.key in found.failed:
            return Look.CHANGED
        is_old, is_new = self._is_old(found, places), self._is_new(found, places)
        if is_old and is_new:
            return Look.DONE
        before, after = (is_new, is_old) if self.backwards else (is_old, is_new)
        if not before:
            return Look.DONE if after else Look.CHANGED
        return Look.OUTDATED if source is not None and self.is_outdated(source) else Look.READY

    def is_outdated(self, source: Found) -> bool:
        """Whether the source's row is not any more what the step was planned from."""
        places, new = source.places.get(self.key, []), self.change.new_row
        if self.key in source.failed or len(places) != (0 if new is None else 1):
            return True
        fills = (fill for fill in self.table.fills if new is not None and fill.column.name in new)
        try:
            return any(source.text(places[0], fill.source) != (new or {})[fill.column.name] for fill in fills)
        except Unwritable:
            return True

    def _is_old(self, found: Found, places: list[int]) -> bool:
        old = self.change.old_row
        if old is None or not places:
            return old is None and not places
        if self.backwards and self.change.action is ChangeAction.UPDATE:
            old = self.values
        try:
            current = exact_row(self.table, found, places[0])
        except Unwritable:
            return False
        return all(name in current and current[name] == text for name, text in old.items())

    def _is_new(self, found: Found, places: list[int]) -> bool:
        new = self.change.new_row
        if new is None or not places:
            return new is None and not places
        fills = {fill.column.name: fill for fill in self.table.fills}
        try:
            return all(
                name in fills and same(fills[name].kind, found.text(places[0], fills[name].target), text)
                for name, text in new.items()
            )
        except Unwritable:
            return False

    def statement(self, statements: Statements) -> str:
        """Raises Refused if the plan, of an earlier version, writes a column that the task leaves out."""
        table = self.table.table
        left_out = () if self.backwards else (self.change.new_row or {}).keys() - self.table.filled
        if left_out:
            raise Refused(f"the task leaves out {', '.join(sorted(left_out))}: plan the repair again")
        if self.action is ChangeAction.INSERT:
            return statements.insert(table, self.values)
        if self.action is ChangeAction.DELETE:
            return statements.delete(table, self.target_key, self.table.losing)
        return statements.update(table, self.target_key, self.values)


def same(kind: Kind, a: str | None, b: str | None) -> bool:
    """Whether two texts of a form are one value, a tolerance applied."""
    if a == b or a is None or b is None or kind.tolerance is None:
        return a == b
    return within(a, b, kind.tolerance)


def circles(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps in groups: each wants a value that another of its group has."""
    holders = {value: place for place, step in enumerate(steps) for value in held(step)}
    group = list(range(len(steps)))
    for place, step in enumerate(steps):
        for value in wanted(step):
            holder = holders.get(value)
            if holder is not None and _root(group, holder) != _root(group, place):
                group[_root(group, place)] = _root(group, holder)
    grouped: dict[int, list[Step]] = defaultdict(list)
    for place, step in enumerate(steps):
        grouped[_root(group, place)].append(step)
    return list(grouped.values())


def _root(group: list[int], place: int) -> int:
    while group[place] != place:
        group[place] = group[group[place]]
        place = group[place]
    return place


def held(step: Step) -> Iterable[Hashable]:
    """The unique values that an update's row has before, and gives up."""
    before = {**step.whole, **(step.change.new_row or {})} if step.backwards else (step.change.old_row or {})
    return _unique_values(step, before)


def wanted(step: Step) -> Iterable[Hashable]:
    """The unique values that an update's row will have."""
    return _unique_values(step, step.whole)


def _unique_values(step: Step, row: Row) -> Iterator[Hashable]:
    table = step.table.table
    for index in unique_indexes(table, step.table.key):
        texts = [row.get(name) for name in index]
        if None not in texts and step.values.keys() & set(index):
            yield (
                str(table.name),
                index,
                tuple(_folded(table.column(n), t or "") for n, t in zip(index, texts, strict=True)),
            )


def _folded(column: Column, text: str) -> str:
    """Equal for values that an engine considers equal, and for some others: a group too large does no harm."""
    if column.type.name is TypeName.DECIMAL:
        return plain_number(text)
    return text.casefold().rstrip()


def unique_indexes(table: Table, key: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (index.columns for index in table.indexes if index.unique and set(index.columns) != set(key))


IN_FLIGHT = "being written"
"""The message of a planned change from just before its commit until its outcome is recorded."""

_UNREADY = {
    (Look.DONE, False): (End.ALREADY, "the target's row was already as it should be"),
    (Look.CHANGED, False): (End.CHANGED, "the target's row has changed since the plan was made"),
    (Look.OUTDATED, False): (End.CHANGED, "the source's row has changed since the plan was made"),
    (Look.DONE, True): (End.ALREADY, "the target's row was already as before"),
    (Look.CHANGED, True): (End.CHANGED, "not undone: the target's row has changed since the repair"),
}


@dataclass
class RowWork:
    """Changes a plan's rows, forwards or backwards, `batch` in a transaction."""

    store: MetaStore
    plan: RepairPlan
    sides: Sides
    direction: Direction
    batch: int
    alternates: bool = True  # a row of values that each move on by one ends with the second pass
    _collided: list[Step] = field(default_factory=list)

    def attempt(self, changes: Iterator[RepairChange]) -> Iterator[Sequence[Outcome]]:
        self._collided = []
        for name, of_table in groupby(changes, key=lambda change: change.table):
            table = self.sides.tables.get(name)
            if table is None:
                yield self._without_table(name, of_table)
                continue
            steps = (Step(table, change, self.direction.backwards) for change in of_table)
            for some in in_batches(steps, self.batch, lambda step: step.change.size):
                outcomes = self._carry_out(some, self._on_source(some))
                stuck = {o.change.sequence for o in outcomes if o.collides}
                self._collided += [s for s in some if s.change.sequence in stuck and s.action is ChangeAction.UPDATE]
                yield outcomes

    def unblock(self) -> Iterator[Sequence[Outcome]]:
        """Rows that want each other's unique values are deleted and inserted: no order of updates can do it."""
        for _, of_table in groupby(self._collided, key=lambda step: step.table.name):
            for circle in circles(list(of_table)):
                if len(circle) == 1:
                    continue  # a row that keeps its value has the value that this step wants
                try:
                    yield self._transact(circle, self._on_source(circle), self._replace, deferred=True)
                except Refused as refusal:
                    yield [_refused(step, refusal) for step in circle]

    def _without_table(self, name: str, changes: Iterator[RepairChange]) -> list[Outcome]:
        reason = self.sides.refused.get(name, "the table is not there any more")
        end = End.REFUSED if self.direction is FORWARDS else End.CHANGED
        return [Outcome(change, end, reason) for change in changes]

    def _carry_out(self, steps: Sequence[Step], source: Found | None) -> list[Outcome]:
        """Carries out each step by itself: a refused one does not affect the others."""
        try:
            return self._transact(steps, source, lambda ready: [self._attempt(step) for step in ready])
        except Refused as refusal:
            # An engine that refuses a transaction at its end does not say which step was the reason.
            if len(steps) == 1:
                return [_refused(steps[0], refusal)]
        return [outcome for step in steps for outcome in self._carry_out([step], source)]

    def _on_source(self, steps: Sequence[Step]) -> Found | None:
        """The source's rows by now. None: undo does not depend on them."""
        if self.direction is not FORWARDS:
            return None
        return on_source(steps[0].table, [step.key for step in steps])

    def _transact(
        self,
        steps: Sequence[Step],
        source: Found | None,
        do: Callable[[Sequence[Step]], list[Outcome]],
        *,
        deferred: bool = False,
    ) -> list[Outcome]:
        """Runs `do` for the steps whose rows, on the source and, now locked, on the target, are as expected."""

        def work() -> list[Outcome]:
            found = on_target(steps[0].table, self.sides.writer, [step.key for step in steps], lock=True)
            looks = [(step, step.look(found, source)) for step in steps]
            ready = [step for step, look in looks if look is Look.READY]
            self._intend(ready)
            unready = [
                Outcome(step.change, *_UNREADY[look, step.backwards]) for step, look in looks if look is not Look.READY
            ]
            return [*unready, *(do(ready) if ready else [])]

        return in_transaction(self.sides.writer, work, deferred=deferred)

    def _intend(self, steps: Sequence[Step]) -> None:
        """Stores the steps before the target can commit: after a crash, only these need a recheck."""
        if self.direction is FORWARDS and steps:
            flying = [ChangeOutcome(step.change.sequence, ChangeState.PLANNED, IN_FLIGHT) for step in steps]
            self.store.repairs.record(self.plan.id, flying)

    def _attempt(self, step: Step) -> Outcome:
        writer = self.sides.writer
        try:
            changed = writer.execute(step.statement(writer.statements))
        except Refused as refusal:
            return _refused(step, refusal)
        if changed > 1:
            # Reporting it and going on is not enough: the transaction has changed rows that it must not change.
            raise Refused(f"{changed} rows have this key: it is not unique")
        if changed == 1:
            return Outcome(step.change, End.DONE)
        deleted = step.action is ChangeAction.DELETE
        return Outcome(step.change, End.REFUSED, _not_deleted(step) if deleted else "the engine changed no row")

    def _replace(self, steps: Sequence[Step]) -> list[Outcome]:
        writer = self.sides.writer
        for step in steps:
            changed = writer.execute(writer.statements.delete(step.table.table, step.target_key, step.table.losing))
            if changed != 1:
                raise Refused(_not_deleted(step) if changed == 0 else f"{changed} rows have this key: it is not unique")
        for step in steps:
            writer.execute(writer.statements.insert(step.table.table, step.whole))
        return [Outcome(step.change, End.DONE) for step in steps]


def settle_in_flight(store: MetaStore, plan: RepairPlan, sides: Sides) -> None:
    """Finds out, after a crash, which changes were committed but not recorded."""
    planned = store.repairs.changes(plan.id, state=ChangeState.PLANNED)
    for change in (each for each in planned if each.message == IN_FLIGHT):
        table = sides.tables.get(change.table)
        if table is None:
            continue
        step = Step(table, change)
        if step.look(on_target(table, sides.writer, [step.key])) is Look.DONE:
            store.repairs.record(plan.id, [ChangeOutcome(change.sequence, ChangeState.APPLIED)])


def _not_deleted(step: Step) -> str:
    """Why an existing, locked row was not deleted: the statement looks for rows that refer to it."""
    names = ", ".join(f"{r.child} ({r.name}, ON DELETE {r.on_delete})" for r in step.table.losing)
    return f"it would delete rows that refer to it: {names}" if names else "the engine deleted no row"


def _refused(step: Step, refusal: Refused) -> Outcome:
    return Outcome(step.change, End.REFUSED, refusal.message, refusal.collides)
