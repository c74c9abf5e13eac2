"""The count stage: how many rows each side has, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from tieout.model.digests import Digest
from tieout.runtime.dispatch import deal
from tieout.verification.framejobs import count_work, run_mixed
from tieout.verification.tablerun import TableRun
from tieout.verification.waves import Slots


class CountStage:
    def __init__(self, spark: SparkSession, slots: Slots) -> None:
        self._spark = spark
        self._slots = slots

    def run(self, runs: Sequence[TableRun]) -> None:
        """Leaves in each run the number of rows of both sides, and a note if they are not the same."""
        source = deal([(run, count_work(run.plan.source)) for run in runs], self._slots.source)
        target = deal([(run, count_work(run.plan.target)) for run in runs], self._slots.target)
        parts = [*source, *target]
        outcomes = run_mixed(self._spark, [[work for _, work in part] for part in parts])
        for number, (part, results) in enumerate(zip(parts, outcomes, strict=True)):
            for (run, _), outcome in zip(part, results, strict=True):
                if outcome.error is not None:
                    run.fail(outcome.error)
                elif number < len(source):
                    run.source = Digest(outcome.only())
                else:
                    run.target = Digest(outcome.only())
