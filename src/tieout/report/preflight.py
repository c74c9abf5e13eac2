"""A plan or a preflight for people: problems first, each with its fix, then tables and what a verdict is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.text import Text

from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.documents import forecast_document, preflight_document
from tieout.model.preflight import (
    EndpointFacts,
    Forecast,
    MoveForecast,
    MoveTableForecast,
    Preflight,
    Problem,
    Severity,
    TableForecast,
    TableState,
)
from tieout.report.json import json_text
from tieout.report.listing import FAINT, HEADING, console_on, write_lines
from tieout.report.printable import one_line, printable
from tieout.report.render import OutputFormat
from tieout.report.text import schema_text
from tieout.wording import plural, size

_STYLE = {
    Severity.PREVENTS: "bold red",
    Severity.UNVERIFIED: "bold yellow",
    Severity.DIFFERENT: "red",
    Severity.NOTE: FAINT,
}
_READY = {ExitCode.OK: "green", ExitCode.FAILED: "bold red", ExitCode.INCOMPLETE: "bold yellow"}


def write_forecast(forecast: Forecast, format: OutputFormat, stream: TextIO) -> None:
    """Writes what --explain shows."""
    if not _written_as_json(forecast_document(forecast), format, stream):
        lines = [Text(f"{one_line(forecast.source)} → {one_line(forecast.target)}", FAINT)]
        write_lines([*lines, *(line for table in forecast.tables for line in _table(table))], console_on(stream))


def write_preflight(preflight: Preflight, format: OutputFormat, stream: TextIO) -> None:
    if not _written_as_json(preflight_document(preflight), format, stream):
        write_lines(_preflight(preflight), console_on(stream))


def _written_as_json(document: object, format: OutputFormat, stream: TextIO) -> bool:
    if format in (OutputFormat.JSON, OutputFormat.NDJSON):
        stream.write(json_text(document, indent=2 if format is OutputFormat.JSON else None) + "\n")
        return True
    if format is not OutputFormat.TEXT:
        raise UsageError(f"this can't be written as {format}", "use --output text or json")
    return False


def _preflight(preflight: Preflight) -> Iterator[Text]:
    yield Text(_headline(preflight), _READY[preflight.exit_code])
    yield _endpoint("source", preflight.source)
    yield _endpoint("target", preflight.target)
    yield from _section(line for problem in preflight.problems for line in _problem(problem))
    if preflight.move is not None:
        yield from _section(move_lines(preflight.move))
    yield from _section(line for table in preflight.tables for line in _table(table, guarantee=True))


def _section(lines: Iterable[Text]) -> Iterator[Text]:
    for index, line in enumerate(lines):
        if index == 0:
            yield Text()
        yield line


def _headline(preflight: Preflight) -> str:
    of = {each: sum(problem.severity is each for problem in preflight.problems) for each in Severity}
    if preflight.exit_code is ExitCode.FAILED:
        return f"not ready: {plural(of[Severity.PREVENTS], 'thing')} to fix first"
    if preflight.exit_code is ExitCode.INCOMPLETE:
        return f"ready, but not everything would be verified: {plural(of[Severity.UNVERIFIED], 'gap')}"
    if preflight.move is not None:
        moved = plural(len(preflight.move.tables), "table")
        return f"ready: {moved} to move, {preflight.move.delivery}; {len(preflight.tables)} of them can be verified now"
    found = f", {plural(of[Severity.DIFFERENT], 'difference')} in the schemas" if of[Severity.DIFFERENT] else ""
    return f"ready: {plural(len(preflight.tables), 'table')}{found}"


def _endpoint(side: str, facts: EndpointFacts) -> Text:
    reached = f" ({one_line(facts.version)})" if facts.version else " (not reached)"
    return Text(f"{side} {one_line(facts.url)}{reached}", FAINT)


def _problem(problem: Problem) -> Iterator[Text]:
    where = " ".join(part for part in (problem.side, printable(problem.table or "")) if part)
    head = f" {where}:" if where else ""
    severity = (f"{problem.severity.value:<10}", _STYLE[problem.severity])
    yield Text.assemble(severity, f"{head} {one_line(problem.message)}")
    if problem.fix:
        yield Text(f"{'':<10} → {one_line(problem.fix)}")


def _table(table: TableForecast, guarantee: bool = False) -> Iterator[Text]:
    explanation = table.explanation
    if explanation is None:
        yield Text.assemble((_title(table), HEADING), f": {one_line(table.problem or 'not compared')}")
        return
    how = f": strategy {explanation.strategy}, alignment {one_line(explanation.alignment)}"
    yield Text.assemble((_title(table), HEADING), how)
    yield from (Text(f"  - {one_line(reason)}") for reason in explanation.reasons)
    if guarantee and table.guarantee:
        yield Text(f"  guarantee: {'; '.join(_guarantee(table))}")
    if not guarantee:
        yield from (Text(f"  {schema_text(finding)}") for finding in table.schema)
        for column in table.unverified_columns:
            yield Text(f"  unverified column {printable(column.column)}: {one_line(column.reason)}")


def _guarantee(table: TableForecast) -> Iterator[str]:
    assert table.guarantee is not None
    yield one_line(table.guarantee.collision)
    if table.guarantee.hash_bits is not None:
        live = "are rechecked" if table.guarantee.rechecks else "can't be rechecked (no key)"
        yield f"rows that differ in a live table {live}"
        yield "resumable by key range" if table.guarantee.resumes else "after a crash the table starts over"


def _title(table: TableForecast) -> str:
    source, target = table.source_table, table.target_table
    if source is None or target is None or source == target:
        return printable(source or target or "?")
    return f"{printable(source)} → {printable(target)}"


_STATES = {
    TableState.MISSING: "will be created",
    TableState.THERE: "exists and is empty",
    TableState.BEGUN: "already holds rows of this task",
}


def move_lines(move: MoveForecast) -> Iterator[Text]:
    yield Text(f"delivery: {move.delivery} (the pair can give {_listed(move.deliveries)})")
    yield Text(f"consistency: {move.consistency} (the pair can give {_listed(move.consistencies)})")
    for reason in move.reasons:
        yield Text(f"chosen: {reason}")
    kept = move.log_kept_bytes
    keeps = "" if kept is None else f"the source keeps {size(kept)} for this task; "
    yield Text(f"log: {keeps}{move.log_limit}")
    for table in move.tables:
        yield from _move_table(table)


def _move_table(table: MoveTableForecast) -> Iterator[Text]:
    title = f"{printable(table.source_table)} → {printable(table.target_table)}"
    yield Text.assemble((title, HEADING), f": {_STATES[table.state]}")
    key = f"key ({', '.join(map(printable, table.key))})" if table.key else "no key: rows are a multiset"
    yield Text(f"  - {key}")
    yield Text(f"  - target level {table.target_level} (of {_listed(table.target_levels)})")
    yield Text(f"  promise: {table.promise}")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
