"""Verdicts, counts and what they rest on in plain words; every format speaks the same."""

from __future__ import annotations

from collections.abc import Iterable

from tieout.model.differences import DifferenceCounts
from tieout.model.results import Strategy, TableResult, Verdict, VerificationResult
from tieout.report.printable import printable
from tieout.wording import duration, plural, size


def headline(result: VerificationResult) -> str:
    """The verdict and what it rests on, as one line that begins with the verdict."""
    of = {verdict: sum(table.verdict is verdict for table in result.tables) for verdict in Verdict}
    return f"{result.verdict}: {_grounds(result, of)}{' (row counts only)' if result.counts_only else ''}"


def _grounds(result: VerificationResult, of: dict[Verdict, int]) -> str:
    total = len(result.tables)
    if not total:
        return "no table was compared"
    share = f"of {plural(total, 'table')}"
    unverified = of[Verdict.UNVERIFIED]
    if result.verdict is Verdict.DIFFERENT:
        different = of[Verdict.DIFFERENT]
        rest = f", {unverified:,} unverified" if unverified else ""
        return f"{different:,} {share} {'differs' if different == 1 else 'differ'}{rest}"
    if result.verdict is Verdict.UNVERIFIED:
        return f"{unverified:,} {share} could not be verified, no difference found"
    rows = [table.rows.source for table in result.tables]
    counted = sum(count for count in rows if count is not None)
    return f"{plural(total, 'table')}" + (f", {plural(counted, 'row')}" if None not in rows else "")


def table_title(table: TableResult) -> str:
    """The table's name; `source → target` if they are not the same."""
    source, target = table.source_table, table.target_table
    if source is None or target is None:
        side = "target" if source is None else "source"
        return f"{printable(table.table)} (only on the {side})"
    return printable(source) if source == target else f"{printable(source)} → {printable(target)}"


def counts_text(counts: DifferenceCounts) -> str:
    """`1 missing, 20 changed`; what is none is left out."""
    named = (("missing", counts.missing), ("extra", counts.extra), ("changed", counts.changed))
    return ", ".join(f"{count:,} {name}" for name, count in named if count)


def rows_were_compared(table: TableResult) -> bool:
    """Whether the table's counts of differences mean something: a zero that nobody measured is not a zero."""
    return bool(table.differences) or table.strategy not in (None, Strategy.COUNTS)


def truncation(result: VerificationResult) -> str | None:
    """What a list of differences that is not the whole says of itself."""
    if not result.truncated:
        return None
    listed, total = len(result.differences), sum(table.differences.total for table in result.tables)
    if total > listed:
        return f"… {listed:,} of {total:,} differences listed (--limit)"
    return f"… {plural(listed, 'difference')} listed, there are more (--limit)"


def colophon(result: VerificationResult) -> str:
    """The job, how sure the verdict is, and how long it took."""
    parts = [f"job {printable(result.job)}"]
    bound = _largest(table.collision_bound for table in result.tables)
    if bound:
        parts.append(f"two different tables would pass with probability < {printable(bound)}")
    return "; ".join([*parts, duration(result.seconds)])


def _largest(bounds: Iterable[str | None]) -> str | None:
    return max((bound for bound in bounds if bound), key=_number, default=None)


def _number(bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        # A bound that is not a number can't be called smaller than another one: it is what gets shown.
        return float("inf")


def log_words(kept: int | None, limit: str) -> str:
    """How much log a source keeps for a task, and what ends it."""
    return limit if kept is None else f"the source keeps {size(kept)} for this task; {limit}"
