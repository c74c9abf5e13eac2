"""What was measured: printed as a table and kept as JSON."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds, and what was wrong with the answer, if anything was."""

    seconds: float
    wrong: str | None = None


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
        return {
            "case": f"{self.case}: {self.wrong}" if self.wrong else self.case,
            "ours": _rounded(self.ours),
            "peer": self.peer,
            "theirs": _rounded(self.theirs),
            "ratio": _rounded(self.ratio),
            "bar": self.bar,
            "met": self.met,
            "unit": self.unit,
        }

    def cells(self) -> tuple[str, ...]:
        met = {True: "yes", False: "no", None: "–"}[self.met]
        return (self.case, _text(self.ours), _text(self.theirs), _text(self.ratio), _text(self.bar), met, self.peer)


@dataclass
class Sheet:
    """The measurements of one run. `crashed`: a case could not be run to its end."""

    measurements: list[Measurement] = field(default_factory=list)
    crashed: bool = False

    def add_best(
        self, case: str, ours: Sequence[Timed], peer: str, theirs: Sequence[Timed], bar: float | None = None
    ) -> None:
        wrong = next((timed.wrong for timed in (*ours, *theirs) if timed.wrong), None)
        best = [min(timed.seconds for timed in side) for side in (ours, theirs)]
        self.add(Measurement(case, best[0], peer, best[1], bar, wrong=wrong))

    def add(self, measurement: Measurement) -> None:
        self.measurements.append(measurement)
        print("  ".join(measurement.cells()), measurement.wrong or "", flush=True)

    @contextmanager
    def case(self, name: str) -> Iterator[None]:
        """A case that fails is a row that says so: it does not take the others with it."""
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            self.crashed = True
            wrong = f"could not be run: {type(error).__name__}: {error}"
            self.add(Measurement(name, None, "–", None, wrong=wrong))

    def keep(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [measurement.document() for measurement in self.measurements]
        file.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")

    def show(self) -> None:
        heads = ("case", "ours", "theirs", "ratio", "bar", "met", "peer")
        rows = [m.cells() for m in self.measurements]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        print(_line(heads, widths))
        for row, measurement in zip(rows, self.measurements, strict=True):
            print(_line(row, widths))
            if measurement.wrong:
                print(f"  ! {measurement.wrong}")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    numbers = range(1, 5)
    aligned = [
        cell.rjust(width) if place in numbers else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
