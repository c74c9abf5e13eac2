"""The console that reports and progress share: it colours what we colour, and interprets nothing.

What each verdict and each kind of difference looks like; the words are always there too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.text import Text

from tieout.model.differences import DifferenceKind
from tieout.model.results import Verdict

VERDICT = {Verdict.EQUAL: "green", Verdict.DIFFERENT: "bold red", Verdict.UNVERIFIED: "bold yellow"}
KIND = {DifferenceKind.MISSING: "red", DifferenceKind.EXTRA: "magenta", DifferenceKind.CHANGED: "yellow"}
HEADING = "bold"
FAINT = "dim"


def verdict_text(verdict: Verdict) -> Text:
    return Text(verdict.value, VERDICT[verdict])


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
