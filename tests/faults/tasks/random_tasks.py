"""Tasks at random: tables, routes, filters, expressions, levels and kills, drawn by Hypothesis.

The pair and the delivery of a task follow from its number, so that each comes with each.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.faults.kills.movers import Kill
from tests.faults.kills.places import PAIRS
from tests.faults.moving.cases import IN_LANES, PLACES, is_reached
from tests.faults.tasks import values
from tests.faults.tasks.expressions import CONDITION, DECIMAL, INT, TEXT, Expression, coalesced, literal
from tests.faults.tasks.random_expressions import computations, conditions, shards
from tests.faults.tasks.task import ORIGIN, STAMP, Column, Entry, Task

DELIVERIES = ("exactly-once", "at-least-once", "exactly-once", "at-most-once", "exactly-once", "at-least-once")
_EXAMPLES = 12
"""Hypothesis begins with small ones."""
_NAMES = ("a", "b", "qty", "Region", "select", "Größe", "a b")
_KINDS = ("int", "decimal", "text", "text", "flag", "day", "at", "big", "instant", "raw", "long")
_COLLATIONS = ("utf8mb4_general_ci", "utf8mb4_nopad_bin", "utf8mb4_bin", "utf8mb4_unicode_ci")


def task_of(number: int) -> Task:
    """The same task for the same number."""
    found: list[Task] = []

    @settings(
        max_examples=_EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(number)
    @given(tasks(number))
    def draw(task: Task) -> None:
        found.append(task)

    draw()
    return found[-1]


@st.composite
def tasks(draw: st.DrawFn, number: int) -> Task:
    pair = tuple(PAIRS)[number % len(PAIRS)]
    delivery = DELIVERIES[number // len(PAIRS) % len(DELIVERIES)]
    chance = random.Random(number)
    consistency, level = chance.choice(_LEVELS[delivery])
    count = draw(st.integers(2, 3))
    return Task(
        f"task-{number}",
        number,
        pair,
        delivery,
        draw(_entries(pair, delivery)),
        tuple(_kill(chance, pair, delivery, consistency, first=kill == 0) for kill in range(count)),
        consistency,
        level,
        draw(st.sampled_from((20, 50, 200))),
        draw(st.sampled_from((2_000, 10_000, 100_000))),
        draw(st.sampled_from((1, 2, 4))),
        draw(st.booleans()),
    )


_LATER = ("while-finishing", "after-copy", "after-switch", "while-planning")
"""Places where nothing is half done, or that no mover reaches here."""


_SHOWS = {"exactly-once": "before-commit", "at-least-once": "after-merge", "at-most-once": "before-commit"}
"""Where a kill tells a delivery from the others."""


def _kill(chance: random.Random, pair: str, delivery: str, consistency: str, *, first: bool) -> Kill:
    """At any moment, once the mover follows the log, or at a place where rows are on their way."""
    workers, what = chance.random() < 0.3, chance.random()
    if what < 0.15:
        return Kill(chance.uniform(0.5, 4.0), workers=workers)
    if what < 0.3:
        return Kill(chance.uniform(0.0, 2.5), following=True, workers=workers)
    if what < 0.35:
        return Kill(chance.uniform(1.0, 4.0), following=True, workers=workers, cut=chance.choice(("source", "target")))
    places = [place for place in PLACES if place not in _LATER and is_reached(place, delivery, pair)]
    if not first:
        places = [place for place in places if not place.startswith("chunk-")]
    if consistency != "transaction":
        places += IN_LANES
    if chance.random() < 0.5:
        places = [_SHOWS[delivery]]
    place = chance.choice(places)
    delay = chance.uniform(0.0, 0.3) if chance.random() < 0.3 else None
    return Kill(5.0, place=place, times=chance.choice((1, 1, 2, 3)), delay=delay, workers=workers)


_KEYS: tuple[tuple[Column, ...], ...] = (
    (Column("id", "int"),),
    (Column("name", "text"),),
    (Column("name", "text"), Column("part", "int")),
    (Column("day", "day"), Column("part", "int")),
    (),
)

_LEVELS: dict[str, list[tuple[str, str | None]]] = {
    "exactly-once": [
        ("transaction", None),
        ("transaction", "transaction"),
        ("table", None),
        ("table", "logical-clock"),
        ("row", None),
        ("row", "logical-clock"),
    ],
    "at-least-once": [("transaction", None), ("table", "logical-clock"), ("row", "unique-key"), ("row", "primitive")],
    "at-most-once": [("transaction", None), ("table", None), ("row", "logical-clock")],
}
"""Consistencies, and what a task relies on of its target."""


@st.composite
def _entries(draw: st.DrawFn, pair: str, delivery: str) -> tuple[Entry, ...]:
    left, entries = draw(st.integers(1, 4)), []
    while left > 0:
        merged = draw(st.integers(2, left)) if left > 1 and draw(st.booleans()) else 1
        entries.append(draw(_entry(pair, delivery, len(entries), merged)))
        left -= merged
    return tuple(entries)


@st.composite
def _entry(draw: st.DrawFn, pair: str, delivery: str, number: int, merged: int) -> Entry:
    source, _, target = pair.partition("-")
    # A batch that is applied again shows only where there is no key.
    columns, key = draw(_columns(source, keyed=delivery != "at-least-once" or number > 0))
    base = f"t{number}"
    entry = Entry(
        tuple(f"{base}_{part + 1}" for part in range(merged)) if merged > 1 else (base,),
        columns,
        key,
        f"{base}_all" if merged > 1 else draw(st.sampled_from((base, f"{base}_renamed"))),
        full=draw(st.booleans()),
        collation=draw(st.sampled_from(_COLLATIONS)) if source == "mariadb" else "utf8mb4_nopad_bin",
        rows=draw(st.sampled_from((80, 40, 150, 80, 40, 150, 0))),
        exists=draw(st.booleans()),
    )
    needed = {*key, *((STAMP,) if not key and delivery != "exactly-once" else ())}
    return draw(_shaped(entry, target, frozenset(needed)))


@st.composite
def _columns(draw: st.DrawFn, engine: str, *, keyed: bool) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Columns and key. One column is the stamp, by which a judge knows rows."""
    kinds = [kind for kind in _KINDS if not (engine == "sqlite" and kind == "instant")]
    key = draw(st.sampled_from(_KEYS)) if keyed else ()
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=5, unique=True))
    first = draw(st.sampled_from(("int", "decimal", "text")))
    others = [Column(name, first if not n else draw(st.sampled_from(kinds))) for n, name in enumerate(names)]
    found = [*key, *others]
    found.insert(draw(st.integers(0, len(found))), Column(STAMP, "int"))
    return tuple(found), tuple(column.name for column in key)


@st.composite
def _shaped(draw: st.DrawFn, entry: Entry, target: str, needed: frozenset[str]) -> Entry:
    """What the task makes of the rows of a table. `needed` are columns that the target gets unchanged."""
    merged = len(entry.tables) > 1
    how = "computed" if merged else draw(st.sampled_from(("all", "chosen", "computed", "computed")))
    if how == "computed":
        entry = draw(_computed(entry, needed))
        # Tieout chooses columns of a file of SQLite that it creates, and computes none.
        entry = replace(entry, exists=entry.exists or target == "sqlite")
    elif how == "chosen":
        names = [column.name for column in entry.columns]
        chosen = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        entry = replace(entry, chosen=tuple(name for name in names if name in needed.union(chosen)))
    if draw(st.sampled_from((True, True, True, False))):
        where = draw(conditions(entry.columns).filter(_telling(entry, _parts)))
        entry = replace(entry, where=where)
    transformed = entry.where is not None or bool(entry.computed)
    # PostgreSQL's log lacks long values that did not change.
    full = entry.full or (transformed and any(column.kind == "long" for column in entry.columns))
    return replace(entry, full=full)


@st.composite
def _computed(draw: st.DrawFn, entry: Entry, needed: frozenset[str]) -> Entry:
    free = [column.name for column in entry.columns if column.name not in needed]
    least = 0 if len(entry.tables) > 1 else 1
    names = draw(st.lists(st.sampled_from(("c1", "Total", "c 3", *free)), min_size=least, max_size=3, unique=True))
    several = _telling(entry, lambda found: len(set(found)) > 1)
    computed = {name: _held(entry, draw(computations(entry.columns).filter(several))) for name in names}
    if len(entry.tables) > 1:
        entry = replace(entry, shard="shard")
        computed["shard"] = draw(shards())
    excluded = draw(st.lists(st.sampled_from(free), unique=True, max_size=2)) if free else []
    return replace(entry, computed=computed, excluded=tuple(name for name in excluded if name not in computed))


_NO_NULL = {INT: 0, DECIMAL: Decimal("0.00"), TEXT: "none", CONDITION: False}


def _held(entry: Entry, expression: Expression) -> Expression:
    """What is computed of a key and of a table's name is of the key, if Tieout creates the table: it can't be NULL."""
    of_key = expression.names & ORIGIN and expression.names <= {*entry.key, *ORIGIN}
    if entry.exists or not entry.key or not of_key:
        return expression
    return coalesced([expression, literal(_NO_NULL[expression.kind], expression.kind)])


def _telling(entry: Entry, holds: Callable[[list[Any]], bool]) -> Callable[[Expression], bool]:
    """Whether an expression makes a difference on rows as a writer writes them."""
    chance = random.Random(0)
    rows = [
        {
            **values.row(chance, entry.columns, entry.key, STAMP),
            STAMP: number,
            "_schema": "x",
            "_table": entry.tables[0],
        }
        for number in range(60)
    ]
    return lambda expression: holds([expression.of(row) for row in rows])


def _parts(found: list[Any]) -> bool:
    """Rows come in, and rows stay out."""
    return 10 <= sum(each is True for each in found) <= 50
