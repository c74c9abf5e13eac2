"""What there is to say of a table beside its figures: why, where, and what could not be compared."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tieout.model.results import SchemaFinding, TableResult, Verdict
from tieout.report.palette import VERDICT
from tieout.report.printable import one_line, printable
from tieout.report.words import counts_text, table_title


def table_remarks(table: TableResult) -> Iterator[Text]:
    """A heading with the verdict and its reason, then a line for each remark; nothing if the figures say it all."""
    details = [*_details(table)]
    if not details and not table.reason and (table.verdict is Verdict.EQUAL or table.differences):
        return
    reason = one_line(table.reason) if table.reason else counts_text(table.differences)
    yield Text.assemble(
        f"{table_title(table)}: ", (table.verdict.value, VERDICT[table.verdict]), f", {reason}" if reason else ""
    )
    yield from (Text(f"  {line}") for line in details)


def _details(table: TableResult) -> Iterator[str]:
    yield from (schema_text(finding) for finding in table.schema)
    for column in table.unverified_columns:
        yield f"unverified column {printable(column.column)}: {one_line(column.reason)}"
    yield from (f"note: {one_line(note)}" for note in table.notes)
    positions = positions_text(table)
    if positions and table.verdict is not Verdict.EQUAL:
        yield positions


def schema_text(finding: SchemaFinding) -> str:
    """`schema, type of price: …`; what does not make a table different says so."""
    of = f" of {printable(finding.column)}" if finding.column and finding.aspect != "column" else ""
    column = f" {printable(finding.column)}" if finding.column and finding.aspect == "column" else ""
    aside = "" if finding.breaks else " (for information)"
    return f"schema, {printable(finding.aspect)}{of}{column}: {one_line(finding.message)}{aside}"


def positions_text(table: TableResult) -> str | None:
    """Where in the change logs the table was read, or None if no side has one."""
    sides = (("source", table.source_position), ("target", table.target_position))
    known = [f"{side} {one_line(position)}" for side, position in sides if position]
    return f"read at {', '.join(known)}" if known else None
