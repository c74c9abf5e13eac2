"""What each verdict and each kind of difference looks like. The words are always there too."""

from __future__ import annotations

from rich.text import Text

from tieout.model.differences import DifferenceKind
from tieout.model.results import Verdict

VERDICT = {Verdict.EQUAL: "green", Verdict.DIFFERENT: "bold red", Verdict.UNVERIFIED: "bold yellow"}
KIND = {DifferenceKind.MISSING: "red", DifferenceKind.EXTRA: "magenta", DifferenceKind.CHANGED: "yellow"}
HEADING = "bold"
FAINT = "dim"


def verdict_text(verdict: Verdict) -> Text:
    return Text(verdict.value, VERDICT[verdict])
