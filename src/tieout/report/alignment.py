"""Cells in aligned columns, by the width that a terminal gives them. No rules, no boxes: grep and awk read it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.text import Text

_GAP = "  "


def aligned(rows: Sequence[Sequence[Text]], right: Collection[int] = (), indent: str = "") -> list[Text]:
    """A line for each row; the columns of `right` are flush right. Nothing is cut and nothing trails."""
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    return [_line(row, widths, right, indent) for row in rows]


def _line(row: Sequence[Text], widths: Sequence[int], right: Collection[int], indent: str) -> Text:
    line = Text(indent)
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        padding = " " * (width - cell.cell_len)
        if index:
            line.append(_GAP)
        line.append_text(Text(padding) + cell if index in right else cell + Text(padding))
    line.rstrip()
    return line
