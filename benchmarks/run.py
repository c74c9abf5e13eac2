"""The whole of `make bench-verify`: what runs, in which order, and against which bar."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from benchmarks import frames, ours, peer
from benchmarks.databases import Databases, Pair, load, servers, settle
from benchmarks.memory import peak_memory
from benchmarks.ours import Timed
from benchmarks.peer import Peer
from benchmarks.rows import make_rows, write_parquet, write_text
from benchmarks.settings import Settings
from benchmarks.states import State, states
from benchmarks.table import Measurement, keep, show

_FRESH = "with-start"
_MEMORY_BAR = 1.10
_COMPARE_BAR = 0.2


@dataclass(frozen=True, slots=True)
class Variant:
    """A way of ours to verify a pair; the bar holds for equal tables on a warm session."""

    name: str
    bits: int
    bar: float


@dataclass(frozen=True, slots=True)
class Subject:
    """A pair of databases: the peer runs once for all our variants."""

    pair: Callable[[Databases], Pair]
    variants: tuple[Variant, ...]


_SUBJECTS = (
    Subject(lambda d: d.postgres, (Variant("postgres-64", 64, 0.33), Variant("postgres-128", 128, 0.5))),
    Subject(lambda d: d.mariadb, (Variant("mariadb", 64, 0.4),)),
    Subject(lambda d: d.across, (Variant("mariadb-postgres", 64, 0.5),)),
)


def run(settings: Settings, results: Path) -> int:
    """Measures, prints and keeps. 0 whatever was found; 1 if a case could not be run to its end."""
    bench = Benchmark(settings)
    with ExitStack() as stack:
        bench.scratch = Path(tempfile.mkdtemp(prefix="tieout-bench-"))
        stack.callback(shutil.rmtree, bench.scratch, ignore_errors=True)
        bench.measure(stack)
    print()
    show(bench.measured)
    keep(bench.measured, results)
    for line in bench.notes():
        print(line)
    print(f"Kept in {results}")
    return 1 if bench.crashed else 0


class Benchmark:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.measured: list[Measurement] = []
        self.crashed = False
        self.scratch = Path()

    def measure(self, stack: ExitStack) -> None:
        names = [name for subject in _SUBJECTS for name in _names(subject)]
        databases = None
        if any(map(self.settings.wants, [*names, "memory"])):
            databases = stack.enter_context(servers())
        if databases and self.settings.wants("memory"):
            with self._case("memory"):
                self._memory(databases)
        if any(map(self.settings.wants, [*names, "compare"])):
            _say(f"making {self.settings.rows:,} rows")
            rows = make_rows(self.settings.rows)
            spark = ours.start_warm_session()
            stack.callback(spark.stop)
            if databases and any(map(self.settings.wants, names)):
                self._pairs(databases, spark, rows)
            if self.settings.wants("compare"):
                with self._case("compare"):
                    self._compare(spark, rows)

    def _pairs(self, databases: Databases, spark: SparkSession, rows: pl.DataFrame) -> None:
        wanted = [s for s in _SUBJECTS if any(map(self.settings.wants, _names(s)))]
        self._load(databases, [end for s in wanted for end in _ends(s.pair(databases))], rows)
        with peer.warm_peer() as warm:
            for state in states(rows):
                with _target_in(state, [s.pair(databases).target for s in wanted]):
                    for subject in wanted:
                        with self._case(f"{subject.variants[0].name}/{state.name}"):
                            self._pair(subject, subject.pair(databases), state, spark, warm)

    def _load(self, databases: Databases, ends: Sequence[object], rows: pl.DataFrame) -> None:
        file = self.scratch / "rows.tsv"
        write_text(rows, file)
        every = (databases.mariadb.source, databases.mariadb.target, databases.postgres.source, databases.postgres.target)
        for end in every:
            if end in ends:
                _say(f"loading {len(rows):,} rows into {end.server.scheme}")
                load(end, file)
        file.unlink()

    def _pair(self, subject: Subject, pair: Pair, state: State, spark: SparkSession, warm: Peer) -> None:
        variants = [v for v in subject.variants if self.settings.wants(f"{v.name}/{state.name}")]
        timed: dict[str, list[Timed]] = {v.name: [] for v in variants}
        theirs: list[Timed] = []
        for number in range(self.settings.runs if variants else 0):
            _say(f"{', '.join(timed)}: {state.name}, run {number + 1} of {self.settings.runs}")
            for variant in variants:
                timed[variant.name].append(ours.verify(spark, pair, variant.bits, state, self.scratch))
            theirs.append(warm.diff(pair, state))
        for variant in variants:
            bar = variant.bar if state.name == "equal" else None
            self._add(f"{variant.name}/{state.name}", timed[variant.name], peer.NAME, theirs, bar)
        self._fresh(subject, pair, state)

    def _fresh(self, subject: Subject, pair: Pair, state: State) -> None:
        cases = {f"{variant.name}/{state.name}/{_FRESH}": variant for variant in subject.variants}
        cases = {case: variant for case, variant in cases.items() if self.settings.wants(case)}
        if cases:
            theirs = [peer.diff_fresh(pair, state)]
        for case, variant in cases.items():
            _say(case)
            self._add(case, [ours.verify_fresh(pair, variant.bits, state, self.scratch)], peer.NAME, theirs)

    def _compare(self, spark: SparkSession, rows: pl.DataFrame) -> None:
        directories = self.scratch / "a.parquet", self.scratch / "b.parquet"
        write_parquet(rows, directories)
        mine: list[Timed] = []
        theirs: list[Timed] = []
        try:
            for number in range(self.settings.runs):
                _say(f"compare: run {number + 1} of {self.settings.runs}")
                mine.append(frames.compare(spark, directories))
                theirs.append(frames.except_all(spark, directories))
        except frames.NotThereYet as missing:
            wrong = str(missing)
            self.measured.append(Measurement("compare", None, frames.PEER, None, _COMPARE_BAR, wrong=wrong))
            return
        self._add("compare", mine, frames.PEER, theirs, _COMPARE_BAR)

    def _memory(self, databases: Databases) -> None:
        """Rows pulled from both sides: what takes the most memory of ours."""
        peaks, wrongs = [], []
        for count in self.settings.memory_rows:
            rows = make_rows(count)
            self._load(databases, _ends_of(databases.across), rows)
            _say(f"memory: {count:,} rows")
            peak, wrong = peak_memory(databases.across, states(rows)[0], self.scratch)
            peaks.append(peak)
            wrongs.append(wrong)
        small, large = self.settings.memory_rows
        self.measured.append(
            Measurement(
                f"memory/{large}-rows",
                peaks[1],
                f"ours at {small:,} rows",
                peaks[0],
                _MEMORY_BAR,
                "MB",
                next(filter(None, wrongs), None),
            )
        )

    def _add(
        self, case: str, mine: Sequence[Timed], name: str, theirs: Sequence[Timed], bar: float | None = None
    ) -> None:
        wrong = next((t.wrong for t in (*mine, *theirs) if t.wrong), None)
        best = min(t.seconds for t in mine), min(t.seconds for t in theirs)
        self.measured.append(Measurement(case, best[0], name, best[1], bar, wrong=wrong))

    @contextmanager
    def _case(self, name: str) -> Iterator[None]:
        """One case that fails does not take the others with it."""
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            self.crashed = True
            wrong = f"could not be run: {type(error).__name__}: {error}"
            self.measured.append(Measurement(name, None, "–", None, wrong=wrong))

    def notes(self) -> Iterator[str]:
        settings = self.settings
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
        yield ""
        yield f"{settings.rows:,} rows of 8 columns, best of {settings.runs}; servers, Spark and peers share one"
        yield f"machine of {os.cpu_count()} cores and {memory:.0f} GB ({platform.platform(terse=True)})."
        yield "Both sides are loaded from one file. Ours: tieout.verify on a session that has run one query on a"
        yield f"Python source; {_FRESH}: the command, from nothing to its exit, once, beside a fresh process of"
        yield f"the peer. {peer.NAME}: hashdiff with its default bisection, {peer.THREADS} thread(s) for each"
        yield "database, connections open and modules imported before its time begins."
        yield f"{peer.NAME} compares doubles to 6 decimals where MySQL takes part (to 13 between two PostgreSQL);"
        yield "Tieout compares every bit of them, everywhere."
        yield "Memory: resident pages of driver, JVM and Python workers, MariaDB to PostgreSQL, equal; no server's."


def _names(subject: Subject) -> list[str]:
    """Every case of a subject."""
    kinds = [f"{variant.name}/{state}" for variant in subject.variants for state in _STATE_NAMES]
    return [*kinds, *(f"{kind}/{_FRESH}" for kind in kinds)]


_STATE_NAMES = ("equal", "three-rows", "one-percent")


def _ends(subject_pair: Pair) -> tuple[object, object]:
    return subject_pair.source, subject_pair.target


_ends_of = _ends


@contextmanager
def _target_in(state: State, targets: Sequence[object]) -> Iterator[None]:
    yield


def _say(text: str) -> None:
    print(f"… {text}", flush=True)
