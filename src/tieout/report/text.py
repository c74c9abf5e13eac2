"""The report for people: the verdict first, then the table of tables, reasons and differences. Good without colours.

The other formats take their words from here: headline, titles, counts and what a verdict rests on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.text import Text

from tieout.model.differences import Difference, DifferenceCounts, ValuePair
from tieout.model.results import Explanation, SchemaFinding, Strategy, TableResult, Verdict, VerificationResult
from tieout.report.listing import FAINT, HEADING, KIND, VERDICT, aligned, console_on, verdict_text, write_lines
from tieout.report.printable import one_line, printable
from tieout.report.values import ROOM, pair_text, value_text
from tieout.wording import duration, plural


def headline(result: VerificationResult) -> str:
    """The verdict and what it rests on, as one line that begins with the verdict."""
    of = {verdict: sum(table.verdict is verdict for table in result.tables) for verdict in Verdict}
    return f"{result.verdict}: {_grounds(result, of)}{' (row counts only)' if result.counts_only else ''}"


def _grounds(result: VerificationResult, of: dict[Verdict, int]) -> str:
    total = len(result.tables)
    if not total:
        return "no table was compared"
    share = f"of {plural(total, 'table')}"
    unverified = of[Verdict.UNVERIFIED]
    if result.verdict is Verdict.DIFFERENT:
        different = of[Verdict.DIFFERENT]
        rest = f", {unverified:,} unverified" if unverified else ""
        return f"{different:,} {share} {'differs' if different == 1 else 'differ'}{rest}"
    if result.verdict is Verdict.UNVERIFIED:
        return f"{unverified:,} {share} could not be verified, no difference found"
    rows = [table.rows.source for table in result.tables]
    counted = sum(count for count in rows if count is not None)
    return f"{plural(total, 'table')}" + (f", {plural(counted, 'row')}" if None not in rows else "")


def table_title(table: TableResult) -> str:
    """The table's name; `source → target` if they are not the same."""
    source, target = table.source_table, table.target_table
    if source is None or target is None:
        side = "target" if source is None else "source"
        return f"{printable(table.table)} (only on the {side})"
    return printable(source) if source == target else f"{printable(source)} → {printable(target)}"


def counts_text(counts: DifferenceCounts) -> str:
    """`1 missing, 20 changed`; zeros are left out."""
    named = (("missing", counts.missing), ("extra", counts.extra), ("changed", counts.changed))
    return ", ".join(f"{count:,} {name}" for name, count in named if count)


def rows_were_compared(table: TableResult) -> bool:
    """Whether the table's counts of differences were measured: without that, a zero means nothing."""
    return bool(table.differences) or table.strategy not in (None, Strategy.COUNTS)


def truncation(result: VerificationResult) -> str | None:
    """The line under a truncated list of differences; None if the list is complete."""
    if not result.truncated:
        return None
    listed, total = len(result.differences), sum(table.differences.total for table in result.tables)
    if total > listed:
        return f"… {listed:,} of {total:,} differences listed (--limit)"
    return f"… {plural(listed, 'difference')} listed, there are more (--limit)"


def colophon(result: VerificationResult) -> str:
    """The job, how certain the verdict is, and how long it took."""
    parts = [f"job {printable(result.job)}"]
    bound = _largest(table.collision_bound for table in result.tables)
    if bound:
        parts.append(f"two different tables would pass with probability < {printable(bound)}")
    return "; ".join([*parts, duration(result.seconds)])


def _largest(bounds: Iterable[str | None]) -> str | None:
    return max((bound for bound in bounds if bound), key=_number, default=None)


def _number(bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        # A bound that is not a number can't be called smaller than another one, so it is shown.
        return float("inf")


_INDENT = " " * 11


def listed_differences(differences: Iterable[Difference], width: int | None) -> Iterator[Text]:
    """The differences in their order, under a heading wherever another table begins."""
    table: str | None = None
    for difference in differences:
        if difference.table != table:
            if table is not None:
                yield Text()
            table = difference.table
            yield Text(f"differences in {printable(table)}", HEADING)
        yield from difference_lines(difference, width)


def difference_lines(difference: Difference, width: int | None) -> Iterator[Text]:
    """One line if the row changed in one column (and it fits), else the key and lines for each column."""
    head = Text.assemble("  ", (f"{difference.kind.value:<7}", KIND[difference.kind]), f"  {key_text(difference)}")
    columns = [list(_column_lines(name, pair, width)) for name, pair in difference.columns.items()]
    if len(columns) == 1 and len(columns[0]) == 1 and _fits(one_line := head + Text(f"  {columns[0][0]}"), width):
        yield one_line
        return
    yield head
    yield from (Text(f"{_INDENT}{line}") for lines in columns for line in lines)


def key_text(difference: Difference) -> str:
    """`id=17, region='eu'`, and how many equal rows it stands for."""
    key = ", ".join(f"{printable(name)}={value_text(value)}" for name, value in difference.key.items())
    return key if difference.copies == 1 else f"{key} ({difference.copies:,} copies)"


def _column_lines(name: str, pair: ValuePair, width: int | None) -> Iterator[str]:
    """`name: source → target`; where that is too wide, the target is below the source."""
    room = ROOM if width is None else max(16, min(ROOM, width - 4 * len(_INDENT)))
    title, values = f"{printable(name)}: ", pair_text(pair, room)
    line = f"{title}{values}"
    if _fits(Text(_INDENT + line), width):
        yield line
    else:
        yield f"{title}{values.source}"
        yield f"{'→ ':>{cell_len(title)}}{values.target}"
        if values.where:
            yield f"{' ' * cell_len(title)}{values.where}"


def _fits(line: Text, width: int | None) -> bool:
    return width is None or line.cell_len <= width


def explanation_lines(title: str, explanation: Explanation) -> Iterator[str]:
    """The table (by a title that is printable already), what was chosen, and a line for each reason."""
    yield f"{title}: strategy {explanation.strategy}, alignment {one_line(explanation.alignment)}"
    yield from (f"  - {one_line(reason)}" for reason in explanation.reasons)


def explained_tables(result: VerificationResult) -> list[tuple[str, Explanation]]:
    """The titles and explanations of the tables that have one."""
    return [(table_title(table), table.explanation) for table in result.tables if table.explanation]


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
    """A heading with the verdict and its reason, then a line for each remark; nothing if the figures say everything."""
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
    """`schema, type of price: …`; a finding that does not make a table different is marked `(for information)`."""
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
    """Fits the width of a terminal; piped output is never truncated or wrapped."""
    console = console_on(stream)
    write_lines(report_lines(result, console.width if console.is_terminal else None, explain), console)


def report_lines(result: VerificationResult, width: int | None, explain: bool = False) -> Iterator[Text]:
    """The lines of the report; an empty line separates two sections."""
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
