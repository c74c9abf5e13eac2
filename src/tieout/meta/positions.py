"""Positions in change logs that outlive a process: those of movers, and those up to which tables were checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select, update

from tieout.meta.database import Database
from tieout.meta.ids import new_id
from tieout.meta.ownership import now, touch
from tieout.meta.schema import checked, moves
from tieout.model.positions import Position


class Moves:
    """The movers of tasks: their status, and the last batch of tasks whose source keeps no position."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep_batch(self, job_id: str, task: str, after: str, upto: str) -> None:
        """Durable when this returns: the task never moves what lies before `upto` again, and has applied `after`."""
        self._set(job_id, task, {"kept_position": json.dumps([after, upto])}, survives_power_loss=True)

    def kept_batch(self, task: str) -> tuple[str | None, str] | None:
        """Where the batch begins (None: an older version stored it) and ends."""
        with self._database.read() as connection:
            kept: str | None = connection.scalar(select(moves.c.kept_position).where(moves.c.task == task))
        if kept is None:
            return None
        after, upto = json.loads(kept) if kept.startswith("[") else (None, kept)
        return after, upto

    def forget_batch(self, task: str) -> None:
        with self._database.write() as connection:
            connection.execute(update(moves).where(moves.c.task == task).values(kept_position=None))

    def set_status(self, job_id: str, task: str, status: Mapping[str, Any]) -> None:
        self._set(job_id, task, {"status": dict(status)})

    def status(self, task: str) -> dict[str, Any] | None:
        with self._database.read() as connection:
            status: dict[str, Any] | None = connection.scalar(select(moves.c.status).where(moves.c.task == task))
            return status

    def tasks(self) -> list[str]:
        with self._database.read() as connection:
            return list(connection.scalars(select(moves.c.task).order_by(moves.c.task)))

    def forget(self, task: str) -> None:
        with self._database.write() as connection:
            connection.execute(delete(moves).where(moves.c.task == task))

    def _set(self, job_id: str, task: str, values: dict[str, Any], *, survives_power_loss: bool = False) -> None:
        with self._database.write(survives_power_loss=survives_power_loss) as connection:
            touch(connection, job_id)
            changed = connection.execute(update(moves).where(moves.c.task == task).values(updated_at=now(), **values))
            if changed.rowcount == 0:
                connection.execute(insert(moves).values(task=task, updated_at=now(), **values))


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """`scope` is what a check looks at: a check of some indexes has not checked the others. A log belongs to one scope.

    `position` None: its log was started, and no check of the whole table has finished since.
    """

    table: str
    scope: str
    log: str
    position: str | None


class CheckedPositions:
    """Up to where in its log each table of an endpoint was checked, by what was checked."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, endpoint: str) -> list[CheckedTable]:
        columns = (checked.c.table_name, checked.c.scope, checked.c.log, checked.c.position)
        with self._database.read() as connection:
            rows = connection.execute(select(*columns).where(checked.c.endpoint == endpoint))
            return [CheckedTable(*row) for row in rows]

    def of(self, endpoint: str, scope: str) -> dict[str, CheckedTable]:
        """The tables of a scope, by name."""
        return {each.table: each for each in self.all(endpoint) if each.scope == scope}

    def begin(self, job_id: str, endpoint: str, scope: str, tables: Sequence[str]) -> str:
        """Creates a log for these tables and returns its name. Forgets what was stored for them."""
        at = now()
        log = f"check:{new_id('l', at)}"
        rows: list[dict[str, Any]] = [
            {
                "identity": _identity(endpoint, table, scope),
                "endpoint": endpoint,
                "table_name": table,
                "scope": scope,
                "log": log,
                "position": None,
                "updated_at": at,
            }
            for table in tables
        ]
        with self._database.write(survives_power_loss=True) as connection:
            touch(connection, job_id)
            connection.execute(delete(checked).where(checked.c.identity.in_([row["identity"] for row in rows])))
            connection.execute(insert(checked), rows)
        return log

    def keep(self, job_id: str, log: str, positions: Mapping[str, str]) -> None:
        """Durable when this returns: no check reads changes before these positions again.

        Skips a table for which another log was started meanwhile, or whose check went further than this one.
        """
        with self._database.write(survives_power_loss=True) as connection:
            touch(connection, job_id)
            for table, position in positions.items():
                this = (checked.c.log == log, checked.c.table_name == table)
                before = connection.scalar(select(checked.c.position).where(*this))
                if before is None or _is_further(Position(position), Position(before)):
                    connection.execute(update(checked).where(*this).values(position=position, updated_at=now()))

    def forget(self, log: str) -> None:
        with self._database.write() as connection:
            connection.execute(delete(checked).where(checked.c.log == log))


def _is_further(position: Position, before: Position) -> bool:
    """A position in another log counts as further: the log was proven to continue this one."""
    return not position.is_same_log(before) or position.reaches(before)


def _identity(endpoint: str, table: str, scope: str) -> str:
    return hashlib.sha256(json.dumps([endpoint, table, scope]).encode()).hexdigest()
