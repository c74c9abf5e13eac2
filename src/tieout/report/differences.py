"""Differences as lines: the key, and of a changed row the columns that changed and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.text import Text

from tieout.model.differences import Difference, ValuePair
from tieout.report.printable import printable
from tieout.report.terminal import HEADING, KIND
from tieout.report.values import ROOM, pair_text, value_text

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
    """`name: source → target`; where that is too wide, the target stands below the source."""
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
