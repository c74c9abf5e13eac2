"""How far a job is: the key ranges of its tables, and the units of a check.

Ranges are planned once, recorded as they are done, and loaded to resume.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from tieout.meta.database import Database
from tieout.meta.differences import Place, replace_differences
from tieout.meta.ownership import touch
from tieout.meta.records import FinishedRange, RangeState, Side, StoredRange
from tieout.meta.schema import check_units, job_tables, ranges
from tieout.model.differences import DifferenceCounts
from tieout.model.digests import Digest
from tieout.model.keys import Key, KeyRange

LOOKUP = 500
"""Ordinals in one query: SQLite and PostgreSQL limit the parameters of a statement."""


class Ranges:
    """Ranges, numbered from 0 within a job's table and side."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def plan(self, job_id: str, table_ordinal: int, keys: Sequence[KeyRange], *, side: Side = Side.BOTH) -> None:
        """Sets the ranges of one side of a table, replacing what was planned and recorded there."""
        where = {"job_id": job_id, "table_ordinal": table_ordinal, "side": side}
        planned = [{**where, "ordinal": i, "low": _bound(k.low), "high": _bound(k.high)} for i, k in enumerate(keys)]
        with self._database.write() as connection:
            touch(connection, job_id)
            done = connection.scalar(_of(job_id, table_ordinal, side).with_only_columns(func.sum(ranges.c.row_count)))
            _add_rows_done(connection, job_id, table_ordinal, -int(done or 0))
            connection.execute(delete(ranges).filter_by(**where))
            if planned:
                connection.execute(insert(ranges).values(state=RangeState.PLANNED, row_count=0, seconds=0), planned)

    def extend(
        self, job_id: str, table_ordinal: int, keys: Sequence[KeyRange], *, first: int, side: Side = Side.BOTH
    ) -> None:
        """Adds ranges to those planned, numbered from `first`: the verification splits a table while it reads it."""
        where = {"job_id": job_id, "table_ordinal": table_ordinal, "side": side}
        planned = [
            {**where, "ordinal": i, "low": _bound(k.low), "high": _bound(k.high)} for i, k in enumerate(keys, first)
        ]
        if planned:
            with self._database.write() as connection:
                touch(connection, job_id)
                connection.execute(insert(ranges).values(state=RangeState.PLANNED, row_count=0, seconds=0), planned)

    def record(self, job_id: str, table_ordinal: int, finished: Sequence[FinishedRange]) -> None:
        """Stores digests, counts and differences of planned ranges, the table's rows and the heartbeat: all or nothing.

        Recording a range again replaces what was recorded for it, so a repeated call changes nothing.
        """
        if not finished:
            return
        with self._database.write() as connection:
            touch(connection, job_id)
            before = _recorded(connection, job_id, table_ordinal, finished)
            connection.execute(_record_statement(job_id, table_ordinal), [_values(each) for each in finished])
            found = {
                Place(job_id, table_ordinal, each.side, each.ordinal): each.differences
                for each in finished
                if each.differences is not None
            }
            replace_differences(connection, found)
            more = sum(each.rows - before[each.side, each.ordinal].rows for each in finished)
            _add_rows_done(connection, job_id, table_ordinal, more)

    def load(
        self, job_id: str, table_ordinal: int, *, side: Side | None = None, buckets: bool = True
    ) -> tuple[StoredRange, ...]:
        """Ranges in the order planned. `buckets=False` leaves those out: they are most of the bytes."""
        query = _of(job_id, table_ordinal, side).order_by(ranges.c.side, ranges.c.ordinal)
        if not buckets:
            query = query.with_only_columns(*[column for column in ranges.c if column.name != "buckets"])
        with self._database.read() as connection:
            return tuple(_range(row._mapping) for row in connection.execute(query))


def _of(job_id: str, table_ordinal: int, side: Side | None) -> Any:
    query = select(ranges).where(ranges.c.job_id == job_id, ranges.c.table_ordinal == table_ordinal)
    return query if side is None else query.where(ranges.c.side == side)


def _recorded(
    connection: Connection, job_id: str, table_ordinal: int, finished: Sequence[FinishedRange]
) -> dict[tuple[Side, int], StoredRange]:
    """What is recorded for these ranges so far; ValueError if one was never planned."""
    wanted = {(each.side, each.ordinal) for each in finished}
    if len(wanted) != len(finished):
        raise ValueError("a range is recorded twice in one call")
    known: dict[tuple[Side, int], StoredRange] = {}
    columns = [column for column in ranges.c if column.name != "buckets"]
    for side in {side for side, _ in wanted}:
        ordinals = sorted(ordinal for of_side, ordinal in wanted if of_side is side)
        for start in range(0, len(ordinals), LOOKUP):
            query = _of(job_id, table_ordinal, side).where(ranges.c.ordinal.in_(ordinals[start : start + LOOKUP]))
            for row in connection.execute(query.with_only_columns(*columns)):
                known[side, row.ordinal] = _range(row._mapping)
    if known.keys() != wanted:
        raise ValueError(
            f"ranges of job {job_id}, table {table_ordinal} were never planned: {sorted(wanted - known.keys())}"
        )
    return known


def _record_statement(job_id: str, table_ordinal: int) -> Any:
    return (
        update(ranges)
        .where(ranges.c.job_id == job_id, ranges.c.table_ordinal == table_ordinal)
        .where(ranges.c.side == bindparam("of_side"), ranges.c.ordinal == bindparam("of_ordinal"))
    )


def _values(finished: FinishedRange) -> dict[str, Any]:
    counts = finished.counts
    return {
        "of_side": finished.side,
        "of_ordinal": finished.ordinal,
        "state": finished.state,
        "source_digest": None if finished.source_digest is None else finished.source_digest.to_text(),
        "target_digest": None if finished.target_digest is None else finished.target_digest.to_text(),
        "buckets": finished.buckets,
        "row_count": finished.rows,
        "seconds": finished.seconds,
        "missing": None if counts is None else counts.missing,
        "extra": None if counts is None else counts.extra,
        "changed": None if counts is None else counts.changed,
    }


def _add_rows_done(connection: Connection, job_id: str, table_ordinal: int, more: int) -> None:
    connection.execute(
        update(job_tables)
        .where(job_tables.c.job_id == job_id, job_tables.c.ordinal == table_ordinal)
        .values(rows_done=job_tables.c.rows_done + more)
    )


def _bound(key: Key | None) -> list[str] | None:
    return None if key is None else list(key)


def _key(bound: list[str] | None) -> Key | None:
    return None if bound is None else tuple(bound)


def _digest(text: str | None) -> Digest | None:
    return None if text is None else Digest.from_text(text)


def _range(row: Any) -> StoredRange:
    counts = None if row["missing"] is None else DifferenceCounts(row["missing"], row["extra"], row["changed"])
    return StoredRange(
        ordinal=row["ordinal"],
        side=Side(row["side"]),
        keys=KeyRange(_key(row["low"]), _key(row["high"])),
        state=RangeState(row["state"]),
        source_digest=_digest(row["source_digest"]),
        target_digest=_digest(row["target_digest"]),
        buckets=row.get("buckets"),
        rows=row["row_count"],
        seconds=row["seconds"],
        counts=counts,
    )


@dataclass(frozen=True, slots=True)
class KeptUnit:
    """One table and family of a check: `results` once it is finished, before that `state`, how far it is."""

    rows: int
    state: bytes | None
    results: Sequence[Any] | None


class CheckUnits:
    """The parts of a check that are done or begun, by table and family. `table` is a qualified name, split."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, job_id: str, table: Sequence[str], family: str) -> KeptUnit | None:
        query = select(check_units.c.rows_done, check_units.c.state, check_units.c.results)
        with self._database.read() as connection:
            row = connection.execute(query.filter_by(job_id=job_id, unit=_unit(table, family))).one_or_none()
        return None if row is None else KeptUnit(*row)

    def keep(self, job_id: str, table: Sequence[str], family: str, kept: KeptUnit) -> None:
        """Replaces what was stored for it before."""
        unit = {"job_id": job_id, "unit": _unit(table, family)}
        values = {"rows_done": kept.rows, "state": kept.state, "results": kept.results}
        with self._database.write() as connection:
            touch(connection, job_id)
            connection.execute(delete(check_units).filter_by(**unit))
            connection.execute(insert(check_units).values(**unit, table_name=".".join(table), family=family, **values))


def _unit(table: Sequence[str], family: str) -> str:
    """A name short enough for a key of every engine."""
    return hashlib.sha256(json.dumps([list(table), family]).encode()).hexdigest()
