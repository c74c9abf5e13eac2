"""The console that reports and progress share: it colours what we colour, and interprets nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.text import Text


def console_on(stream: TextIO) -> Console:
    """Knows whether the stream is a terminal, how wide, and whether it wants colours (NO_COLOR, TERM)."""
    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, force_jupyter=False)


def write_lines(lines: Iterable[Text], console: Console) -> None:
    """One line each, with colours if the console has them; nothing is wrapped or cut."""
    for line in lines:
        if console.color_system is None:
            console.file.write(f"{line.plain}\n")  # a hundred times faster than asking the console
        else:
            console.print(line)
