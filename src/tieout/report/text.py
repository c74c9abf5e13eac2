"""The report for people: the verdict first, then tables, reasons and differences. Good without colours, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from rich.text import Text

from tieout.model.results import VerificationResult
from tieout.report.differences import listed_differences
from tieout.report.explain import explained_tables, explanation_lines
from tieout.report.palette import FAINT, VERDICT
from tieout.report.printable import one_line
from tieout.report.remarks import table_remarks
from tieout.report.summary import summary_lines
from tieout.report.terminal import console_on, write_lines
from tieout.report.words import colophon, headline, truncation


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
