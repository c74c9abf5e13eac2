"""Tasks that move data: what their movers say of themselves, and positions that no source keeps for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, insert, select, update

from tieout.meta.database import Database
from tieout.meta.ownership import now, touch
from tieout.meta.schema import moves


class Moves:
    def __init__(self, database: Database) -> None:
        self._database = database

    def keep_batch(self, job_id: str, task: str, after: str, upto: str) -> None:
        """Kept for good when this returns: what lies before `upto` is not moved again, and `after` was applied."""
        self._set(job_id, task, {"kept_position": json.dumps([after, upto])}, survives_power_loss=True)

    def kept_batch(self, task: str) -> tuple[str | None, str] | None:
        """Where it begins (None: an older version kept it) and ends."""
        with self._database.read() as connection:
            kept: str | None = connection.scalar(select(moves.c.kept_position).where(moves.c.task == task))
        if kept is None:
            return None
        after, upto = json.loads(kept) if kept.startswith("[") else (None, kept)
        return after, upto

    def tell(self, job_id: str, task: str, status: Mapping[str, Any]) -> None:
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
