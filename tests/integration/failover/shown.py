"""The table of docs/how-to/when-servers-fail-over.md: a row for each test that shows it."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.integration.failover.cases import CASES

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "when-servers-fail-over.md"
BEGIN, END = "<!-- made by tools/when_servers_fail_over.py -->\n", "<!-- end of the table -->"


def document() -> str:
    """The page, with the table as the tests have it."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.integration.failover.{path.stem}")
    rows = dict.fromkeys((case.server, case.happens, case.outcome, case.because) for case in CASES)
    table = ["| server | what happens to it | the mover | because |", "| --- | --- | --- | --- |"]
    table += [f"| {' | '.join(row)} |" for row in rows]
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + "\n".join(["", *table, "", ""]) + END + rest.partition(END)[2]
