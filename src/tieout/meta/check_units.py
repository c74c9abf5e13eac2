"""What of a check is done, by table and family: half-way states, and results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select

from tieout.meta.database import Database
from tieout.meta.ownership import touch
from tieout.meta.schema import check_units


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
