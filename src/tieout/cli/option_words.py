"""What was typed about how to verify, as options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tieout.errors import UsageError
from tieout.model.requests import VerifyOptions
from tieout.model.results import Strategy

_AS_TYPED = (
    "chunk_seconds",
    "chunk_rows",
    "max_rows_per_second",
    "recheck_after",
    "recheck_times",
    "redact_values",
)
_OF_THE_PLAN = ("strategy", "hash_bits", "counts_only", "exact_scale")


@dataclass(frozen=True, slots=True)
class OptionWords:
    """The options as typed; None (False, for a flag): not given."""

    strategy: str | None = None
    hash_bits: str | None = None
    counts_only: bool = False
    exact_scale: bool = False
    limit: str | None = None
    chunk_seconds: float | None = None
    chunk_rows: int | None = None
    max_rows_per_second: int | None = None
    recheck_after: float | None = None
    recheck_times: int | None = None
    redact_values: bool | None = None

    @property
    def given_for_the_plan(self) -> list[str]:
        """The names of typed options that what was digested, or kept, depends on."""
        given = [name for name in _OF_THE_PLAN if getattr(self, name)]
        given += ["redact_values"] if self.redact_values is not None else []
        return ["--" + name.replace("_", "-") for name in given]


def verify_options(words: OptionWords, base: VerifyOptions) -> VerifyOptions:
    """`base`, with what was typed in its place."""
    typed: dict[str, Any] = {name: getattr(words, name) for name in _AS_TYPED if getattr(words, name) is not None}
    if words.strategy is not None:
        typed["strategy"] = Strategy(words.strategy)
    if words.hash_bits is not None:
        typed["hash_bits"] = int(words.hash_bits)
    if words.limit is not None:
        typed["limit"] = _limit(words.limit)
    for flag in ("counts_only", "exact_scale"):
        if getattr(words, flag):
            typed[flag] = True
    return replace(base, **typed)


def _limit(text: str) -> int | None:
    if text.strip().lower() == "none":
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise UsageError(f"--limit {text!r} is not a number", "write --limit 1000, or --limit none for all")
    return int(text)
