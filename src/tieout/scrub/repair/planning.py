"""From a check's failures, and what people decided about them, to a plan of changes. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.repairing import Repairer
from tieout.connectors.writing import Refused, Row
from tieout.meta import ChangeAction, ChangeState, Job, MetaStore, RepairChange
from tieout.meta.failures import FailureState, KeptFailure
from tieout.model.failures import FailureKind
from tieout.model.mends import Decisions, MendSummary, OpenFailure, PlannedMend
from tieout.model.progress import Listener, Progress, silence
from tieout.model.remedies import Category, Choice
from tieout.model.tables import Table
from tieout.report.words import plural
from tieout.scrub.repair.database import Database, check_job, opened
from tieout.scrub.repair.deciding import Decided, decide
from tieout.scrub.repair.ghosts import Ghost, ghosts
from tieout.scrub.repair.rows import RowTable, row_table
from tieout.scrub.repair.triggers import ACCEPTED, Triggers
from tieout.scrub.repair.wishes import Impossible, Wish, given_value, merged, parent_of, row_key, wish
from tieout.verify.repair.looking import Found, Unwritable

BATCH = 200
"""Rows looked up at once."""

_LONG = 190
"""Bytes of a value from which on a failure may show only its beginning."""

_MENDS_INDEX = {Choice.REBUILD, Choice.CREATE, Choice.QUARANTINE}
_KEEP = (Choice.KEEP_FIRST, Choice.KEEP_LAST)
_ROW_CHOICES = (
    Choice.DELETE,
    Choice.SET_NULL,
    Choice.SET_DEFAULT,
    Choice.REPLACE,
    Choice.RECOMPUTE,
    *_KEEP,
)


def plan_mends(
    store: MetaStore,
    job_ref: str,
    url: EndpointUrl,
    decisions: Decisions,
    *,
    table: str | None = None,
    listener: Listener = silence,
) -> MendSummary:
    """Keeps a plan that would end the failures of a check, as far as they are decided."""
    job = check_job(store, job_ref)
    kept = [each for each in store.failures.of_job(job.id) if table is None or _is_of(each, table)]
    wanted = [each for each in kept if each.state is not FailureState.IGNORED]
    decided = decide(wanted, decisions)
    with opened(job, url) as database:
        planner = _Planner(database, decided, decisions, listener)
        changes = planner.changes()
        plan = store.repairs.create(job.id, changes, table=table)
    notes = _notes(store, job, kept, wanted, filtered=table is not None)
    return planner.summary(plan.id, job, changes, notes)


def _is_of(kept: KeptFailure, table: str) -> bool:
    name = str(kept.found["table"])
    return name == table or name.endswith(f".{table}")


def _notes(
    store: MetaStore, job: Job, kept: Sequence[KeptFailure], wanted: Sequence[KeptFailure], *, filtered: bool
) -> tuple[str, ...]:
    notes = []
    if len(wanted) < len(kept):
        notes.append(f"{plural(len(kept) - len(wanted), 'failure')} ignored by somebody: left alone")
    result = store.jobs.result(job.id) or {}
    found = sum(check["failures"] for check in result.get("checks", ()))
    if found > len(kept) and not filtered:
        seen = plural(found - len(kept), "failure")
        notes.append(f"{seen} of the job {'was' if found - len(kept) == 1 else 'were'} seen or missed by a later check")
    return tuple(notes)


class _Planner:
    def __init__(
        self, database: Database, decided: Sequence[Decided], decisions: Decisions, listener: Listener
    ) -> None:
        self._database = database
        self._repairer = database.repairer
        self._decided = decided
        self._decisions = decisions
        self._listener = listener
        self._triggers = Triggers(self._repairer)
        self._open: dict[str, OpenFailure] = {}
        self._left: dict[str, OpenFailure] = {}
        self._vanished: set[str] = set()
        self._ghosts = ghosts(decided, database.table, self._repairer.known_from)

    def changes(self) -> list[RepairChange]:
        """What duplicates have to go, then the indexes, then rows; parents before those that refer to them."""
        self._refuse()
        self._wait_for_each_other()
        rebuilds = self._rebuilds()
        rows = self._rows()
        first = [change for wish, change in rows if wish.goes_first]
        others = [change for wish, change in rows if not wish.goes_first]
        planned = [*first, *rebuilds, *self._parents(), *others, *self._restored(), *self._sequences()]
        if self._decisions.triggers:
            planned = [replace(each, details={**(each.details or {}), ACCEPTED: True}) for each in planned]
        return [
            *planned,
            *self._undone(ChangeState.UNDECIDED, self._open),
            *self._undone(ChangeState.SKIPPED, self._left),
        ]

    def summary(self, plan: str, job: Job, changes: Sequence[RepairChange], notes: tuple[str, ...]) -> MendSummary:
        planned = [change for change in changes if change.state is ChangeState.PLANNED]
        return MendSummary(
            plan,
            job.id,
            job.source,
            tuple(_told(change) for change in planned),
            tuple(self._open.values()),
            tuple(self._left.values()),
            tuple(ghost.told() for ghost in self._ghosts),
            len(self._vanished),
            notes,
        )

    # ------------------------------------------------------------------------------------ what is not done

    def _refuse(self) -> None:
        for each in self._decided:
            if each.choice is Choice.LEAVE:
                self._left[each.id] = each.open("left as it is, by choice")
            elif each.remedy.category is Category.NOT_REPAIRABLE:
                self._left[each.id] = each.open(each.remedy.suggestion)
            elif self._database.table(each.failure.table) is None:
                self._left[each.id] = each.open("the table is not there any more")
            elif each.choice is None:
                self._open[each.id] = each.open(each.remedy.suggestion)
            elif (runs := self._triggers_of(each)) is not None:
                self._left[each.id] = each.open(runs)
        for ghost in self._ghosts:
            reason = ghost.unrestorable()
            if ghost.choice is Choice.RESTORE and reason is not None:
                for entry in ghost.entries:
                    self._open[entry.id] = entry.open(f"can't be restored: {reason}")

    def _triggers_of(self, each: Decided) -> str | None:
        table = self._database.table(each.failure.table)
        if self._decisions.triggers or table is None:
            return None
        if each.choice is Choice.INSERT_PARENT:
            try:
                table = self._database.table(str(parent_of(each, table, self._repairer).table))
            except Impossible:
                return None  # said when the parent is looked for
        return None if table is None else self._triggers.set_off_by(table, each.choice)

    def _undone(self, state: ChangeState, failures: dict[str, OpenFailure]) -> list[RepairChange]:
        by_id = {each.id: each.failure for each in self._decided}
        return [
            RepairChange(
                each.table,
                ChangeAction.NONE,
                by_id[each.id].primary_key or {},
                state=state,
                message=f"{each.failure} {each.where}: {each.reason}",
                details={"failures": [each.id], "indexes": list(filter(None, [by_id[each.id].index]))},
            )
            for each in failures.values()
        ]

    def _is_planned(self, each: Decided) -> bool:
        return each.choice is not None and each.id not in self._open and each.id not in self._left

    # ------------------------------------------------------------------------------------------- indexes

    def _by_index(self) -> dict[tuple[str, str], list[Decided]]:
        found: dict[tuple[str, str], list[Decided]] = {}
        for each in self._decided:
            if each.failure.index is not None and _MENDS_INDEX & set(each.remedy.choices):
                found.setdefault((each.failure.table, each.failure.index), []).append(each)
        return found

    def _wait_for_each_other(self) -> None:
        """A rebuild changes all of an index, and a row is restored from all that tell of it: all have to be decided."""
        groups = [*self._by_index().values(), *(ghost.entries for ghost in self._ghosts)]
        while any(self._wait_in(group) for group in groups):
            pass

    def _wait_in(self, group: Sequence[Decided]) -> bool:
        """Whether there is one more that has to wait."""
        left, waits = (any(each.id in found for each in group) for found in (self._left, self._open))
        free = [each for each in group if self._is_planned(each) and each.choice is not Choice.DELETE]
        for each in free:
            if left:
                self._left[each.id] = each.open("another entry is left as it is: its index is not rebuilt")
            elif waits:
                self._open[each.id] = each.open("its index is rebuilt when all of its entries are decided")
        return bool(free) and (left or waits)

    def _rebuilds(self) -> list[RepairChange]:
        """One for each index; one for a table, where the engine mends all of them at once."""
        by_statements: dict[tuple[str, ...], list[tuple[str, list[Decided]]]] = {}
        for (name, index), failures in self._by_index().items():
            table = self._database.table(name)
            planned = [each for each in failures if self._is_planned(each) and each.choice is not Choice.DELETE]
            if table is not None and planned:
                by_statements.setdefault(tuple(self._repairer.rebuilding(table, index)), []).append((index, failures))
        return [_rebuild(statements, indexes) for statements, indexes in by_statements.items()]

    # ---------------------------------------------------------------------------------------------- rows

    def _rows(self) -> list[tuple[Wish, RepairChange]]:
        made = []
        for each in self._of_rows():
            table = self._database.table(each.failure.table)
            assert table is not None, "refused before"
            try:
                made.append(wish(each, table, self._repairer, self._decisions))
            except Impossible as reason:
                self._open[each.id] = each.open(str(reason))
        return [pair for group in _by_table(merged(made)) for pair in self._looked_up(group)]

    def _of_rows(self) -> list[Decided]:
        chosen = [each for each in self._decided if self._is_planned(each) and each.choice in _ROW_CHOICES]
        kept = [each for each in chosen if each.choice in _KEEP]
        return [each for each in chosen if each.choice not in _KEEP] + self._but_one(kept)

    def _but_one(self, decided: Sequence[Decided]) -> list[Decided]:
        """Of rows that are the same in what has to be unique: all but the one that is kept."""
        groups: dict[tuple[Any, ...], list[Decided]] = {}
        for each in decided:
            groups.setdefault((each.failure.table, each.failure.constraint, *_twins(each)), []).append(each)
        found = []
        for group in groups.values():
            if len(group) == 1:
                self._open[group[0].id] = group[0].open("the other rows of the same values are not among the failures")
                continue
            ordered = sorted(group, key=_by_key, reverse=group[0].choice is Choice.KEEP_LAST)
            found += ordered[1:]
        return found

    def _looked_up(self, wishes: Sequence[Wish]) -> list[tuple[Wish, RepairChange]]:
        first = wishes[0]
        rows = row_table(first.table, self._repairer, tuple(first.key))
        if isinstance(rows, str):
            self._give_up(wishes, rows)
            return []
        rows = rows.past_indexes(self._repairer)
        made = []
        for start in range(0, len(wishes), BATCH):
            some = wishes[start : start + BATCH]
            keys = [key for each in some if (key := rows.key_of(each.key)) is not None]
            found = rows.find(self._repairer, keys)
            self._listener(Progress("plan", str(first.table.name), len(some)))
            for each in some:
                change = self._change(each, rows, found)
                if change is not None:
                    made.append((each, change))
        return made

    def _change(self, each: Wish, rows: RowTable, found: Found) -> RepairChange | None:
        key = rows.key_of(each.key)
        places = found.places.get(key, []) if key is not None else []
        if key is None or len(places) > 1 or key in found.failed:
            self._give_up([each], found.failed.get(key, "its key finds more than one row, or none") if key else "NULL")
            return None
        try:
            old = rows.exact_row(found, places[0]) if places else {}
        except Unwritable as reason:
            self._give_up([each], f"{reason}: the row could not be put back")
            return None
        if not places or not _is_as_seen(each, rows.shown_row(found, places[0]), old):
            self._vanished |= {decided.id for decided in each.failures}
            return None
        return RepairChange(
            str(each.table.name),
            each.action,
            dict(each.key),
            old,
            None if each.delete else dict(each.values),
            details={
                "failures": [decided.id for decided in each.failures],
                "constraints": sorted({d.failure.constraint for d in each.failures if d.failure.constraint}),
                "still": each.still,
                "defaults": [] if each.delete else each.defaults,
                "touch": each.touch and not each.delete,
            },
        )

    def _give_up(self, wishes: Iterable[Wish], reason: str) -> None:
        for each in wishes:
            for decided in each.failures:
                self._left[decided.id] = decided.open(reason)

    # ------------------------------------------------------------------------------- rows that are inserted

    def _parents(self) -> list[RepairChange]:
        made: dict[tuple[str, tuple[str, ...]], RepairChange] = {}
        for each in self._decided:
            if self._is_planned(each) and each.choice is Choice.INSERT_PARENT:
                try:
                    change = self._parent(each)
                except Impossible as reason:
                    self._open[each.id] = each.open(str(reason))
                    continue
                first = made.setdefault((change.table, tuple(map(str, change.key.values()))), change)
                if first is not change:
                    assert first.details is not None
                    first.details["failures"].append(each.id)
                    first.details["children"].extend((change.details or {})["children"])
        return list(made.values())

    def _parent(self, each: Decided) -> RepairChange:
        table = self._database.table(each.failure.table)
        assert table is not None, "refused before"
        reference = parent_of(each, table, self._repairer)
        parent = self._database.table(str(reference.table))
        if parent is None:
            raise Impossible(f"there is no table {reference.table}")
        values = [each.values.get(name) for name in reference.columns]
        if None in values:
            raise Impossible("a part of the reference is NULL, or is not known")
        row: dict[str, str | None] = dict(zip(reference.to, values, strict=True))
        for column in parent.columns:
            given = given_value(parent, column.name, self._decisions)
            if column.name not in row and given is not None:
                row[column.name] = given
        lacking = [c.name for c in parent.columns if c.name not in row and not (c.nullable or c.default or c.generated)]
        if lacking:
            needed = " ".join(f"--set {reference.table.name}.{name}=VALUE" for name in lacking)
            raise Impossible(f"the parent needs a value of {', '.join(lacking)}: {needed}")
        key = {name: row[name] for name in reference.to}
        child = dict(zip(reference.columns, values, strict=True))
        still = [{"refers": each.failure.table, "key": dict(each.failure.primary_key or {}), "values": child}]
        change = _insert(parent, key, row, [each.id], [] if each.failure.primary_key is None else still)
        return replace(change, details={**(change.details or {}), "children": _named(each, table, self._repairer)})

    def _restored(self) -> list[RepairChange]:
        wanted: list[Ghost] = []
        for ghost in self._ghosts:
            if ghost.choice is Choice.RESTORE and all(self._is_planned(entry) for entry in ghost.entries):
                wanted.append(ghost)
        return [
            _insert(
                ghost.table,
                {name: ghost.known[name] for name in ghost.table.key},
                dict(ghost.known),
                [entry.id for entry in ghost.entries],
                [],
            )
            for ghost in wanted
        ]

    def _sequences(self) -> list[RepairChange]:
        made = []
        for each in self._decided:
            table = self._database.table(each.failure.table)
            if each.choice is Choice.ADVANCE and self._is_planned(each) and table is not None:
                column, sequence = each.failure.columns[0], each.failure.details.get("sequence")
                try:
                    statements = list(self._repairer.advancing(table, column, sequence))
                except Refused as refusal:
                    self._left[each.id] = each.open(refusal.message)
                    continue
                details = {"failures": [each.id], "statements": statements}
                made.append(RepairChange(each.failure.table, ChangeAction.ADVANCE, {"column": column}, details=details))
        return made


def _rebuild(statements: Sequence[str], indexes: Sequence[tuple[str, Sequence[Decided]]]) -> RepairChange:
    failures = [each for _, found in indexes for each in found]
    # A chosen restore brings back a row that entries told of; what they told is kept all the same.
    entries = [
        {"failure": each.id, "index": each.failure.index, "place": each.failure.place, "values": each.entry}
        for each in failures
        if each.entry
    ]
    details = {
        "failures": [each.id for each in failures if each.choice is not Choice.DELETE],
        "indexes": [name for name, _ in indexes],
        "statements": list(statements),
        "entries": entries,
    }
    key = {"index": ", ".join(name for name, _ in indexes)}
    return RepairChange(failures[0].failure.table, ChangeAction.REBUILD, key, details=details)


def _insert(table: Table, key: Row, row: Row, failures: list[str], still: list[dict[str, Any]]) -> RepairChange:
    details = {"failures": failures, "still": still}
    return RepairChange(str(table.name), ChangeAction.INSERT, key, None, dict(row), details=details)


def _named(each: Decided, table: Table, repairer: Repairer) -> list[dict[str, Any]]:
    """The row that lacks a parent, if it can be told from others."""
    try:
        return [{"table": str(table.name), "key": dict(row_key(each, table, repairer))}]
    except Impossible:
        return []


def _is_as_seen(each: Wish, row: Row, exact: Row) -> bool:
    """Whether the row still has what the check saw in it: checks of indexes show a value as it is written."""
    if any(value not in (row[name], exact.get(name, row[name])) for name, value in each.seen.items() if name in row):
        return False
    values = [(decided.value, decided.failure.columns[0]) for decided in each.failures if decided.value is not None]
    return all(_begins_with(value, row.get(name)) or _begins_with(value, exact.get(name)) for value, name in values)


def _begins_with(beginning: str, text: str | None) -> bool:
    """A value that is long was seen in part."""
    return text is not None and (text == beginning or (len(beginning.encode()) > _LONG and text.startswith(beginning)))


def _by_table(wishes: Sequence[Wish]) -> list[list[Wish]]:
    """Rows that are found alike."""
    groups: dict[tuple[str, tuple[str, ...]], list[Wish]] = {}
    for each in wishes:
        groups.setdefault((str(each.table.name), tuple(each.key)), []).append(each)
    return list(groups.values())


def _twins(decided: Decided) -> Sequence[str | None]:
    """What rows that are the same have in common: who they are, or else their values, which may be written in ways
    that only the engine takes for the same."""
    told = decided.failure.details.get("same_as")
    if told is None or told.endswith(" more") or "another row" in told:
        return [decided.values.get(name) for name in decided.failure.columns]
    key = decided.failure.primary_key
    own = ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in (key or {}).items())
    by_place = key is None or decided.failure.kind is FailureKind.PRIMARY_KEY_VIOLATION
    return sorted([decided.failure.place or "" if by_place else own, *told.split("; ")])


def _by_key(decided: Decided) -> list[tuple[bool, float, str]]:
    """Numbers by their size, before all else; places by the numbers in them."""
    failure = decided.failure
    if failure.primary_key is not None and failure.kind not in (FailureKind.PRIMARY_KEY_VIOLATION,):
        parts = [value or "" for value in failure.primary_key.values()]
    else:
        parts = (failure.place or "").strip("()").split(",")
    return [(not _is_number(part), float(part) if _is_number(part) else 0.0, part) for part in parts]


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdigit()


def _told(change: RepairChange) -> PlannedMend:
    details = change.details or {}
    words = " ".join(f"{name}={value}" for name, value in change.key.items())
    if change.action is ChangeAction.REBUILD:
        words = ", ".join(details["indexes"])
    elif change.action is ChangeAction.UPDATE:
        new = [f"{name} = {'NULL' if value is None else value}" for name, value in (change.new_row or {}).items()]
        new += [f"{name} = DEFAULT" for name in details["defaults"]]
        words += f": {', '.join(new) or 'written again'}"
    return PlannedMend(change.action.value, change.table, words, tuple(details["failures"]))
