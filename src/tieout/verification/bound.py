"""How likely two different tables are to pass as equal."""

from __future__ import annotations

from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction

from tieout.model.kinds import Form
from tieout.verification.tablerun import TableRun

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
