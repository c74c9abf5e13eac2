"""The demo from end to end: it moves a database, damages the copy, finds and repairs each fault, and verifies again."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tieout import api
from tieout.demo.faults import Fault, inject_faults, trace
from tieout.demo.shop import create_shop, selling
from tieout.exit_codes import ExitCode
from tieout.model.move_status import MoveStatus
from tieout.model.moves import Delivery
from tieout.model.requests import MoveRequest, VerifyRequest
from tieout.model.results import Verdict, VerificationResult
from tieout.report.render import OutputFormat, render
from tieout.report.text import counts_text
from tieout.spark.session import start_session
from tieout.wording import duration, plural

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WriteLine = Callable[[str], None]

# A JVM that ends within a minute is faster with half the compiler: 15 seconds of processor time instead of 31.
_SHORT_RUN = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@dataclass(frozen=True, slots=True)
class FoundFault:
    fault: Fault
    found: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """The result of a move: rows copied, and changes made meanwhile and followed."""

    rows: int
    changes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The result of the demo. `unexpected` counts differences that no fault explains."""

    moved: Moved
    faults: tuple[FoundFault, ...]
    unexpected: int
    equal_before: bool
    repaired: int
    equal_after: bool
    report: Path
    seconds: float

    @property
    def succeeded(self) -> bool:
        """Whether each fault was found, nothing else was, and the two databases are equal in the end."""
        every = bool(self.faults) and all(each.found for each in self.faults)
        return self.equal_before and every and not self.unexpected and self.equal_after

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of_work(found=not self.succeeded)


@dataclass(frozen=True)
class Stage:
    """The two databases and their meta store, in one directory, and the Spark session that moves and compares them."""

    directory: Path
    spark: SparkSession

    @property
    def source(self) -> str:
        return f"sqlite:///{self.directory / 'source.db'}"

    @property
    def target(self) -> str:
        return f"sqlite:///{self.directory / 'target.db'}"

    @property
    def meta(self) -> str:
        return f"sqlite:///{self.directory / 'meta.db'}"

    def move(self) -> Moved:
        """Copies all tables while the shop goes on selling, and follows what it sold meanwhile."""
        began = time.monotonic()
        request = MoveRequest("demo", self.source, self.target, delivery=Delivery.EXACTLY_ONCE)
        with selling(self.directory / "source.db") as close:

            def close_when_copied(status: MoveStatus) -> None:
                if status.is_copied:
                    close()

            status = api.run_move(
                request, spark=self.spark, meta=self.meta, listener=close_when_copied, until_caught_up=True
            )
        api.drop_move(request, self.meta)
        return Moved(status.rows_copied, status.changes, time.monotonic() - began)

    def verify(self) -> VerificationResult:
        return api.run_verification(VerifyRequest(self.source, self.target), spark=self.spark, meta=self.meta)


def run_demo(directory: Path, report: Path, write_line: WriteLine, spark: api.SparkSettings) -> DemoResult:
    """Runs the demo in an empty directory and calls `write_line` with each line of the story."""
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        # Spark takes seconds to start: create the databases meanwhile.
        session = pool.submit(start_session, spark.master, {**_SHORT_RUN, **spark.conf}, verbose=spark.verbose)
        rows = create_shop(directory / "source.db")
        (directory / "target.db").touch()
        write_line(f"A shop in an SQLite file, {plural(rows, 'row')} in 5 tables, and an empty file to move it to.")
        write_line(f"  source {directory / 'source.db'}\n  target {directory / 'target.db'}\n")
        stage = Stage(directory, session.result())
    moved = stage.move()
    write_line(_moved("1. Move, while the shop goes on selling", moved))
    before = stage.verify()
    write_line(f"\n{_verified('2. Verify', before)}")

    faults = inject_faults(directory / "target.db")
    write_line(f"\n3. Damage the target: {len(faults)} faults as they happen in practice")
    for fault in faults:
        write_line(f"   {fault.name}: {fault.story}")

    damaged = stage.verify()
    write_line(f"\n{_verified('4. Verify again', damaged)}")
    found, unexpected = missed_and_found(faults, damaged)
    for each in found:
        write_line(f"   {'✓' if each.found else '✗'} {each.fault.name} {'found' if each.found else 'NOT FOUND'}")
    if unexpected:
        write_line(f"   ✗ {plural(unexpected, 'difference')} that no fault explains")
    report.write_text(render(damaged, OutputFormat.HTML), encoding="utf-8")

    repaired = _repair(stage, damaged.job, write_line)
    after = stage.verify()
    write_line(f"\n{_verified('6. Verify once more', after)}")
    return DemoResult(
        moved,
        found,
        unexpected,
        before.verdict is Verdict.EQUAL,
        repaired,
        after.verdict is Verdict.EQUAL,
        report,
        time.monotonic() - began,
    )


def _moved(title: str, moved: Moved) -> str:
    changes = f"{plural(moved.changes, 'change')} made meanwhile and followed"
    return f"{title}: {plural(moved.rows, 'row')} copied, {changes}, in {duration(moved.seconds)}"


def _verified(title: str, result: VerificationResult) -> str:
    counts = sum((table.differences for table in result.tables[1:]), result.tables[0].differences)
    found = f" ({counts_text(counts)})" if counts else ""
    rows = sum(table.rows.source or 0 for table in result.tables)
    return f"{title}: {result.verdict}{found}; {plural(rows, 'row')} a side in {duration(result.seconds)}"


def missed_and_found(faults: list[Fault], result: VerificationResult) -> tuple[tuple[FoundFault, ...], int]:
    """Each fault with whether all its differences were found, and how many differences are left over."""
    seen = {trace(difference) for difference in result.differences}
    expected = frozenset[object]().union(*(fault.traces for fault in faults))
    return tuple(FoundFault(fault, fault.traces <= seen) for fault in faults), len(seen - expected)


def _repair(stage: Stage, job: str, write_line: WriteLine) -> int:
    plan = api.plan_repair(job, stage.source, stage.target, meta=stage.meta)
    write_line(
        f"\n5. Repair: {plan.inserts} to insert, {plan.updates} to update, {plan.deletes} to delete (plan {plan.plan})"
    )
    done = api.apply_repair(plan.plan, stage.source, stage.target, meta=stage.meta)
    write_line(f"   {plural(done.done, 'row')} changed, each rechecked first; the old rows are kept for undo")
    return done.done
