"""Loads lines in tab form into PostgreSQL, with COPY."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import ClassVar

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.errors import DOES_NOT_FIT, first_line
from tieout.connectors.postgres.session import PostgresSession, mover_session
from tieout.connectors.protocols.move import STAGE_COLUMNS, StageTable, missing_stage_is_transient
from tieout.connectors.sql.chunk_progress import ChunkTable
from tieout.connectors.sql.ddl import spelled
from tieout.connectors.sql.progress import ProgressTables
from tieout.errors import WriteError
from tieout.model.moves import Chunk, Fence, Held, Transfer
from tieout.model.server_words import are_hidden
from tieout.model.tables import TableName

SCHEMA = "_tieout"
_LINE = re.compile(r'COPY [^,:"]+, (line \d+(?:, column [^,:"]+)?)')

UNSYNCED = "SET LOCAL synchronous_commit = off"
CLOCK = "extract(epoch FROM clock_timestamp())::bigint"


@dataclass(frozen=True)
class PostgresLoader:
    classed: ClassVar[bool] = False
    url: EndpointUrl

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        with closing(mover_session(self.url)) as session:
            with ProgressTables(session, SCHEMA, CLOCK).together(fence, "FOR SHARE"):
                for statement in statements:
                    session.execute(spelled(session, statement, table, parent))

    def load_chunk(self, fence: Fence, transfer: Transfer, chunk: Chunk, held: Held, lines: Iterable[bytes]) -> int:
        with closing(mover_session(self.url)) as session:
            chunks = ChunkTable(ProgressTables(session, SCHEMA, CLOCK))
            return chunks.write(
                "FOR SHARE",
                fence,
                chunk,
                held,
                lambda: load(session, transfer.target.name, transfer, (), lines),
                session.commit,
            )

    def stage(self, stage: StageTable, lines: Iterable[bytes], *, new: bool) -> int:
        with closing(mover_session(self.url)) as session, missing_stage_is_transient():
            if new:
                assert stage.like is not None
                # After a crash the staged rows are read from the source's log again, so the table needs no WAL of its
                # own, and nobody has to wait for the disk. In a transaction of its own: the table that it copies must
                # not stay locked.
                session.execute(
                    f"{UNSYNCED}; CREATE UNLOGGED TABLE {session.table(stage.name)} (LIKE {session.table(stage.like)})"
                )
            return load(session, stage.name, stage.transfer, STAGE_COLUMNS, lines)


def load(
    session: PostgresSession, into: TableName, transfer: Transfer, extra: Sequence[str], lines: Iterable[bytes]
) -> int:
    """Returns the number of rows written. Raises WriteError unless the server accepted all lines."""
    names = [*(column.name for column in transfer.target_columns), *extra]
    statement = f"COPY {session.table(into)} ({', '.join(map(session.quote, names))}) FROM STDIN"
    where = f"{session.url.redacted()}: {transfer.target.name}"
    sent = 0
    with session.translated(), _named(where):
        cursor = session.connection.cursor()
        with cursor.copy(statement) as copy:
            for block in lines:
                if b"\0" in block:
                    raise WriteError(
                        f"{where}: {names[_column_of(block, block.index(0))]}: "
                        "PostgreSQL can't store the character NUL in a text"
                    )
                sent += block.count(b"\n")
                copy.write(block)
    if cursor.rowcount != sent:
        raise WriteError(f"{where}: the server accepted {cursor.rowcount:,} of {sent:,} rows")
    return sent


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Adds the column and the text of a value that does not fit, which the server reports beside its message."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        if not (error.sqlstate or "").startswith(DOES_NOT_FIT):
            raise
        # COPY wide, line 1, column born: "0000-00-00"
        place = _place(scrub(" ".join((error.diag.context or "").split())))
        line = first_line(str(error), error.sqlstate)
        raise WriteError(f"{where}: {line}{f' ({place})' if place else ''}") from None


def _place(context: str) -> str:
    if are_hidden():
        found = _LINE.match(context)
        return found[1] if found else ""
    return context.partition(", ")[2]


def _column_of(block: bytes, at: int) -> int:
    """The number of the field that contains this offset of a block."""
    return block.count(b"\t", block.rfind(b"\n", 0, at) + 1, at)
