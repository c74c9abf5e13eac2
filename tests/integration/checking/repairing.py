"""A database that is checked, repaired, checked again and put back."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.integration.checking.checks import Checking
from tieout import api
from tieout.config.urls import parse_url
from tieout.meta import JobKind, RepairChange, open_store
from tieout.model.check_statements import Family
from tieout.model.failures import CheckReport, CheckResult, Failure, Status
from tieout.model.repair import CheckRepairSummary, RepairResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Repairing:
    """`spark` None: nothing is checked, failures are told by the test."""

    def __init__(self, url: str, directory: Path, spark: SparkSession | None = None) -> None:
        self.url = url
        self.meta = f"sqlite:///{directory}/meta.db"
        self._checking = None if spark is None else Checking(url, spark, directory)

    def check(self, statement: str) -> CheckReport:
        assert self._checking is not None
        return self._checking.run(statement)

    def told(self, *failures: Failure) -> str:
        """A check that found these; its id."""
        with open_store(self.meta) as store:
            shown = parse_url(self.url).redacted()
            job = store.jobs.create(JobKind.CHECK, source=shown, target=None, request={"statement": "CHECK TABLE t"})
            by_check: dict[tuple[str, str | None], list[Failure]] = {}
            for each in failures:
                by_check.setdefault((each.table, each.constraint or each.index), []).append(each)
            for (table, name), found in by_check.items():
                result = CheckResult(Family.CONSTRAINT, table, name, Status.FAILURES, failures=len(found))
                store.failures.record(job.id, shown, result, found)
            store.jobs.finish(job.id, verdict="failures", result={"checks": [{"failures": len(failures)}]})
            return job.id

    def ids(self, job: str) -> dict[str, list[str]]:
        """The failures of a job, by kind."""
        with open_store(self.meta) as store:
            found: dict[str, list[str]] = {}
            for each in store.failures.of_job(job):
                found.setdefault(each.failure.kind, []).append(each.id)
            return found

    def plan(self, job: str, *choices: str, **values: str) -> CheckRepairSummary:
        choose = dict(choice.split("=") for choice in choices)
        return api.plan_check_repair(job, self.url, choose=choose, values=values, meta=self.meta)

    def apply(self, plan: str = "last") -> RepairResult:
        return api.apply_check_repair(plan, self.url, meta=self.meta)

    def undo(self, plan: str = "last") -> RepairResult:
        return api.undo_check_repair(plan, self.url, meta=self.meta)

    def sql(self, plan: str = "last") -> str:
        out = StringIO()
        api.write_check_repair_sql(plan, self.url, out, meta=self.meta)
        return out.getvalue()

    def changes(self, plan: str = "last") -> Sequence[RepairChange]:
        with open_store(self.meta) as store:
            return list(store.repairs.changes(store.repairs.get(plan).id))


def counts(result: RepairResult) -> dict[str, Any]:
    """What is not nothing."""
    names = ("done", "skipped", "failed", "undecided", "kept")
    return {name: value for name in names if (value := getattr(result, name))}
