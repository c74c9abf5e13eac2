"""Writes lines in tab form to MySQL servers, with LOAD DATA where they take it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.move.building import build
from tieout.connectors.mysql.move.inserting import insert
from tieout.connectors.mysql.move.session import MySQLSession
from tieout.connectors.protocols.move import STAGE_COLUMNS, StageTable, stages_again
from tieout.connectors.sql.progress import ProgressTables, write_chunk
from tieout.errors import UnsupportedError, WriteError
from tieout.model.moves import Chunk, Fence, Held, Transfer
from tieout.model.server_words import told
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

_PACKET = 1 << 20
_FORM = "CHARACTER SET utf8mb4 FIELDS TERMINATED BY X'09' ENCLOSED BY '' ESCAPED BY X'5C' LINES TERMINATED BY X'0A'"
_NO_FIT = ("Warning", None, "a value does not fit")
"""What is told if the server tells nothing."""
CLOCK = "UNIX_TIMESTAMP()"


@dataclass(frozen=True)
class MySQLLoader:
    url: EndpointUrl

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        # DDL ends the transaction that it is in: the fence is held by another connection meanwhile.
        with closing(MySQLSession(self.url)) as session:
            progress = ProgressTables(session, self.url.database or "", CLOCK)
            with progress.together(fence, "LOCK IN SHARE MODE"):
                build(self.url, table, statements, parent)

    def load_chunk(self, fence: Fence, transfer: Transfer, chunk: Chunk, held: Held, lines: Iterable[bytes]) -> int:
        with closing(MySQLSession(self.url)) as session:
            progress = ProgressTables(session, self.url.database or "", CLOCK)
            # With unique_checks, too: without them MariaDB fills an empty table in a way that hangs, for good, when
            # somebody reads it meanwhile (10.11), and is no faster.
            return write_chunk(
                progress,
                "LOCK IN SHARE MODE",
                fence,
                chunk,
                held,
                lambda: load(session, transfer.target.name, transfer, (), lines),
                lambda: _commit(session, transfer.target.name),
            )

    def stage(self, stage: StageTable, lines: Iterable[bytes], *, new: bool) -> int:
        with closing(MySQLSession(self.url)) as session, stages_again():
            if new:
                assert stage.like is not None
                session.execute(f"CREATE TABLE {session.table(stage.name)} LIKE {session.table(stage.like)}")
            return load(session, stage.name, stage.transfer, STAGE_COLUMNS, lines)


def _commit(session: MySQLSession, table: TableName) -> None:
    try:
        session.commit()
    except WriteError as error:
        # What comes into an empty table is looked at as late as this, and then the server does not say where.
        raise WriteError(f"{error.message} ({table}: is a unique value there twice?)", error.hint) from None


def load(
    session: MySQLSession, into: TableName, transfer: Transfer, extra: Sequence[str], lines: Iterable[bytes]
) -> int:
    """Rows written: all of the lines, each as it is, or WriteError."""
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
        problem = f"of {sent:,} rows the server took {written:,}"
    if problem is not None:
        raise WriteError(f"{session.url.redacted()}: {transfer.target.name}: {problem}")
    return sent


def takes_files(session: MySQLSession) -> bool:
    """Whether the server takes LOAD DATA LOCAL."""
    ((on,),) = session.rows("SELECT @@GLOBAL.local_infile")
    return bool(on)


@contextmanager
def _named(session: MySQLSession, table: TableName) -> Iterator[None]:
    """What the server says of a value that does not fit, it says without its table."""
    try:
        yield
    except WriteError as error:
        where = f"{session.url.redacted()}: "
        if not error.message.startswith(where):
            raise  # the source's
        raise WriteError(f"{where}{table}: {error.message.removeprefix(where)}", error.hint) from None


def _problem(session: MySQLSession) -> str:
    """With LOCAL, the server makes a warning of what else would be an error, and writes something."""
    warnings = session.rows("SHOW WARNINGS")
    # Notes come with warnings; alone, they tell of what was cut off.
    _, code, text = next((each for each in warnings if each[0] != "Note"), warnings[0] if warnings else _NO_FIT)
    return told(scrub(" ".join(str(text).split())), code)


def _value(column: Column, variable: str) -> str | None:
    """What is made of a column's text; None: as it is."""
    if column.type.name in (TypeName.BINARY, TypeName.OPAQUE):
        return f"UNHEX(SUBSTR({variable}, 3))"
    if column.type.name is TypeName.BITS:
        return f"CAST(CONV({variable}, 2, 10) AS UNSIGNED)"
    return None


def _send(session: MySQLSession, statement: str, lines: Iterable[bytes]) -> tuple[int, int, int]:
    """Rows sent, rows written, warnings."""
    from pymysql.constants.COMMAND import COM_QUERY
    from pymysql.protocol import OKPacketWrapper

    sent = 0
    with session.answered():
        connection = session.connection
        connection._execute_command(COM_QUERY, statement)
        if not connection._read_packet().is_load_local_packet():
            raise UnsupportedError(f"{session.url.redacted()}: the server takes no LOAD DATA LOCAL")
        try:
            for block in lines:
                sent += block.count(b"\n")
                for start in range(0, len(block), _PACKET):
                    connection.write_packet(block[start : start + _PACKET])
        except BaseException:
            # The server would take what it has for all there is.
            connection._force_close()
            raise
        connection.write_packet(b"")
        answer = OKPacketWrapper(connection._read_packet())
    return sent, int(answer.affected_rows), int(answer.warning_count)
