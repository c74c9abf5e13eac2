"""Rows that are updated or deleted, each as it is now: one that is not as the check saw it is left alone."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.meta import RepairChange
from tieout.model.progress import Listener, Progress
from tieout.model.remedies import Choice
from tieout.repair.from_differences.looking import Found, Unwritable
from tieout.repair.from_failures.deciding import Decided
from tieout.repair.from_failures.details import Details
from tieout.repair.from_failures.draft import Draft
from tieout.repair.from_failures.rows import RowTable, row_table
from tieout.repair.from_failures.twins import KEEPS_ONE, all_but_one
from tieout.repair.from_failures.wishes import Impossible, Wish, merged, wish

BATCH = 200
"""Rows looked up at once."""

_LONG = 190
"""Bytes of a value from which on a failure may show only its beginning."""

_CHOICES = (
    Choice.DELETE,
    Choice.SET_NULL,
    Choice.SET_DEFAULT,
    Choice.REPLACE,
    Choice.RECOMPUTE,
)


def row_changes(draft: Draft, listener: Listener) -> list[tuple[Wish, RepairChange]]:
    made = []
    for each in _of_rows(draft):
        table = draft.database.table(each.failure.table)
        assert table is not None, "refused before"
        try:
            made.append(wish(each, table, draft.repairer, draft.decisions))
        except Impossible as reason:
            draft.wait(each, str(reason))
    return [pair for group in _by_table(merged(made)) for pair in _looked_up(draft, group, listener)]


def _of_rows(draft: Draft) -> list[Decided]:
    planned = [each for each in draft.decided if draft.is_planned(each)]
    chosen = [each for each in planned if each.choice in _CHOICES]
    return chosen + all_but_one(draft, [each for each in planned if each.choice in KEEPS_ONE])


def _by_table(wishes: Sequence[Wish]) -> list[list[Wish]]:
    """Rows that are found alike."""
    groups: dict[tuple[str, tuple[str, ...]], list[Wish]] = {}
    for each in wishes:
        groups.setdefault((str(each.table.name), tuple(each.key)), []).append(each)
    return list(groups.values())


def _looked_up(draft: Draft, wishes: Sequence[Wish], listener: Listener) -> list[tuple[Wish, RepairChange]]:
    first = wishes[0]
    rows = row_table(first.table, draft.repairer, tuple(first.key))
    if isinstance(rows, str):
        draft.give_up(wishes, rows)
        return []
    rows = rows.past_indexes(draft.repairer)
    made = []
    for start in range(0, len(wishes), BATCH):
        some = wishes[start : start + BATCH]
        keys = [key for each in some if (key := rows.key_of(each.key)) is not None]
        found = rows.find(draft.repairer, keys)
        listener(Progress("plan", str(first.table.name), len(some)))
        for each in some:
            change = _change(draft, each, rows, found)
            if change is not None:
                made.append((each, change))
    return made


def _change(draft: Draft, each: Wish, rows: RowTable, found: Found) -> RepairChange | None:
    key = rows.key_of(each.key)
    places = found.places.get(key, []) if key is not None else []
    if key is None or len(places) > 1 or key in found.failed:
        draft.give_up([each], found.failed.get(key, "its key finds more than one row, or none") if key else "NULL")
        return None
    try:
        old = rows.exact_row(found, places[0]) if places else {}
    except Unwritable as reason:
        draft.give_up([each], f"{reason}: the row could not be put back")
        return None
    if not places or not _is_as_seen(each, rows, found, places[0]):
        draft.vanished |= {decided.id for decided in each.failures}
        return None
    return RepairChange(
        str(each.table.name),
        each.action,
        dict(each.key),
        old,
        None if each.delete else dict(each.values),
        details=Details(
            tuple(decided.id for decided in each.failures),
            constraints=tuple(sorted({d.failure.constraint for d in each.failures if d.failure.constraint})),
            conditions=tuple(each.conditions),
            defaults=() if each.delete else tuple(each.defaults),
            touch=each.touch and not each.delete,
        ).document(),
    )


def _is_as_seen(each: Wish, rows: RowTable, found: Found, place: int) -> bool:
    """Whether the row still has what the check saw in it: checks of indexes show a value as it is written."""
    if any(not rows.is_seen(found, place, n, value) for n, value in each.seen.items() if n in rows.shown):
        return False
    row, exact = rows.shown_row(found, place), rows.exact_row(found, place)
    values = [(decided.value, decided.failure.columns[0]) for decided in each.failures if decided.value is not None]
    return all(_begins_with(value, row.get(name)) or _begins_with(value, exact.get(name)) for value, name in values)


def _begins_with(beginning: str, text: str | None) -> bool:
    """A value that is long was seen in part."""
    return text is not None and (text == beginning or (len(beginning.encode()) > _LONG and text.startswith(beginning)))
