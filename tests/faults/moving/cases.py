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

    def __str__(self) -> str:
        return f"{self.pair}-{self.delivery}-{self.place}"


def is_reached(place: str, delivery: str, pair: str) -> bool:
    if place == "log-rotation":
        # PostgreSQL tells nobody of its log's files, and SQLite keeps none: triggers write its changes to a table.
        return pair.startswith("mariadb")
    # Under the others, progress is of one transaction with the rows: no batch is ever applied again.
    return place != "after-batch-planned" or delivery == "at-least-once"


ALL = [
    Case(pair, delivery, place, times, seed)
    for seed, (place, times) in enumerate(PLACES.items())
    for delivery in DELIVERIES
    for pair in PAIRS
    if is_reached(place, delivery, pair)
]

FEW = [
    case
    for case in ALL
    if (case.pair, case.delivery, case.place)
    in {
        ("mariadb-postgres", "exactly-once", "before-commit"),
        ("postgres-mariadb", "exactly-once", "chunk-after-commit"),
        ("mariadb-mariadb", "at-least-once", "log-rotation"),
        ("postgres-postgres", "at-most-once", "answer-lost"),
        ("sqlite-sqlite", "at-least-once", "after-batch-planned"),
    }
]
"""Each pair once, and each delivery."""
