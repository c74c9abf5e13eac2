"""Writes lines of COPY text to MySQL servers: with LOAD DATA, or with INSERT where local_infile is off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import ClassVar

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import literals, quoting
from tieout.connectors.mysql.protocol.commands import load_local, write_rows
from tieout.connectors.mysql.session import WRITING_MODE, MySQLSession
from tieout.connectors.protocols.move import STAGE_COLUMNS, StageTable, missing_stage_is_transient
from tieout.connectors.sql.chunk_progress import ChunkTable
from tieout.connectors.sql.ddl import spelled
from tieout.connectors.sql.progress import ProgressTables
from tieout.connectors.sql.session import Purpose
from tieout.errors import UnsupportedError, WriteError
from tieout.model.keys import EVERYTHING
from tieout.model.moves import Chunk, Fence, Held, Transfer
from tieout.model.server_words import told
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

_FORM = "CHARACTER SET utf8mb4 FIELDS TERMINATED BY X'09' ENCLOSED BY '' ESCAPED BY X'5C' LINES TERMINATED BY X'0A'"
_NO_FIT = ("Warning", None, "a value does not fit")
"""The warning to report if the server reports none."""
CLOCK = "UNIX_TIMESTAMP()"
TRANSACTIONAL = {"InnoDB", "ROCKSDB"}
WITHOUT_TRANSACTIONS = {"MyISAM", "Aria"}
"""Storage engines that keep rows, and write each row at once. Of others nothing is known."""


@dataclass(frozen=True)
class MySQLLoader:
    classed: ClassVar[bool] = False
    url: EndpointUrl

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        # DDL commits its transaction, so another connection holds the fence meanwhile.
        with closing(MySQLSession(self.url, Purpose.MOVE)) as session:
            progress = ProgressTables(session, self.url.database or "", CLOCK)
            with progress.together(fence, "LOCK IN SHARE MODE"):
                build(self.url, table, statements, parent)

    def load_chunk(self, fence: Fence, transfer: Transfer, chunk: Chunk, held: Held, lines: Iterable[bytes]) -> int:
        with closing(MySQLSession(self.url, Purpose.MOVE)) as session:
            chunks = ChunkTable(ProgressTables(session, self.url.database or "", CLOCK))
            # With unique_checks: without them, MariaDB fills an empty table in a way that hangs for ever when somebody
            # reads it meanwhile (10.11), and is no faster.
            return chunks.write(
                "LOCK IN SHARE MODE",
                fence,
                chunk,
                held,
                lambda: self._load_chunk(session, transfer, chunk, lines),
                lambda: _commit(session, transfer.target.name),
            )

    @staticmethod
    def _load_chunk(session: MySQLSession, transfer: Transfer, chunk: Chunk, lines: Iterable[bytes]) -> int:
        target = transfer.target
        if target.engine not in TRANSACTIONAL:
            if chunk.keys != EVERYTHING:
                raise UnsupportedError(
                    f"{target.name} got a storage engine without transactions while it was copied ({target.engine}): "
                    "rows that a failed try leaves can't be distinguished from those of its other chunks",
                    f"ALTER TABLE {session.table(target.name)} ENGINE = InnoDB, and copy the table again if it stopped",
                )
            # What is there was left by a try that was not rolled back.
            session.execute(f"DELETE FROM {session.table(target.name)}")
        return load(session, transfer.target.name, transfer, (), lines)

    def stage(self, stage: StageTable, lines: Iterable[bytes], *, new: bool) -> int:
        with closing(MySQLSession(self.url, Purpose.MOVE)) as session, missing_stage_is_transient():
            if new:
                assert stage.like is not None
                session.execute(f"CREATE TABLE {session.table(stage.name)} LIKE {session.table(stage.like)}")
            return load(session, stage.name, stage.transfer, STAGE_COLUMNS, lines)


def _commit(session: MySQLSession, table: TableName) -> None:
    try:
        session.commit()
    except WriteError as error:
        # The server checks rows of an empty table as late as this, and then does not say where.
        raise WriteError(f"{error.message} ({table}: does a unique value occur twice?)", error.hint) from None


def load(
    session: MySQLSession, into: TableName, transfer: Transfer, extra: Sequence[str], lines: Iterable[bytes]
) -> int:
    """Writes all lines, each exactly, or raises WriteError; returns the number of rows."""
    if not takes_files(session):
        with _named(session, transfer.target.name):
            return insert(session, into, [*transfer.target_columns, *extra], lines)
    fields, settings = [], []
    for place, column in enumerate(transfer.target_columns):
        value = _value(column, f"@v{place}")
        fields.append(f"@v{place}" if value else session.quote(column.name))
        if value:
            settings.append(f"{session.quote(column.name)} = {value}")
    fields += [session.quote(name) for name in extra]
    statement = f"LOAD DATA LOCAL INFILE 'tieout' INTO TABLE {session.table(into)} {_FORM} ({', '.join(fields)})"
    if settings:
        statement += f" SET {', '.join(settings)}"
    sent, written, warnings = _send(session, statement, lines)
    problem = _problem(session) if warnings else None
    if problem is None and sent != written:
        problem = f"the server wrote {written:,} of {sent:,} rows"
    if problem is not None:
        raise WriteError(f"{session.url.redacted()}: {transfer.target.name}: {problem}")
    return sent


def takes_files(session: MySQLSession) -> bool:
    """Whether the server accepts LOAD DATA LOCAL."""
    ((on,),) = session.rows("SELECT @@GLOBAL.local_infile")
    return bool(on)


@contextmanager
def _named(session: MySQLSession, table: TableName) -> Iterator[None]:
    """Adds the table to an error about a value that does not fit: the server does not name it."""
    try:
        yield
    except WriteError as error:
        where = f"{session.url.redacted()}: "
        if not error.message.startswith(where):
            raise  # an error of the source
        raise WriteError(f"{where}{table}: {error.message.removeprefix(where)}", error.hint) from None


def _problem(session: MySQLSession) -> str:
    """The first warning. With LOCAL, the server turns errors into warnings, and writes something."""
    warnings = session.rows("SHOW WARNINGS")
    # Notes accompany warnings; alone, they report truncated values.
    _, code, text = next((each for each in warnings if each[0] != "Note"), warnings[0] if warnings else _NO_FIT)
    return told(scrub(" ".join(str(text).split())), code)


def _value(column: Column, variable: str) -> str | None:
    """SQL that converts a column's COPY text; None if it needs no conversion."""
    if column.type.name is TypeName.BINARY:
        return f"UNHEX(SUBSTR({variable}, 3))"
    if column.type.name is TypeName.OPAQUE:
        # A text that Spark computed is none of the bytes that the server itself writes: it refuses the text.
        octets = f"IF(LEFT({variable}, 2) = X'5C78', UNHEX(SUBSTR({variable}, 3)), NULL)"
        return f"COALESCE({octets}, CAST({variable} AS BINARY))"
    if column.type.name is TypeName.BITS:
        return f"CAST(CONV({variable}, 2, 10) AS UNSIGNED)"
    return None


def _send(session: MySQLSession, statement: str, lines: Iterable[bytes]) -> tuple[int, int, int]:
    """Rows sent, rows written, warnings."""
    with session.translated():
        answer = load_local(session.connection, statement, lines)
    if answer is None:
        raise UnsupportedError(f"{session.url.redacted()}: the server does not accept LOAD DATA LOCAL")
    return answer


_STATEMENT = 1 << 20
_SLACK = 1 << 10
"""Room in a packet for more than the statement."""


def insert(session: MySQLSession, into: TableName, columns: Sequence[Column | str], lines: Iterable[bytes]) -> int:
    """Inserts all lines, each exactly, or raises WriteError; returns the number. A name stands for a column of text."""
    names = [column if isinstance(column, str) else column.name for column in columns]
    head = f"INSERT INTO {session.table(into)} ({', '.join(map(session.quote, names))}) VALUES ".encode()
    writers = [literals.copied(column) for column in columns]
    ((largest,),) = session.rows("SELECT @@SESSION.max_allowed_packet")
    written = 0
    for rows in _batches(_rows(lines, writers), min(_STATEMENT, largest) - len(head) - _SLACK):
        if len(rows[0]) + len(head) + _SLACK > largest:
            raise WriteError(
                f"{session.url.redacted()}: a row of {len(rows[0]):,} bytes is larger than max_allowed_packet",
                "SET GLOBAL local_infile = 1, or max_allowed_packet higher",
            )
        written += _send_insert(session, head + b",".join(rows), len(rows))
    return written


def _rows(lines: Iterable[bytes], writers: Sequence[Callable[[bytes], bytes]]) -> Iterator[bytes]:
    for block in lines:
        for line in block.split(b"\n")[:-1]:
            fields = line.split(b"\t")
            yield b"(" + b",".join(write(field) for write, field in zip(writers, fields, strict=True)) + b")"


def _batches(rows: Iterable[bytes], most: int) -> Iterator[list[bytes]]:
    """Batches of at least one row, and of at most `most` bytes, commas included."""
    batch: list[bytes] = []
    size = 0
    for row in rows:
        if batch and size + len(row) + 1 > most:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(row) + 1
    if batch:
        yield batch


def _send_insert(session: MySQLSession, statement: bytes, rows: int) -> int:
    with session.translated():
        written, warnings = write_rows(session.connection, statement)
    if warnings:
        warning = told(scrub(" ".join(str(warnings[0][2]).split())), warnings[0][1])
        raise WriteError(f"{session.url.redacted()}: {warning}")
    if written != rows:
        raise WriteError(f"{session.url.redacted()}: the server wrote {written:,} of {rows:,} rows")
    return written


# In every sql_mode, SHOW CREATE TABLE escapes backslashes.
_DDL_MODE = ",".join(mode for mode in WRITING_MODE.split(",") if mode != "NO_BACKSLASH_ESCAPES")


def build(url: EndpointUrl, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
    """Runs DDL, in whose literals a doubled backslash stands for one."""
    with closing(MySQLSession(url, Purpose.MOVE)) as session:
        session.execute(f"SET SESSION sql_mode = {quoting.text(_DDL_MODE)}")
        for statement in statements:
            session.execute(spelled(session, statement, table, parent))
