"""The whole of `make bench-move`."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.databases import load_all
from benchmarks.decoding import measured
from benchmarks.moving.copying import copy
from benchmarks.moving.following import follow
from benchmarks.moving.lag import lag
from benchmarks.moving.levels import far_levels, levels
from benchmarks.moving.subjects import add_indexes, subjects
from benchmarks.ours import start_warm_session
from benchmarks.rows import make_rows
from benchmarks.settings import settings_from
from benchmarks.sheet import Measurement, Sheet


def run(results: Path) -> int:
    """Measures, prints and keeps. 0 whatever was found; 1 if a case could not be run to its end."""
    sheet = Sheet()
    try:
        with ExitStack() as stack:
            _measure(sheet, stack)
    finally:  # what was measured is not lost to what went wrong later
        sheet.keep(results)
        print()
        sheet.show()
    print(f"\nSeconds, best of several; all on one machine of {os.cpu_count()} cores. Kept in {results}")
    return 1 if sheet.crashed else 0


def _measure(sheet: Sheet, stack: ExitStack) -> None:
    settings = settings_from()
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tieout-bench-")))
    found = stack.enter_context(subjects())
    spark = start_warm_session()
    stack.callback(spark.stop)
    wanted = [subject for subject in found.values() if settings.wants(f"copy/{subject.name}")]
    if wanted:
        rows = make_rows(settings.rows)
        sources = dict.fromkeys(subject.source for subject in wanted)
        load_all(sources, rows, scratch)
        for source in sources:
            add_indexes(source)
        for subject in wanted:
            with sheet.case(f"copy/{subject.name}"):
                copy(sheet, subject, spark, scratch, settings.runs)
    changes = int(os.environ.get("CHANGES") or 1_000_000)
    for name in ("mariadb", "postgres"):
        if settings.wants(f"follow/{name}"):
            with sheet.case(f"follow/{name}"):
                follow(sheet, found[name], spark, scratch, changes, settings.runs)
        if settings.wants(f"lag/{name}"):
            with sheet.case(f"lag/{name}"):
                lag(sheet, found[name], spark, scratch)
    for name in found:
        if settings.wants(f"levels/{name}"):
            with sheet.case(f"levels/{name}"):
                levels(sheet, found[name], spark, scratch, changes // 2, settings.runs)
        if settings.wants(f"levels/{name}-far"):
            with sheet.case(f"levels/{name}-far"):
                far_levels(sheet, found[name], spark, scratch, changes // 2, settings.runs)
    if settings.wants("decoding"):
        with sheet.case("decoding"):
            decode(sheet, changes // 5)


def decode(sheet: Sheet, rows: int) -> None:
    """Seconds for a million rows; ours are to be a quarter of theirs."""
    ours, theirs = measured(rows)
    sheet.add(Measurement("decoding/1,000,000 rows", 1e6 / ours, "mysql-replication", 1e6 / theirs, 0.25))
