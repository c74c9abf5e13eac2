"""The whole of `make bench-verify`: memory, then the pairs, then DataFrames."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import pairs, peer
from benchmarks.databases import servers
from benchmarks.frames import compare_frames
from benchmarks.memory import compare_memory
from benchmarks.ours import start_warm_session
from benchmarks.rows import make_rows
from benchmarks.settings import Settings
from benchmarks.sheet import Sheet


def run(settings: Settings, results: Path) -> int:
    """Measures, prints and keeps. 0 whatever was found; 1 if a case could not be run to its end."""
    sheet = Sheet()
    load = os.getloadavg()[0]
    try:
        with ExitStack() as stack:
            _measure(settings, sheet, stack)
    finally:  # what was measured is not lost to what went wrong later
        sheet.keep(results)
        print()
        sheet.show()
    print()
    for line in _notes(settings, load):
        print(line)
    print(f"Kept in {results}")
    return 1 if sheet.crashed else 0


def _measure(settings: Settings, sheet: Sheet, stack: ExitStack) -> None:
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tieout-bench-")))
    subjects = pairs.wanted(settings)
    memory, compare = settings.wants("memory"), settings.wants("compare")
    databases = stack.enter_context(servers()) if subjects or memory else None
    if databases is not None and memory:  # before there is a JVM of ours beside it
        with sheet.case("memory"):
            sheet.add(compare_memory(settings, databases, scratch))
    if not subjects and not compare:
        return
    rows = make_rows(settings.rows)
    spark = start_warm_session()
    stack.callback(spark.stop)
    if databases is not None and subjects:
        pairs.PairCases(settings, sheet, spark, databases, scratch).run(subjects, rows)
    if compare:
        with sheet.case("compare"):
            compare_frames(settings, sheet, spark, rows, scratch)


def _notes(settings: Settings, load: float) -> Iterator[str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    yield f"Seconds (memory: MB), best of {settings.runs}; {settings.rows:,} rows of 8 columns, loaded from one file;"
    yield f"servers, Spark and peers share one machine of {os.cpu_count()} cores and {memory:.0f} GB,"
    yield f"whose load was {load:.1f} before it began{': others were at work on it' if load > 1 else ''}."
    yield "Ours is tieout.verify on a session that has run one query on a Python source. with-start is the command"
    yield "from nothing to its exit, once, beside a fresh process of the peer."
    yield f"{peer.NAME}: hashdiff with its default bisection, {peer.THREADS} connections to each database; its"
    yield "imports and connections are not timed. Where MySQL takes part it compares doubles to 6 decimals (to 13"
    yield "between two PostgreSQL); Tieout compares every bit, everywhere."
    yield "Memory is the resident pages of driver, JVM and Python workers together; MariaDB to PostgreSQL, equal."
