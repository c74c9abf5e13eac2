"""A plan as a file of statements, for those who want to read before they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from tieout.connectors.protocols.repair import Refused
from tieout.meta import Job, RepairChange, RepairPlan


class SqlFile:
    """Writes the planned changes that are not done yet. The file rechecks nothing: it changes rows by their key,
    whatever they hold by then.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def heading(self, plan: RepairPlan, job: Job, *lines: str) -> None:
        made = f"{plan.created_at:%Y-%m-%d %H:%M:%S} UTC"
        for line in (f"Tieout repair plan {plan.id} of {job.kind} {job.id}, made {made}", *lines):
            self.comment(line)

    def comment(self, text: str) -> None:
        """Writes one line that no client can run: a name or a value may contain anything."""
        self._out.write("-- " + "".join(c if c.isprintable() else "?" for c in text) + "\n")

    def statements(self, statements: Sequence[str]) -> None:
        self._out.writelines(f"{statement};\n" for statement in statements)

    def refused(self, reason: Refused, change: RepairChange | None = None) -> None:
        self.comment(f"NOT WRITTEN: {f'{shown(change)}: ' if change else ''}{reason.message}")


def shown(change: RepairChange) -> str:
    key = ", ".join(f"{name} = {value}" for name, value in change.key.items())
    return f"{change.action} {change.table} ({key})"
