"""What of a check is done, by table and family: half-way states, and results.

And up to where in its log each table of an endpoint was checked, for what, and the logs that were begun for it.
"""

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
from tieout.meta.schema import check_units, checked
from tieout.model.positions import Position


@dataclass(frozen=True, slots=True)
class KeptUnit:
    """`results` are there once it is finished; `state` is how far it came before."""

    rows: int
    state: bytes | None
    results: Sequence[Any] | None


class CheckUnits:
    def __init__(self, database: Database) -> None:
        self._database = database

    """`table` is a name in parts."""

    def get(self, job_id: str, table: Sequence[str], family: str) -> KeptUnit | None:
        query = select(check_units.c.rows_done, check_units.c.state, check_units.c.results)
        with self._database.read() as connection:
            row = connection.execute(query.filter_by(job_id=job_id, unit=_unit(table, family))).one_or_none()
        return None if row is None else KeptUnit(*row)

    def keep(self, job_id: str, table: Sequence[str], family: str, kept: KeptUnit) -> None:
        """In place of what was kept of it before."""
        unit = {"job_id": job_id, "unit": _unit(table, family)}
        values = {"rows_done": kept.rows, "state": kept.state, "results": kept.results}
        with self._database.write() as connection:
            touch(connection, job_id)
            connection.execute(delete(check_units).filter_by(**unit))
            connection.execute(insert(check_units).values(**unit, table_name=".".join(table), family=family, **values))


def _unit(table: Sequence[str], family: str) -> str:
    """A name of a length that every engine takes into a key."""
    return hashlib.sha256(json.dumps([list(table), family]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """`scope` is what of it is checked: one who checks some indexes has not checked the others. A log is one scope's.

    `position` None: its log was begun, and the table was never checked whole since.
    """

    table: str
    scope: str
    log: str
    position: str | None


class CheckedPositions:
    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, endpoint: str) -> list[CheckedTable]:
        columns = (checked.c.table_name, checked.c.scope, checked.c.log, checked.c.position)
        with self._database.read() as connection:
            rows = connection.execute(select(*columns).where(checked.c.endpoint == endpoint))
            return [CheckedTable(*row) for row in rows]

    def of(self, endpoint: str, scope: str) -> dict[str, CheckedTable]:
        """By table."""
        return {each.table: each for each in self.all(endpoint) if each.scope == scope}

    def begin(self, job_id: str, endpoint: str, scope: str, tables: Sequence[str]) -> str:
        """The name of a log for these tables, which is known from now on. What was known of them is forgotten."""
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
        """Kept for good when this returns: changes before these positions are not looked at again.

        Not if another log was begun for a table meanwhile, or its check went further than this one.
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
    """A place in another log was proven to go on from this one."""
    return not position.is_same_log(before) or position.reaches(before)


def _identity(endpoint: str, table: str, scope: str) -> str:
    return hashlib.sha256(json.dumps([endpoint, table, scope]).encode()).hexdigest()
