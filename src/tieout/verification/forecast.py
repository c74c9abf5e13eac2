"""From plans to forecasts: what would be done, and what the answer would be worth."""

from __future__ import annotations

from tieout.model.forecast import Guarantee, TableForecast
from tieout.model.results import Strategy
from tieout.verification.plan import TablePlan
from tieout.verification.planning import PlannedTable


def forecast_of(planned: PlannedTable) -> TableForecast:
    pair, comparison, plan = planned.pair, planned.comparison, planned.plan
    return TableForecast(
        str(pair.source) if pair.source else None,
        str(pair.target) if pair.target else None,
        planned.explanation,
        guarantee_of(plan) if plan else None,
        planned.failure or _one_sided(planned),
        plan.key_names if plan else (),
        comparison.unverified if comparison else (),
        comparison.findings if comparison else (),
    )


def _one_sided(planned: PlannedTable) -> str | None:
    if planned.pair.source is None:
        return "the table is only on the target"
    return "the table is only on the source" if planned.pair.target is None else None


def guarantee_of(plan: TablePlan) -> Guarantee:
    if plan.strategy is Strategy.COUNTS:
        return Guarantee(None, "only numbers of rows are compared: no table can be called equal", False, False)
    bits = plan.hash.bits if plan.hash else 128
    # An engine's own hash is mixed once more: either pass may collide.
    chance = bits - 1 if plan.hash and plan.hash.native else bits
    return Guarantee(
        bits,
        f"two different ranges of rows pass as equal with probability 2^-{chance}",
        rechecks=bool(plan.key) and not (plan.source.is_frame or plan.target.is_frame),
        resumes=bool(plan.source.scan.ordered_by and plan.target.scan.ordered_by),
    )
