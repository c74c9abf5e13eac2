"""The tables of a job: what was planned for each, how far it is, what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, insert, select, update

from tieout.meta.database import Database
from tieout.meta.ownership import touch
from tieout.meta.records import JobTable, TableState
from tieout.meta.schema import job_tables


class JobTables:
    """A job's tables, numbered from 0 in the order they were given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, job_id: str, tables: Sequence[tuple[str | None, str | None]]) -> tuple[JobTable, ...]:
        """Sets the job's tables, as pairs of source and target names; what was recorded for others goes."""
        rows = [
            {"job_id": job_id, "ordinal": ordinal, "source_table": source, "target_table": target}
            for ordinal, (source, target) in enumerate(tables)
        ]
        with self._database.write() as connection:
            touch(connection, job_id)
            connection.execute(delete(job_tables).where(job_tables.c.job_id == job_id))
            if rows:
                connection.execute(insert(job_tables).values(state=TableState.PLANNED, rows_done=0), rows)
        return tuple(JobTable(ordinal, source, target) for ordinal, (source, target) in enumerate(tables))

    def all(self, job_id: str) -> tuple[JobTable, ...]:
        query = select(job_tables).where(job_tables.c.job_id == job_id).order_by(job_tables.c.ordinal)
        with self._database.read() as connection:
            return tuple(_table(row) for row in connection.execute(query))

    def start(self, job_id: str, ordinal: int, *, plan: Mapping[str, Any], seed: str | None = None) -> None:
        """Keeps how the table is verified, so that a resumed job does it the same way."""
        self._set(job_id, ordinal, state=TableState.RUNNING, plan=dict(plan), seed=seed)

    def finish(self, job_id: str, ordinal: int, result: Mapping[str, Any]) -> None:
        self._set(job_id, ordinal, state=TableState.DONE, result=dict(result))

    def _set(self, job_id: str, ordinal: int, **values: Any) -> None:
        change = update(job_tables).where(job_tables.c.job_id == job_id, job_tables.c.ordinal == ordinal)
        with self._database.write() as connection:
            touch(connection, job_id)
            if connection.execute(change.values(**values)).rowcount == 0:
                raise ValueError(f"job {job_id} has no table {ordinal}")


def _table(row: Any) -> JobTable:
    return JobTable(
        ordinal=row.ordinal,
        source_table=row.source_table,
        target_table=row.target_table,
        state=TableState(row.state),
        plan=row.plan,
        seed=row.seed,
        result=row.result,
        rows_done=row.rows_done,
    )
