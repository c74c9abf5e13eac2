"""Writes lines in tab form to PostgreSQL, with COPY."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from tieout.config.urls import EndpointUrl
from tieout.connectors.moving import STAGE_COLUMNS, StageTable
from tieout.connectors.postgres.moving.session import PostgresSession
from tieout.connectors.progress import ProgressTables
from tieout.connectors.structure import TABLE
from tieout.errors import WriteError
from tieout.failpoints import reach
from tieout.model.moving import Chunk, Fence, Held, Transfer
from tieout.model.tables import TableName

SCHEMA = "tieout"
CLOCK = "extract(epoch FROM clock_timestamp())::bigint"


@dataclass(frozen=True)
class PostgresLoader:
    url: EndpointUrl

    def run(self, table: TableName, statements: Sequence[str]) -> None:
        with closing(PostgresSession(self.url)) as session:
            for statement in statements:
                session.execute(statement.replace(TABLE, session.table(table)))

    def load_chunk(self, fence: Fence, transfer: Transfer, chunk: Chunk, held: Held, lines: Iterable[bytes]) -> int:
        with closing(PostgresSession(self.url)) as session:
            progress = ProgressTables(session, SCHEMA, CLOCK)
            session.begin()
            progress.check(fence, "FOR SHARE")
            done = progress.copied(fence, chunk)
            if done is not None:
                return done  # the answer to an earlier try was lost
            reach("chunk-before-load")
            rows = load(session, transfer.target.name, [c.name for c in transfer.target_columns], lines)
            progress.finish_chunk(fence, chunk, held, rows)
            reach("chunk-before-commit")
            session.commit()
            reach("chunk-after-commit")
        return rows

    def stage(self, stage: StageTable, lines: Iterable[bytes]) -> int:
        names = [column.name for column in stage.transfer.target_columns]
        with closing(PostgresSession(self.url)) as session:
            return load(session, stage.name, [*names, *STAGE_COLUMNS], lines)


def load(session: PostgresSession, table: TableName, columns: Sequence[str], lines: Iterable[bytes]) -> int:
    """Rows written: all of the lines, or WriteError."""
    names = ", ".join(map(session.quote, columns))
    sent = 0
    with session.answered():
        cursor = session.connection.cursor()
        with cursor.copy(f"COPY {session.table(table)} ({names}) FROM STDIN") as copy:
            for block in lines:
                sent += block.count(b"\n")
                copy.write(block)
    if cursor.rowcount != sent:
        raise WriteError(f"{session.url.redacted()}: {table}: of {sent:,} rows the server took {cursor.rowcount:,}")
    return sent
