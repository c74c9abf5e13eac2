"""Writes lines in tab form to SQLite files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.move import STAGE_COLUMNS, StageTable, missing_stage_is_transient
from tieout.connectors.sql.chunk_progress import ChunkTable
from tieout.connectors.sql.ddl import spelled
from tieout.connectors.sql.progress import ProgressTables
from tieout.connectors.sql.session import SqlSession
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.move.ddl_same_engine import NAME
from tieout.connectors.sqlite.session import SQLiteSession, mover_session, transaction
from tieout.connectors.sqlite.tab_form import Undecodable, rows_of
from tieout.errors import UnsupportedError, WriteError
from tieout.model.moves import Chunk, Fence, Held, Transfer
from tieout.model.tables import TableName

SCHEMA = "main"
CLOCK = "CAST((julianday('now') - 2440587.5) * 86400 AS INTEGER)"
_AHEAD = 64 << 20
_ODD = "_tieout_odd"


@dataclass(frozen=True)
class SQLiteLoader:
    classed: ClassVar[bool] = True
    url: EndpointUrl

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        if not statements:
            return
        name = quoting.text(table.name)
        with transaction(self.url) as session:
            ProgressTables(session, SCHEMA, CLOCK).check(fence, lock="")
            for statement in statements:
                session.execute(spelled(session, statement.replace(NAME, name), table, parent))

    def load_chunk(self, fence: Fence, transfer: Transfer, chunk: Chunk, held: Held, lines: Iterable[bytes]) -> int:
        lines = _read_ahead(lines)
        with closing(mover_session(self.url)) as session:
            chunks = ChunkTable(ProgressTables(session, SCHEMA, CLOCK))
            refuse_triggers(session, transfer.target.name)
            return chunks.write(
                "",
                fence,
                chunk,
                held,
                lambda: load(session, transfer.target.name, transfer, (), lines),
                session.commit,
            )

    def stage(self, stage: StageTable, lines: Iterable[bytes], *, new: bool) -> int:
        with transaction(self.url) as session, missing_stage_is_transient():
            if new:
                assert stage.like is not None
                names = [*(column.name for column in stage.transfer.target_columns), *STAGE_COLUMNS]
                create_like(session, stage.name, stage.like, names)
            return load(session, stage.name, stage.transfer, STAGE_COLUMNS, lines)


def create_like(
    session: SqlSession, table: TableName, like: TableName, names: Sequence[str], more: Sequence[str] = ()
) -> None:
    """Creates an empty table with the columns of another one and their affinities, without constraints.

    `more` is SQL for further columns. SQLite would rename columns that are called true or false.
    """
    made = session.table(table)
    odd = {place: name for place, name in enumerate(names) if name.lower() in ("true", "false")}
    columns = [f"{session.quote(name)}{f' AS {_ODD}{n}' if n in odd else ''}" for n, name in enumerate(names)]
    selected = ", ".join([*columns, *more])
    session.execute(f"CREATE TABLE {made} AS SELECT {selected} FROM {session.table(like)} LIMIT 0")
    for place, name in odd.items():
        session.execute(f"ALTER TABLE {made} RENAME COLUMN {_ODD}{place} TO {session.quote(name)}")


def refuse_triggers(session: SqlSession, table: TableName) -> None:
    """Raises UnsupportedError if a table has triggers: they ran on the source, and SQLite can't turn them off here. Our
    own triggers only log changes.
    """
    found = session.rows("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table.name])
    for (name,) in found:
        if not name.startswith("tieout_"):
            raise UnsupportedError(
                f"{table} has a trigger in the target, {name}, that would change the moved rows",
                "drop it until the move has finished",
            )


def _read_ahead(lines: Iterable[bytes]) -> Iterable[bytes]:
    """Reads most chunks whole before they wait for their turn to write, so that the source is not blocked meanwhile."""
    rest, taken, size = iter(lines), list[bytes](), 0
    for block in rest:
        taken.append(block)
        size += len(block)
        if size > _AHEAD:
            break
    return chain(taken, rest)


def load(
    session: SQLiteSession, into: TableName, transfer: Transfer, extra: Sequence[str], lines: Iterable[bytes]
) -> int:
    """Returns the number of rows written: one for each line, or WriteError."""
    names = [*(column.name for column in transfer.target_columns), *extra]
    start = f"INSERT INTO {session.table(into)} ({', '.join(map(session.quote, names))}) VALUES "
    plain = f"{start}({', '.join('?' * len(names))})"
    written = 0
    for block in lines:
        odd: list[list[Any]] = []
        session.many(plain, _plain_rows(block, odd))
        for row in odd:
            _insert_odd(session, start, row)
        written += block.count(b"\n")
    return written


def _plain_rows(block: bytes, odd: list[list[Any]]) -> Iterator[list[Any]]:
    for row in rows_of(block):
        if Undecodable in map(type, row):
            odd.append(row)
        else:
            yield row


def _insert_odd(session: SQLiteSession, start: str, row: Sequence[Any]) -> None:
    """Python binds only valid text as a parameter, so SQLite makes the text from its bytes."""
    ((encoding,),) = session.rows("PRAGMA encoding")
    if encoding != "UTF-8":
        raise WriteError(f"{session.url.redacted()}: a text is not UTF-8, and the file keeps its texts in {encoding}")
    places = ", ".join("CAST(? AS TEXT)" if isinstance(value, Undecodable) else "?" for value in row)
    values = [value.raw if isinstance(value, Undecodable) else value for value in row]
    session.many(f"{start}({places})", [values])
