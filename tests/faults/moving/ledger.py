"""What came of the cases of a long run: a line for each, and a table of counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.faults.moving.cases import ALL, DELIVERIES, PLACES, Case


def keep(ledger: Path, case: Case, *, passed: bool) -> None:
    with ledger.open("a") as lines:
        lines.write(json.dumps({"case": str(case), "passed": passed}) + "\n")


def passed(ledger: Path) -> set[str]:
    return {case for case, good in _last(ledger).items() if good}


def table(ledger: Path) -> str:
    """Of the pairs that reach it, how many held: by place and delivery."""
    last = _last(ledger)
    counts: Counter[tuple[str, str, bool | None]] = Counter(
        (case.place, case.delivery, last.get(str(case))) for case in ALL
    )
    lines = ["", f"{'killed':22}" + "".join(f"{delivery:>18}" for delivery in DELIVERIES)]
    for place in PLACES:
        cells = []
        for delivery in DELIVERIES:
            held, broken, left = (counts[place, delivery, came] for came in (True, False, None))
            cells.append(f"{held} of {held + broken + left}" + (f", {broken} failed" if broken else ""))
        lines.append(f"{place:22}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


def _last(ledger: Path) -> dict[str, bool]:
    if not ledger.exists():
        return {}
    return {line["case"]: line["passed"] for line in map(json.loads, ledger.read_text().splitlines())}
