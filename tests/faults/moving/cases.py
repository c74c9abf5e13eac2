"""At which places movers are killed, and how their task is set."""

from __future__ import annotations

from dataclasses import dataclass

from tests.integration.moving.pairs import PAIRS as SERVERS

PAIRS = {**SERVERS, "sqlite-sqlite": ("sqlite_source", "sqlite_target")}
"""By the fixtures that make them. SQLite takes tables of SQLite alone."""

DELIVERIES = ("at-least-once", "at-most-once", "exactly-once")

PLACES = {
    "while-planning": 1,
    "chunk-before-load": 2,
    "chunk-before-commit": 2,
    "chunk-after-commit": 3,
    "after-copy": 1,
    "after-switch": 1,
    "before-read": 2,
    "after-read": 2,
    "after-stage": 2,
    "before-merge": 2,
    "before-commit": 2,
    "after-merge": 2,
    "after-progress": 2,
    "after-source-commit": 3,
    "answer-lost": 6,
    "log-rotation": 1,
    "after-batch-planned": 2,
    "while-finishing": 2,
}
"""Each place, and which time that it is reached: rows are on their way then that others follow."""


@dataclass(frozen=True)
class Case:
    pair: str
    delivery: str
    place: str
    times: int
    seed: int = 1
    batch_bytes: int = 200_000
    consistency: str = "transaction"

    def __str__(self) -> str:
        level = "" if self.consistency == "transaction" else f"-{self.consistency}"
        return f"{self.pair}-{self.delivery}-{self.place}{level}"


def is_reached(place: str, delivery: str, pair: str) -> bool:
    if place == "log-rotation":
        # PostgreSQL tells nobody of its log's files, and SQLite keeps none: triggers write its changes to a table.
        return pair.startswith("mariadb")
    # Under the others, progress is of one transaction with the rows: no batch is ever applied again.
    return place not in ("after-batch-planned", "lane-without-progress") or delivery == "at-least-once"


IN_LANES = {
    "after-stage": 3,
    "before-merge": 3,
    "before-commit": 5,
    "after-lane": 5,
    "after-merge": 4,
    "lane-without-progress": 4,
}
"""Places at which lanes have merged different parts of the log."""

ALL = [
    *(
        Case(pair, delivery, place, times, seed)
        for seed, (place, times) in enumerate(PLACES.items())
        for delivery in DELIVERIES
        for pair in PAIRS
        if is_reached(place, delivery, pair)
    ),
    *(
        Case(pair, delivery, place, times, seed, consistency=consistency)
        for seed, (place, times) in enumerate(IN_LANES.items())
        for delivery in DELIVERIES
        for pair in PAIRS
        for consistency in ("row", "table")
        if is_reached(place, delivery, pair)
    ),
]

FEW = [
    case
    for case in ALL
    if (case.pair, case.delivery, case.place, case.consistency)
    in {
        ("mariadb-postgres", "exactly-once", "before-commit", "transaction"),
        ("postgres-postgres", "at-most-once", "answer-lost", "transaction"),
        ("sqlite-sqlite", "at-least-once", "after-batch-planned", "transaction"),
        ("mariadb-postgres", "exactly-once", "after-lane", "row"),
        ("postgres-mariadb", "exactly-once", "before-commit", "table"),
    }
]
"""Each engine as a source and as a target, each delivery and consistency."""
