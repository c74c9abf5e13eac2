"""A pair of databases that a test verifies, repairs and looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tieout import api
from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.registry import open_endpoint
from tieout.meta import JobKind, MetaStore, RepairChange, open_store
from tieout.model.differences import Difference
from tieout.model.documents import request_document
from tieout.model.keys import EVERYTHING
from tieout.model.repair import RepairResult, RepairSummary
from tieout.model.requests import TableRequest, VerifyRequest
from tieout.model.results import VerificationResult
from tieout.repair.from_differences import apply_repair, plan_repair, repair_statements, undo_repair
from tieout.verification.compare import compare_rows
from tieout.verification.localise import shape_of
from tieout.verification.plan import TablePlan
from tieout.verification.plan_tables import plan_tables
from tieout.verification.rows import read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AnyDatabase(Protocol):
    @property
    def url(self) -> str: ...

    def execute(self, sql: str, *params: Any) -> None: ...

    def executemany(self, sql: str, rows: Any) -> None: ...

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]: ...

    def connect(self) -> AbstractContextManager[Any]: ...


@dataclass(frozen=True)
class Pair:
    """`spark` None: nothing is verified, `compare` alone finds differences."""

    source: AnyDatabase
    target: AnyDatabase
    meta: str
    spark: SparkSession | None = None

    @classmethod
    def of(cls, source: AnyDatabase, target: AnyDatabase, directory: Path, spark: SparkSession | None = None) -> Pair:
        return cls(source, target, f"sqlite:///{directory}/meta.db", spark)

    @property
    def urls(self) -> tuple[EndpointUrl, EndpointUrl]:
        return parse_url(self.source.url), parse_url(self.target.url)

    def both(self, sql: str) -> None:
        self.source.execute(sql)
        self.target.execute(sql)

    def verify(self, *tables: Any, **options: Any) -> VerificationResult:
        options = {"recheck_after": 0.0, "recheck_times": 0, **options}
        return api.verify(self.source.url, self.target.url, tables, spark=self.spark, meta=self.meta, **options)

    def compare(self, *tables: str | TableRequest, keep: int | None = None, **of_task: Any) -> set[Any]:
        """A verification's job for small tables, done in this process; `keep` lists only some differences of each.
        `of_task`: the other fields of a request.
        """
        requests = tuple(TableRequest(table) if isinstance(table, str) else table for table in tables)
        request = VerifyRequest(self.source.url, self.target.url, requests, **of_task)
        shown = self.urls[0].redacted(), self.urls[1].redacted()
        with ExitStack() as stack:
            store = stack.enter_context(self.store())
            endpoints = [stack.enter_context(closing(open_endpoint(url))) for url in self.urls]
            planned = plan_tables(*endpoints, request)
            document = request_document(request, shown)
            job = store.jobs.create(JobKind.VERIFICATION, source=shown[0], target=shown[1], request=document)
            store.tables.add(job.id, [(str(table.pair.source), str(table.pair.target)) for table in planned])
            results = []
            differences: list[Difference] = []
            for ordinal, table in enumerate(planned):
                assert table.plan is not None
                of_table = list(_compared(table.plan))
                store.ranges.plan(job.id, ordinal, [EVERYTHING])
                store.differences.append(job.id, ordinal, 0, of_table[:keep])
                counts = {"all": sum(difference.copies for difference in of_table)}
                results.append({"source_table": table.plan.name, "target_table": None, "differences": counts})
                differences += of_table
            store.jobs.finish(job.id, verdict="different" if differences else "equal", result={"tables": results})
        return told(differences)

    def plan(self, job: str = "last", **options: Any) -> RepairSummary:
        with self.store() as store:
            return plan_repair(store, job, *self.urls, **options)

    def apply(self, plan: str = "last", **options: Any) -> RepairResult:
        with self.store() as store:
            return apply_repair(store, plan, *self.urls, **options)

    def undo(self, plan: str = "last", **options: Any) -> RepairResult:
        with self.store() as store:
            return undo_repair(store, plan, *self.urls, **options)

    def statements(self, plan: str = "last") -> str:
        out = StringIO()
        with self.store() as store:
            repair_statements(store, plan, *self.urls, out)
        return out.getvalue()

    def changes(self, plan: str = "last") -> tuple[RepairChange, ...]:
        with self.store() as store:
            return tuple(store.repairs.changes(store.repairs.get(plan).id))

    @contextmanager
    def store(self) -> Iterator[MetaStore]:
        with open_store(self.meta) as store:
            yield store


def _compared(plan: TablePlan) -> Iterator[Difference]:
    source, target = (read_rows(side.reader, side.scan, EVERYTHING) for side in (plan.source, plan.target))
    return compare_rows(shape_of(plan), source, target).differences()


def found(result: VerificationResult) -> set[Any]:
    return told(result.differences)


def told(differences: Iterable[Difference]) -> set[Any]:
    """Differences as something that can be compared."""
    return {
        (d.table, d.kind, tuple(d.key.items()), tuple((n, v.source, v.target) for n, v in d.columns.items()))
        for d in differences
    }
