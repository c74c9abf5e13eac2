"""The stable JSON shape of a forecast and of a preflight."""

from __future__ import annotations

from typing import Any

from tieout.model.forecast import EndpointFacts, Forecast, Guarantee, Preflight, Problem, TableForecast
from tieout.model.move_forecast import MoveForecast


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    return {
        "kind": "plan",
        "source": forecast.source,
        "target": forecast.target,
        "tables": [table_forecast_document(table) for table in forecast.tables],
    }


def preflight_document(preflight: Preflight) -> dict[str, Any]:
    return {
        "kind": "preflight",
        "ready": preflight.exit_code != 2,
        "source": _endpoint(preflight.source),
        "target": _endpoint(preflight.target),
        "problems": [problem_document(problem) for problem in preflight.problems],
        "tables": [table_forecast_document(table) for table in preflight.tables],
        "move": move_forecast_document(preflight.move) if preflight.move else None,
    }


def move_forecast_document(move: MoveForecast) -> dict[str, Any]:
    return {
        "delivery": move.delivery.value,
        "deliveries": [delivery.value for delivery in move.deliveries],
        "consistency": move.consistency.value,
        "source_levels": [level.value for level in move.source_levels],
        "log_limit": move.log_limit,
        "log_kept_bytes": move.log_kept_bytes,
        "tables": [
            {
                "source_table": table.source_table,
                "target_table": table.target_table,
                "state": table.state.value,
                "key": list(table.key),
                "target_levels": [level.value for level in table.target_levels],
                "target_level": table.target_level.value,
                "promise": table.promise,
            }
            for table in move.tables
        ],
    }


def problem_document(problem: Problem) -> dict[str, Any]:
    return {
        "severity": problem.severity.value,
        "side": problem.side,
        "table": problem.table,
        "message": problem.message,
        "fix": problem.fix,
    }


def table_forecast_document(table: TableForecast) -> dict[str, Any]:
    explanation = table.explanation
    return {
        "source_table": table.source_table,
        "target_table": table.target_table,
        "strategy": explanation.strategy.value if explanation else None,
        "alignment": explanation.alignment if explanation else None,
        "reasons": list(explanation.reasons) if explanation else [],
        "problem": table.problem,
        "key": list(table.key),
        "guarantee": _guarantee(table.guarantee) if table.guarantee else None,
        "unverified_columns": [{"column": c.column, "reason": c.reason} for c in table.unverified_columns],
        "schema": [
            {"aspect": f.aspect, "column": f.column, "message": f.message, "breaks": f.breaks} for f in table.schema
        ],
    }


def _endpoint(facts: EndpointFacts) -> dict[str, Any]:
    return {"url": facts.url, "version": facts.version}


def _guarantee(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "hash_bits": guarantee.hash_bits,
        "collision": guarantee.collision,
        "rechecks": guarantee.rechecks,
        "resumes": guarantee.resumes,
    }
