"""What was measured: rows of a table, printed and kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Measurement:
    """One case. `wrong` says why its figures are worth nothing: an answer that was not right, or none."""

    case: str
    ours: float | None
    peer: str
    theirs: float | None
    bar: float | None = None
    unit: str = "s"
    wrong: str | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.ours is not None and self.theirs else None

    @property
    def met(self) -> bool | None:
        """Whether the bar was reached; None if there is none."""
        if self.bar is None:
            return None
        return self.wrong is None and self.ratio is not None and self.ratio <= self.bar

    def document(self) -> dict[str, Any]:
        fields = asdict(self)
        return {
            "case": f"{self.case}: {self.wrong}" if self.wrong else self.case,
            **{name: _rounded(fields[name]) for name in ("ours", "peer", "theirs")},
            "ratio": _rounded(self.ratio),
            "bar": self.bar,
            "met": self.met,
            "unit": self.unit,
        }


def keep(measurements: Iterable[Measurement], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [measurement.document() for measurement in measurements]
    file.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


def show(measurements: Sequence[Measurement]) -> None:
    heads = ("case", "ours", "theirs", "unit", "ratio", "bar", "met", "peer")
    rows = [
        (m.case, _text(m.ours), _text(m.theirs), m.unit, _text(m.ratio), _text(m.bar), _YES_NO[m.met], m.peer)
        for m in measurements
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row, wrong in zip([heads, *rows], [None, *(m.wrong for m in measurements)], strict=True):
        cells = [
            text.rjust(width) if 1 <= place <= 5 and place != 3 else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
        if wrong:
            print(f"    ! {wrong}")


_YES_NO = {True: "yes", False: "no", None: "–"}


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value
