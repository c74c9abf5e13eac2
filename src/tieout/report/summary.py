"""The table of tables: one line for each, what was read, found and how."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from tieout.model.results import TableResult
from tieout.report.alignment import aligned
from tieout.report.palette import FAINT, HEADING, verdict_text
from tieout.report.words import rows_were_compared, table_title

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
