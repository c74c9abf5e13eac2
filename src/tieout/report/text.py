"""The report for people: the verdict first, then the table of tables, reasons and differences. Good without colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.text import Text

from tieout.model.results import SchemaFinding, TableResult, Verdict, VerificationResult
from tieout.report.differences import listed_differences
from tieout.report.explain import explained_tables, explanation_lines
from tieout.report.listing import aligned
from tieout.report.printable import one_line, printable
from tieout.report.terminal import FAINT, HEADING, VERDICT, console_on, verdict_text, write_lines
from tieout.report.words import colophon, counts_text, headline, rows_were_compared, table_title, truncation

_TITLES = ("table", "verdict", "source rows", "target rows", "missing", "extra", "changed", "strategy", "seconds")
_NARROW_TITLES = ("verdict", "source", "target", "missing", "extra", "changed", "strategy", "seconds")


def summary_lines(tables: Sequence[TableResult], width: int | None) -> list[Text]:
    """Aligned columns; where `width` is too narrow for names too, each name has a line of its own."""
    figures = [_figures(table) for table in tables]
    names = [Text(table_title(table)) for table in tables]
    rows = [[name, *cells] for name, cells in zip(names, figures, strict=True)]
    lines = aligned([_heading(_TITLES), *rows], right={2, 3, 4, 5, 6, 8})
    if width is None or max(line.cell_len for line in lines) <= width:
        return lines
    heading, *narrow = aligned([_heading(_NARROW_TITLES), *figures], right={1, 2, 3, 4, 5, 7}, indent="  ")
    return [heading, *(line for pair in zip(names, narrow, strict=True) for line in pair)]


def _heading(titles: Sequence[str]) -> list[Text]:
    return [Text(title, HEADING) for title in titles]


def _figures(table: TableResult) -> list[Text]:
    counts = table.differences
    compared = rows_were_compared(table)
    return [
        verdict_text(table.verdict),
        _count(table.rows.source),
        _count(table.rows.target),
        *(_found(count if compared else None) for count in (counts.missing, counts.extra, counts.changed)),
        Text(table.strategy.value) if table.strategy else Text("-", FAINT),
        Text(f"{table.seconds:,.1f}"),
    ]


def _count(count: int | None) -> Text:
    return Text("-", FAINT) if count is None else Text(f"{count:,}")


def _found(count: int | None) -> Text:
    return Text(f"{count:,}", "bold") if count else Text("-" if count is None else "0", FAINT)


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


def write(result: VerificationResult, stream: TextIO, explain: bool = False) -> None:
    """Fits the width of a terminal; what is piped is never cut or wrapped, whatever its width."""
    console = console_on(stream)
    write_lines(report_lines(result, console.width if console.is_terminal else None, explain), console)


def report_lines(result: VerificationResult, width: int | None, explain: bool = False) -> Iterator[Text]:
    """The lines of the report; between two sections that have lines stands an empty one."""
    sections: list[Iterable[Text]] = [
        summary_lines(result.tables, width) if result.tables else (),
        (line for table in result.tables for line in table_remarks(table)),
        _explanations(result) if explain else (),
        _differences(result, width),
        (Text(f"note: {one_line(note)}") for note in result.notes),
    ]
    yield Text(headline(result), VERDICT[result.verdict])
    yield Text(f"{one_line(result.source)} → {one_line(result.target)}", FAINT)
    for section in sections:
        for index, line in enumerate(section):
            if index == 0:
                yield Text()
            yield line
    yield Text()
    yield Text(colophon(result), FAINT)


def _differences(result: VerificationResult, width: int | None) -> Iterator[Text]:
    yield from listed_differences(result.differences, width)
    cut = truncation(result)
    if cut:
        yield Text(cut)


def _explanations(result: VerificationResult) -> Iterator[Text]:
    for title, explanation in explained_tables(result):
        yield from map(Text, explanation_lines(title, explanation))
