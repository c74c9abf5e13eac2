"""Facts into verdicts. Pure: the same facts always give the same verdict."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.model.differences import DifferenceCounts
from tieout.model.results import SchemaFinding, TableResult, UnverifiedColumn, Verdict


def judge_table(
    *,
    one_sided: str | None,
    findings: Sequence[SchemaFinding],
    unverified: Sequence[UnverifiedColumn],
    counts: DifferenceCounts,
    failure: str | None,
    incomplete: str | None,
    other_counts: str | None = None,
) -> tuple[Verdict, str | None]:
    """The verdict of a table and its reason.

    A difference found is a difference, whatever else went wrong (`other_counts`: rows were only counted, and
    their numbers differ). Without one, anything that was not compared (`failure`: it could not be;
    `incomplete`: it was not asked for) leaves the table unverified.
    """
    if one_sided is not None:
        return Verdict.DIFFERENT, f"the table is only on the {one_sided}"
    if counts:
        return Verdict.DIFFERENT, failure
    if other_counts is not None:
        return Verdict.DIFFERENT, other_counts
    broken = [finding for finding in findings if finding.breaks]
    if broken:
        return Verdict.DIFFERENT, f"column {broken[0].column} {broken[0].message}"
    if failure is not None:
        return Verdict.UNVERIFIED, failure
    if unverified:
        names = ", ".join(column.column for column in unverified)
        return Verdict.UNVERIFIED, f"not compared: {names}"
    if incomplete is not None:
        return Verdict.UNVERIFIED, incomplete
    return Verdict.EQUAL, None


def judge_all(tables: Sequence[TableResult]) -> Verdict:
    """Different if any table is, else unverified if any is (or there is none), else equal."""
    verdicts = {table.verdict for table in tables}
    if Verdict.DIFFERENT in verdicts:
        return Verdict.DIFFERENT
    if Verdict.UNVERIFIED in verdicts or not verdicts:
        return Verdict.UNVERIFIED
    return Verdict.EQUAL
