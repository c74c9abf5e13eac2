"""Verifies what a task has moved, with Tieout: it must say `equal`, and find just the one fault that is planted."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.faults.kills.places import Place
from tests.faults.kills.writer import say
from tests.faults.kills.zygote import table_request
from tests.faults.tasks import values
from tests.faults.tasks.databases import opened, quoted, target_rows, written
from tests.faults.tasks.interpreter import Image
from tests.faults.tasks.play import Played
from tests.faults.tasks.task import Column, Entry
from tieout import api
from tieout.model.requests import Meaning, VerifyOptions, VerifyRequest
from tieout.model.results import TableResult, VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHANGEABLE = ("int", "big", "decimal", "text", "day", "at", "instant")
_FLAGS = ("flag", "condition")
"""Of a table that Tieout creates they are booleans or numbers, as the source has them."""


def verify(outcome: Played, spark: SparkSession) -> VerificationResult:
    request = VerifyRequest(
        outcome.source.url,
        outcome.target.url,
        tuple(map(table_request, outcome.asked["tables"])),
        VerifyOptions(recheck_after=0.05, recheck_times=1, chunk_rows=25),
        outcome.task.name,
        Meaning.MOVED,
    )
    return api.run_verification(request, spark=spark, meta=outcome.asked["meta"])


def verdicts(result: VerificationResult) -> dict[str, str]:
    """By the names of target tables; with the reason of what is not verified."""
    return {
        _name(table): f"{table.verdict.value}{f': {table.reason}' if table.reason else ''}" for table in result.tables
    }


def _name(table: TableResult) -> str:
    return str(table.target_table).rpartition(".")[2]


@dataclass(frozen=True)
class Fault:
    """What was done to a target table, and what a verification has to find: how often each kind of difference, and the
    row's key, if it has one.
    """

    entry: Entry
    words: str
    found: dict[str, int]
    key: dict[str, str] | None


def plant(outcome: Played) -> Fault | None:
    """One fault, in a table that has rows; None if none has."""
    chance = random.Random(outcome.task.seed)
    rows = target_rows(outcome.target, outcome.task)
    entries = [entry for entry in outcome.task.entries if rows[entry.target]]
    if not entries:
        return None
    entry = chance.choice(entries)
    row = chance.choice(sorted(rows[entry.target], key=repr))
    ways = [_deleted, _added, _changed]
    chance.shuffle(ways)
    with closing(opened(outcome.target)) as connection:
        planting = _Planting(outcome.target, connection, entry, row, rows[entry.target], chance)
        return next(fault for way in ways if (fault := way(planting)) is not None)


@dataclass(frozen=True)
class _Planting:
    place: Place
    connection: Any
    entry: Entry
    row: Image
    rows: Counter[Image]
    chance: random.Random

    @property
    def table(self) -> str:
        return quoted(self.place.engine, self.entry.target)

    def key(self, row: Image) -> dict[str, str] | None:
        if not self.entry.key:
            return None
        return {
            column.name: str(value)
            for column, value in self.cells(row)
            if column.name in self.entry.target_key and column.kind in ("int", "text", "day")
        }

    def cells(self, row: Image) -> list[tuple[Column, Any]]:
        return list(zip(self.entry.target_columns, row, strict=True))

    def say(self, statement: str, parameters: list[Any]) -> None:
        say(self.place.engine, self.connection, statement, parameters)

    def where(self) -> tuple[str, list[Any]]:
        """One row, also among its copies."""
        engine = self.place.engine
        same = {"mariadb": "<=>", "postgres": "IS NOT DISTINCT FROM", "sqlite": "IS"}[engine]
        known = [
            (column, value)
            for column, value in self.cells(self.row)
            if not self.entry.key or column.name in self.entry.target_key
        ]
        where = " AND ".join(f"{quoted(engine, column.name)} {same} %s" for column, _ in known)
        parameters = [written(engine, column.kind, value) for column, value in known]
        if engine == "mariadb":
            return f"{where} LIMIT 1", parameters
        hidden = {"postgres": "ctid", "sqlite": "rowid"}[engine]
        return f"{hidden} = (SELECT {hidden} FROM {self.table} WHERE {where} LIMIT 1)", parameters


def _deleted(at: _Planting) -> Fault:
    where, parameters = at.where()
    at.say(f"DELETE FROM {at.table} WHERE {where}", parameters)
    return Fault(at.entry, f"deleted {at.row}", {"missing": 1}, at.key(at.row))


def _added(at: _Planting) -> Fault | None:
    """A row like another one, with another key."""
    changes = {
        name: 987_654 if at.entry.kind(name) == "int" else values.DAYS[1] if at.entry.kind(name) == "day" else "added"
        for name in at.entry.key
    }
    row = tuple(changes.get(column.name, value) for column, value in at.cells(at.row))
    names = ", ".join(quoted(at.place.engine, column.name) for column, _ in at.cells(row))
    places = ", ".join(["%s"] * len(row))
    parameters = [written(at.place.engine, column.kind, value) for column, value in at.cells(row)]
    at.say(f"INSERT INTO {at.table} ({names}) VALUES ({places})", parameters)
    return Fault(at.entry, f"added {row}", {"extra": 1}, at.key(row))


def _changed(at: _Planting) -> Fault | None:
    free = [
        (column, value)
        for column, value in at.cells(at.row)
        if column.name not in at.entry.target_key
        and (column.kind in _CHANGEABLE or (at.entry.exists and column.kind in _FLAGS))
    ]
    if not free:
        return None
    column, before = at.chance.choice(free)
    after = _another(column.kind, before)
    where, parameters = at.where()
    at.say(
        f"UPDATE {at.table} SET {quoted(at.place.engine, column.name)} = %s WHERE {where}",
        [written(at.place.engine, column.kind, after), *parameters],
    )
    found = {"changed": 1} if at.entry.key else {"missing": 1, "extra": 1}
    return Fault(at.entry, f"{column.name} of {at.row} is {after!r}", found, at.key(at.row))


def _another(kind: str, value: Any) -> Any:
    """As near to it as can be."""
    if value is None:
        return {"text": "", "flag": False, "condition": False}.get(kind, values.POOLS.get(kind, (0,))[0])
    if kind == "text":
        return value.swapcase() if value.swapcase() != value else None if value == "" else f"{value} "[-40:]
    if kind in ("int", "big"):
        return value - 1 if value > 0 else value + 1
    if kind == "decimal":
        return value + values.AMOUNTS[4] if value < 0 else value - values.AMOUNTS[4]
    if kind in _FLAGS:
        return not value
    return next(other for other in values.POOLS[kind] if other != value)


def found_of(result: VerificationResult) -> dict[str, dict[str, int]]:
    """How many differences of each kind each target table has."""
    found = {}
    for table in result.tables:
        counts = {kind: getattr(table.differences, kind) for kind in ("missing", "extra", "changed")}
        if any(counts.values()):
            found[_name(table)] = {kind: count for kind, count in counts.items() if count}
    return found
