"""Failures that are seen at once not to be mended: by choice, by nature, by triggers, or as nobody has decided."""

from __future__ import annotations

from tieout.model.remedies import Category, Choice
from tieout.repair.from_failures.deciding import Decided
from tieout.repair.from_failures.draft import Draft
from tieout.repair.from_failures.triggers import Triggers
from tieout.repair.from_failures.wishes import Impossible, parent_of


def refuse(draft: Draft) -> None:
    triggers = Triggers(draft.repairer)
    for each in draft.decided:
        if each.choice is Choice.LEAVE:
            draft.leave(each, "left as it is, by choice")
        elif each.remedy.category is Category.NOT_REPAIRABLE:
            draft.leave(each, each.remedy.suggestion)
        elif draft.database.table(each.failure.table) is None:
            draft.leave(each, "the table is not there any more")
        elif each.choice is None:
            draft.wait(each, each.remedy.suggestion)
        elif (runs := _set_off(draft, triggers, each)) is not None:
            draft.leave(each, runs)
    for ghost in draft.ghosts:
        reason = ghost.unrestorable()
        if ghost.choice is Choice.RESTORE and reason is not None:
            for entry in ghost.entries:
                draft.wait(entry, f"can't be restored: {reason}")


def _set_off(draft: Draft, triggers: Triggers, each: Decided) -> str | None:
    table = draft.database.table(each.failure.table)
    if draft.decisions.triggers or table is None:
        return None
    if each.choice is Choice.INSERT_PARENT:
        try:
            table = draft.database.table(str(parent_of(each, table, draft.repairer).table))
        except Impossible:
            return None  # said when the parent is looked for
    return None if table is None else triggers.set_off_by(table, each.choice)
