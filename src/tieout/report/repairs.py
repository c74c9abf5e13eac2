"""A repair plan and the result of applying it, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.text import Text

from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.documents import repair_document, repair_plan_document
from tieout.model.repair import CheckRepairSummary, LostRow, OpenFailure, RepairResult, RepairSummary, Unrepaired
from tieout.report.json import json_text
from tieout.report.listing import FAINT, console_on, write_lines
from tieout.report.printable import one_line, printable
from tieout.report.render import OutputFormat
from tieout.report.text import listed_differences
from tieout.wording import plural

LISTED = 50
"""Changes and failures that a plan lists in text; the JSON form has all."""


def write_repair(
    repair: RepairSummary | CheckRepairSummary | RepairResult, format: OutputFormat, stream: TextIO
) -> None:
    document = repair_document(repair) if isinstance(repair, RepairResult) else repair_plan_document(repair)
    match format:
        case OutputFormat.TEXT:
            write_lines(_lines(repair), console_on(stream))
        case OutputFormat.JSON:
            stream.write(json_text(document, indent=2) + "\n")
        case OutputFormat.NDJSON:
            stream.write(json_text(document) + "\n")
        case _:
            raise UsageError(f"a repair can't be written as {format}", "use --output text or json")


def _lines(repair: RepairSummary | CheckRepairSummary | RepairResult) -> Iterator[Text]:
    match repair:
        case RepairSummary():
            return _plan(repair)
        case CheckRepairSummary():
            return _check_repair(repair)
        case _:
            return _result(repair)


def _check_repair(plan: CheckRepairSummary) -> Iterator[Text]:
    undecided = f", {plural(len(plan.undecided), 'failure')} undecided" if plan.undecided else ""
    left = f", {len(plan.left):,} left alone" if plan.left else ""
    yield Text(f"plan {printable(plan.plan)}: {plural(len(plan.changes), 'change')}{undecided}{left}")
    yield Text(f"{one_line(plan.endpoint)}, from job {printable(plan.job)}", FAINT)
    for change in plan.changes[:LISTED]:
        ends = f"  (ends {plural(len(change.failures), 'failure')})"
        yield Text(f"  {change.action} {one_line(change.table)} {one_line(change.what)}").append(ends, FAINT)
    yield from _more(len(plan.changes))
    for lost in plan.lost_rows[:LISTED]:
        yield _lost(lost)
    yield from _more(len(plan.lost_rows))
    for title, failures in (("undecided", plan.undecided), ("left alone", plan.left)):
        yield from (_open(title, failure) for failure in failures[:LISTED])
        yield from _more(len(failures))
    if plan.vanished:
        yield Text(f"  no longer there, or changed since the check: {plural(plan.vanished, 'failure')}")
    yield from (Text(f"  note: {one_line(note)}") for note in plan.notes)
    if plan.undecided:
        yield Text(f"decide with: tieout repair plan {printable(plan.job)} --choose {_example(plan.undecided)}")
    if plan.changes:
        yield Text(f"nothing has been changed yet: tieout repair apply {printable(plan.plan)}")


def _more(total: int) -> Iterator[Text]:
    if total > LISTED:
        yield Text(f"  … {total - LISTED:,} more (--output json)")


def _lost(lost: LostRow) -> Text:
    known_to = " and ".join(map(printable, lost.indexes))
    known = " ".join(f"{printable(n)}={'NULL' if v is None else one_line(v)}" for n, v in lost.known.items())
    unknown = f"; not known: {', '.join(map(printable, lost.unknown))}" if lost.unknown else ""
    doubt = "possibly lost row" if len(lost.indexes) > 1 else "entry without a row"
    return Text(
        f"  {doubt} of {one_line(lost.table)}, known to {known_to}: {known}{unknown} ({lost.choice or 'undecided'})"
    )


def _open(title: str, failure: OpenFailure) -> Text:
    line = Text(f"  {title}: {failure.failure} {one_line(failure.table)} {one_line(failure.where)}", "yellow")
    line.append(f"  {failure.id}: {one_line(failure.reason)}", FAINT)
    return line.append(f" [{', '.join(failure.choices)}]") if failure.choices else line


def _example(failures: tuple[OpenFailure, ...]) -> str:
    choices = {failure.failure: failure.choices[0] for failure in failures if failure.choices}
    return " --choose ".join(f"{kind}={choice}" for kind, choice in choices.items()) or "FAILURE=CHOICE"


def _plan(plan: RepairSummary) -> Iterator[Text]:
    changes = f"{plan.inserts:,} to insert, {plan.updates:,} to update, {plan.deletes:,} to delete"
    yield Text(f"plan {printable(plan.plan)}: {changes}")
    yield Text(f"{one_line(plan.source)} → {one_line(plan.target)}, from job {printable(plan.job)}", FAINT)
    if plan.skipped:
        yield Text(f"  left alone: {plural(plan.skipped, 'row')}; --output json and `repair apply` say why")
    if plan.not_kept:
        yield Text(f"  not listed by the job: {plural(plan.not_kept, 'difference')}; repair, then verify again")
    yield from _unrepaired(plan.unrepaired)
    yield from (Text(f"  note: {one_line(note)}") for note in plan.notes)
    if plan.changes:
        yield Text(f"nothing has been changed yet: tieout repair apply {printable(plan.plan)}")


def _unrepaired(tables: Sequence[Unrepaired]) -> Iterator[Text]:
    for table in tables:
        left = plural(table.differences, "difference")
        yield Text(f"  {printable(table.table)}: {left} can't be repaired: {one_line(table.reason)}")


def _result(result: RepairResult) -> Iterator[Text]:
    words = "applied" if result.action == "apply" else "undone"
    skipped = f", {result.skipped:,} left alone" if result.skipped else ""
    failed = f", {result.failed:,} failed" if result.failed else ""
    style = "green" if result.exit_code is ExitCode.OK else "bold yellow"
    kept = f", {result.kept:,} kept" if result.kept else ""
    open_ = f", {plural(result.undecided, 'failure')} undecided" if result.undecided else ""
    done = plural(result.done, "change")
    yield Text(f"plan {printable(result.plan)}: {done} {words}{kept}{skipped}{failed}{open_}", style)
    if result.different is not None and (result.done or result.skipped or result.failed):
        equal = (
            f"{plural(result.different, 'row')} of the plan still differ"
            if result.different
            else "its rows are equal now"
        )
        yield Text(f"compared again: {equal}")
    yield from _unrepaired(result.unrepaired)
    yield from (Text(f"  {one_line(message)}") for message in result.messages)
    yield from listed_differences(result.differences, None)
    yield from (Text(f"  note: {one_line(note)}") for note in result.notes)
    if result.action == "apply" and result.done:
        yield Text(f"to undo it: tieout repair undo {printable(result.plan)}", FAINT)
