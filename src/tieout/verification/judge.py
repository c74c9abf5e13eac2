"""Facts into verdicts, and how likely two different tables are to pass as equal.

Pure: the same facts always give the same verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction

from tieout.model.canonical_kinds import Form
from tieout.model.differences import DifferenceCounts
from tieout.model.results import SchemaFinding, TableResult, UnverifiedColumn, Verdict
from tieout.verification.table_state import TableRun

_FIXED = {
    Form.BOOLEAN,
    Form.INTEGER,
    Form.DECIMAL,
    Form.FLOAT32,
    Form.FLOAT64,
    Form.DATE,
    Form.TIMESTAMP,
    Form.TIME,
    Form.UUID,
}


def collision_bound(run: TableRun) -> str | None:
    """An upper bound, for data that nobody made up to collide; None if digests did not decide.

    Each comparison of two digests that differ in truth agrees with probability 2^-bits. In `pull`, so does
    each comparison of two values of variable length, which stand in the row by their 128-bit hash. In
    `native`, a row is hashed twice.
    """
    if run.failure is not None or run.ranges == 0:
        return None
    spec = run.plan.hash
    if spec is not None and not run.plan.aligned:
        # Two lanes, each of which chains the columns through 64 bits: it may collide at any of them.
        chances = len(run.source_buckets) * (len(run.plan.columns) + 1) ** 2
        return _text(Fraction(max(chances, 1), 2**spec.bits))
    if spec is not None:
        return _text(Fraction(run.ranges * (2 if spec.native else 1), 2**spec.bits))
    variable = sum(column.kind.form not in _FIXED for column in run.plan.source.scan.columns)
    comparisons = max(run.ranges, len(run.source_buckets)) + variable * max(run.source.count, run.target.count)
    return _text(Fraction(comparisons, 2**128))


def _text(probability: Fraction) -> str:
    # Rounded up: it is said to be less than this.
    rounded = Context(prec=1, rounding=ROUND_UP).divide(
        Decimal(probability.numerator), Decimal(probability.denominator)
    )
    return f"{rounded:e}".replace("e-0", "e-")


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
