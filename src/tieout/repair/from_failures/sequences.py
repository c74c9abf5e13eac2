"""Sequences that are behind their columns are set forward."""

from __future__ import annotations

from tieout.connectors.writing import Refused
from tieout.meta import ChangeAction, RepairChange
from tieout.model.remedies import Choice
from tieout.repair.from_failures.details import Details
from tieout.repair.from_failures.draft import Draft


def advanced(draft: Draft) -> list[RepairChange]:
    made = []
    for each in draft.decided:
        table = draft.database.table(each.failure.table)
        if each.choice is Choice.ADVANCE and draft.is_planned(each) and table is not None:
            column, sequence = each.failure.columns[0], each.failure.details.get("sequence")
            try:
                statements = tuple(draft.repairer.advancing(table, column, sequence))
            except Refused as refusal:
                draft.leave(each, refusal.message)
                continue
            details = Details((each.id,), statements=statements).document()
            made.append(RepairChange(each.failure.table, ChangeAction.ADVANCE, {"column": column}, details=details))
    return made
