"""A repair plan, and what became of it, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from rich.text import Text

from tieout.errors import UsageError
from tieout.model.repairs import RepairResult, RepairSummary
from tieout.report.differences import listed_differences
from tieout.report.json import json_text
from tieout.report.palette import FAINT
from tieout.report.printable import one_line, printable
from tieout.report.render import OutputFormat
from tieout.report.terminal import console_on, write_lines
from tieout.report.words import plural


def write_repair(repair: RepairSummary | RepairResult, format: OutputFormat, stream: TextIO) -> None:
    match format:
        case OutputFormat.TEXT:
            lines = _plan(repair) if isinstance(repair, RepairSummary) else _result(repair)
            write_lines(lines, console_on(stream))
        case OutputFormat.JSON:
            stream.write(json_text(repair.document(), indent=2) + "\n")
        case OutputFormat.NDJSON:
            stream.write(json_text(repair.document()) + "\n")
        case _:
            raise UsageError(f"a repair can't be written as {format}", "use --output text or json")


def _plan(plan: RepairSummary) -> Iterator[Text]:
    changes = f"{plan.inserts:,} to insert, {plan.updates:,} to update, {plan.deletes:,} to delete"
    yield Text(f"plan {printable(plan.plan)}: {changes}")
    yield Text(f"{one_line(plan.source)} → {one_line(plan.target)}, from job {printable(plan.job)}", FAINT)
    if plan.skipped:
        yield Text(f"  left alone: {plural(plan.skipped, 'row')}; --output json and `repair apply` say why")
    if plan.not_kept:
        yield Text(f"  not listed by the job: {plural(plan.not_kept, 'difference')}; repair, then verify again")
    for table in plan.unrepaired:
        left = plural(table.differences, "difference")
        yield Text(f"  {printable(table.table)}: {left} can't be repaired: {one_line(table.reason)}")
    yield from (Text(f"  note: {one_line(note)}") for note in plan.notes)
    if plan.changes:
        yield Text(f"nothing has been changed yet: tieout repair apply {printable(plan.plan)}")


def _result(result: RepairResult) -> Iterator[Text]:
    words = "applied" if result.action == "apply" else "undone"
    skipped = f", {result.skipped:,} left alone" if result.skipped else ""
    failed = f", {result.failed:,} failed" if result.failed else ""
    style = "green" if result.exit_code == 0 else "bold yellow"
    yield Text(f"plan {printable(result.plan)}: {plural(result.done, 'change')} {words}{skipped}{failed}", style)
    if result.different is not None:
        equal = (
            f"{plural(result.different, 'row')} of the plan still differ"
            if result.different
            else "its rows are equal now"
        )
        yield Text(f"looked at again: {equal}")
    yield from (Text(f"  {one_line(message)}") for message in result.messages)
    yield from listed_differences(result.differences, None)
    if result.action == "apply" and result.done:
        yield Text(f"to take it back: tieout repair undo {printable(result.plan)}", FAINT)
