"""Tieout: move data between databases on Spark, and prove that it arrived.

The public face, loaded as it is used: `import tieout` imports neither Spark nor a driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tieout.api import check, compare, follow_checks, verify
    from tieout.errors import TieoutError
    from tieout.model.differences import Difference, DifferenceKind
    from tieout.model.failures import CheckReport, CheckResult, CheckVerdict, Failure, FailureKind
    from tieout.model.requests import TableRequest
    from tieout.model.results import Strategy, TableResult, Verdict, VerificationResult

__all__ = [
    "CheckReport",
    "CheckResult",
    "CheckVerdict",
    "Difference",
    "DifferenceKind",
    "Failure",
    "FailureKind",
    "Strategy",
    "TableRequest",
    "TableResult",
    "TieoutError",
    "Verdict",
    "VerificationResult",
    "check",
    "compare",
    "follow_checks",
    "verify",
]

_HOMES = {
    "CheckReport": "tieout.model.failures",
    "CheckResult": "tieout.model.failures",
    "CheckVerdict": "tieout.model.failures",
    "Difference": "tieout.model.differences",
    "DifferenceKind": "tieout.model.differences",
    "Failure": "tieout.model.failures",
    "FailureKind": "tieout.model.failures",
    "Strategy": "tieout.model.results",
    "TableRequest": "tieout.model.requests",
    "TableResult": "tieout.model.results",
    "TieoutError": "tieout.errors",
    "Verdict": "tieout.model.results",
    "VerificationResult": "tieout.model.results",
    "check": "tieout.api",
    "compare": "tieout.api",
    "follow_checks": "tieout.api",
    "verify": "tieout.api",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tieout' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
