"""Why each table is verified the way it is, as lines."""

from __future__ import annotations

from collections.abc import Iterator

from tieout.model.results import Explanation, VerificationResult
from tieout.report.printable import one_line
from tieout.report.words import table_title


def explanation_lines(title: str, explanation: Explanation) -> Iterator[str]:
    """The table (by a title that is printable already), what was chosen, and a line for each reason."""
    yield f"{title}: strategy {explanation.strategy}, alignment {one_line(explanation.alignment)}"
    yield from (f"  - {one_line(reason)}" for reason in explanation.reasons)


def explained_tables(result: VerificationResult) -> list[tuple[str, Explanation]]:
    """The titles and explanations of the tables that have one."""
    return [(table_title(table), table.explanation) for table in result.tables if table.explanation]
