"""What `tieout run --finish` did and found, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tieout.model.finish import UNLISTED, Finish, ForeignKeyResult, KeyState, NotMoved
from tieout.report.printable import printable
from tieout.wording import plural

_SHOWN = 20
"""Names of one kind in a text; JSON has them all."""


def finish_lines(finish: Finish) -> Iterator[str]:
    """What was done, then what is wrong, then what was not moved."""
    yield from (printable(line) for line in _lines(finish))


def _lines(finish: Finish) -> Iterator[str]:
    yield from (f"not finished: {each.what}: {each.reason}" for each in finish.not_finished)
    yield f"statistics are up to date: {plural(len(finish.tables), 'table')}"
    for counter in finish.counters:
        name = f"{counter.table}.{counter.column}" if counter.column else counter.table
        yield f"counter {name}: {counter.problem or f'continues at {counter.next}'}"
    if not finish.foreign_keys:
        yield "foreign keys: none"
    sound = [key for key in finish.foreign_keys if key.state is KeyState.VALID]
    if sound:
        yield f"foreign keys without violations: {len(sound)}"
    for key in sound:
        if key.done or key.message:
            yield f"foreign key {key.name} of {key.table}: {key.done or key.message}"
    for key in finish.foreign_keys:
        if key.state is not KeyState.VALID:
            yield f"foreign key {key.name} of {key.table}: {_wrong(key)}"
    for trigger in finish.disabled_triggers:
        why = f", which enforces the foreign key {trigger.constraint}" if trigger.constraint else ""
        yield f"disabled trigger on {trigger.table}: {trigger.name}{why}"
    yield from finish.notes
    if not any(each.what == UNLISTED for each in finish.not_finished):
        yield from _not_moved(finish.not_moved)


def _wrong(key: ForeignKeyResult) -> str:
    if key.state is not KeyState.VIOLATED:
        return f"{key.state.value}: {key.message}" if key.message else key.state.value
    refer = "row refers" if key.rows == 1 else "rows refer"
    example = f", for example {key.example}" if key.example else ""
    return f"{key.rows:,} {refer} to no row of {key.parent}{example}"


def _not_moved(found: Sequence[NotMoved]) -> Iterator[str]:
    if not found:
        yield "everything that Tieout knows of was moved"
        return
    yield "not moved:"
    for kind, each in groupby(found, key=lambda one: one.kind):
        names = [_name(one) for one in each]
        more = [f"and {len(names) - _SHOWN} more (--output json lists them)"] if len(names) > _SHOWN else []
        yield f"  {kind}: {', '.join([*names[:_SHOWN], *more])}"


def _name(each: NotMoved) -> str:
    where = f"{each.name} on {each.table}" if each.table else each.name
    return f"{where} ({each.detail})" if each.detail else where
