"""Pairs of databases: each equal, with three rows and with one row in a hundred that differ."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from benchmarks import ours, peer
from benchmarks.databases import Databases, Pair, load_all, settle
from benchmarks.peer import Peer
from benchmarks.settings import Settings
from benchmarks.sheet import Sheet, Timed
from benchmarks.states import NAMES, State, states
from tests.servers.server import Database

FRESH = "with-start"


@dataclass(frozen=True, slots=True)
class Variant:
    """A way of ours to verify a pair. The bar is for equal tables on a warm session."""

    name: str
    bits: int
    bar: float

    def case(self, state: str) -> str:
        return f"{self.name}/{state}"


@dataclass(frozen=True, slots=True)
class Subject:
    """A pair of databases; the peer runs once for all our variants, the first of which is started fresh too."""

    pair: Callable[[Databases], Pair]
    variants: tuple[Variant, ...]

    def cases(self, state: str) -> list[str]:
        return [*(variant.case(state) for variant in self.variants), self.fresh_case(state)]

    def fresh_case(self, state: str) -> str:
        return f"{self.variants[0].case(state)}/{FRESH}"


SUBJECTS = (
    Subject(lambda d: d.postgres, (Variant("postgres-64", 64, 0.33), Variant("postgres-128", 128, 0.5))),
    Subject(lambda d: d.mariadb, (Variant("mariadb", 64, 0.4),)),
    Subject(lambda d: d.across, (Variant("mariadb-postgres", 64, 0.5),)),
)


def wanted(settings: Settings) -> list[Subject]:
    return [s for s in SUBJECTS if any(settings.wants(case) for state in NAMES for case in s.cases(state))]


@dataclass(frozen=True)
class PairCases:
    settings: Settings
    sheet: Sheet
    spark: SparkSession
    databases: Databases
    scratch: Path

    def run(self, subjects: Sequence[Subject], rows: pl.DataFrame) -> None:
        chosen = [subject.pair(self.databases) for subject in subjects]
        load_all([end for pair in chosen for end in (pair.source, pair.target)], rows, self.scratch)
        with peer.warm_peer() as warm:
            for state in states(rows):
                now = [s for s in subjects if any(map(self.settings.wants, s.cases(state.name)))]
                with _in_state(state, {s.pair(self.databases).target for s in now}):
                    for subject in now:
                        with self.sheet.case(subject.variants[0].case(state.name)):
                            self._warm(subject, state, warm)
                            self._fresh(subject, state)

    def _warm(self, subject: Subject, state: State, warm: Peer) -> None:
        """Ours and theirs in turn, so that what else the machine does hits both."""
        pair = subject.pair(self.databases)
        variants = [v for v in subject.variants if self.settings.wants(v.case(state.name))]
        timed: dict[str, list[Timed]] = {variant.name: [] for variant in variants}
        theirs: list[Timed] = []
        for _ in range(self.settings.runs if variants else 0):
            for variant in variants:
                timed[variant.name].append(ours.verify(self.spark, pair, variant.bits, state, self.scratch))
            theirs.append(warm.diff(pair, state))
        for variant in variants:
            bar = variant.bar if state.name == "equal" else None
            self.sheet.add_best(variant.case(state.name), timed[variant.name], peer.NAME, theirs, bar)

    def _fresh(self, subject: Subject, state: State) -> None:
        case, pair = subject.fresh_case(state.name), subject.pair(self.databases)
        if self.settings.wants(case):
            mine = ours.verify_fresh(pair, subject.variants[0].bits, state, self.scratch)
            self.sheet.add_best(case, [mine], peer.NAME, [peer.diff_fresh(pair, state)])


@contextmanager
def _in_state(state: State, targets: Collection[Database]) -> Iterator[None]:
    """The targets differ in the block, and are equal again after it."""
    _apply(state.make, targets)
    try:
        yield
    finally:
        _apply(state.undo, targets)


def _apply(statements: Sequence[str], targets: Collection[Database]) -> None:
    for target in targets:
        for statement in statements:
            target.execute(statement)
        if statements:
            settle(target)
