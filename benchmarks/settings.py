"""What to measure, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Settings:
    """`memory_rows` is a small and a large table; no `cases`: all."""

    rows: int
    runs: int
    memory_rows: tuple[int, int]
    cases: tuple[str, ...]

    def wants(self, case: str) -> bool:
        """Whether a case (`pair/state/…`) is asked for: by its whole name, or by the first part of it."""
        names = (case, case.partition("/")[0])
        return not self.cases or any(fnmatchcase(name, pattern) for name in names for pattern in self.cases)


def settings_from(environment: Mapping[str, str] = os.environ) -> Settings:
    rows = _number(environment, "ROWS", 2_000_000)
    small, _, large = environment.get("MEMORY_ROWS", f"{rows // 2},{rows * 2}").partition(",")
    return Settings(
        rows,
        _number(environment, "RUNS", 3),
        (int(small), int(large)),
        tuple(environment.get("CASES", "").replace(",", " ").split()),
    )


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    value = int(environment.get(name) or default)
    if value < 1:
        raise SystemExit(f"{name} must be 1 or more")
    return value
