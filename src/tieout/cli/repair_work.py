"""What `tieout repair` does, by what the job was that it repairs: a verification or a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from tieout.cli.job_urls import job_url, job_urls
from tieout.cli.sql_file import write_sql_file, write_statements
from tieout.errors import UsageError

if TYPE_CHECKING:
    from tieout.cli.place import Place
    from tieout.meta import Job
    from tieout.model.progress_events import Listener
    from tieout.model.repair import CheckRepairSummary, RepairResult, RepairSummary

Typed = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Urls:
    """As they were typed."""

    url: str | None
    source: str | None
    target: str | None


class RepairWork(Protocol):
    def plan(
        self, choose: Typed, values: Typed, table: str | None, listener: Listener, *, with_values: bool
    ) -> RepairSummary | CheckRepairSummary: ...

    def apply(self, plan: str, listener: Listener) -> RepairResult: ...

    def undo(self, plan: str, listener: Listener) -> RepairResult: ...

    def write_sql(self, plan: str, stream: TextIO) -> int: ...

    def write_sql_file(self, file: Path, plan: str) -> None: ...


def repair_work(here: Place, job: Job, urls: Urls) -> RepairWork:
    from tieout.meta import JobKind

    if job.kind is JobKind.CHECK:
        if urls.source is not None or urls.target is not None:
            raise UsageError(f"job {job.id} is a check: it has one database", "give it as --url")
        return _OfCheck(job.id, job_url(here, job, "--url", urls.url), here.meta)
    if urls.url is not None:
        raise UsageError(f"job {job.id} is a verification: it has two databases", "give them as --source and --target")
    return _OfVerification(job.id, job_urls(here, job, (urls.source, urls.target)), here.meta)


@dataclass(frozen=True)
class _OfVerification:
    job: str
    urls: tuple[str, str]
    meta: str

    def plan(
        self, choose: Typed, values: Typed, table: str | None, listener: Listener, *, with_values: bool
    ) -> RepairSummary:
        from tieout import api

        if choose or values:
            raise UsageError(
                f"job {self.job} is a verification: there is nothing to choose", "leave --choose and --set"
            )
        return api.plan_repair(
            self.job, *self.urls, table=table, with_values=with_values, meta=self.meta, listener=listener
        )

    def apply(self, plan: str, listener: Listener) -> RepairResult:
        from tieout import api

        return api.apply_repair(plan, *self.urls, meta=self.meta, listener=listener)

    def undo(self, plan: str, listener: Listener) -> RepairResult:
        from tieout import api

        return api.undo_repair(plan, *self.urls, meta=self.meta, listener=listener)

    def write_sql(self, plan: str, stream: TextIO) -> int:
        from tieout import api

        return api.write_repair_sql(plan, *self.urls, stream, meta=self.meta)

    def write_sql_file(self, file: Path, plan: str) -> None:
        write_sql_file(file, plan, self.urls, self.meta)


@dataclass(frozen=True)
class _OfCheck:
    job: str
    url: str
    meta: str

    def plan(
        self, choose: Typed, values: Typed, table: str | None, listener: Listener, *, with_values: bool
    ) -> CheckRepairSummary:
        from tieout import api

        if with_values:
            raise UsageError(f"job {self.job} is a check: its plan has the values that it kept", "leave --with-values")
        return api.plan_check_repair(
            self.job, self.url, choose=choose, values=values, table=table, meta=self.meta, listener=listener
        )

    def apply(self, plan: str, listener: Listener) -> RepairResult:
        from tieout import api

        return api.apply_check_repair(plan, self.url, meta=self.meta, listener=listener)

    def undo(self, plan: str, listener: Listener) -> RepairResult:
        from tieout import api

        return api.undo_check_repair(plan, self.url, meta=self.meta, listener=listener)

    def write_sql(self, plan: str, stream: TextIO) -> int:
        from tieout import api

        return api.write_check_repair_sql(plan, self.url, stream, meta=self.meta)

    def write_sql_file(self, file: Path, plan: str) -> None:
        write_statements(file, plan, lambda stream: self.write_sql(plan, stream))
