"""What PostgreSQL's catalog knows about columns that got another type, or are new: its log has no ALTER TABLE.

`ALTER COLUMN … TYPE … USING` may give rows any values. If it leaves the table's file as it was, it changed none; else
all rows were written again, and those that have not changed since carry the number of its transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import OF_SLOTS, translated
from tieout.connectors.postgres.move.chunks import in_tab_form, rendered
from tieout.connectors.postgres.protocol.copy_lines import copied_lines
from tieout.connectors.postgres.wal import publication
from tieout.connectors.protocols.change_log import Retyped
from tieout.errors import UnsupportedError
from tieout.model.moves import Transfer
from tieout.model.tables import TableName

# The transaction that gave the table its file and these columns their types. A later one may have taken its place.
_WRITER = """
SELECT c.xmin::text FROM pg_class c WHERE c.oid = %s::regclass AND c.relkind = 'r'
  AND NOT EXISTS (SELECT FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attname = ANY(%s) AND a.xmin <> c.xmin)"""
_DIALECT = PostgresDialect()


@dataclass(frozen=True)
class PostgresTypeCatalog:
    """`publication` is the task's."""

    url: EndpointUrl
    publication: str

    @contextmanager
    def rewritten(self, transfer: Transfer, columns: Sequence[str], *, same_engine: bool) -> Iterator[Iterator[bytes]]:
        with translated(self.url), closing(connect(self.url, "tieout mover")) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            table = _DIALECT.table(transfer.source.name)
            writer = self._writer(connection, transfer.source.name, columns)
            selected = rendered(_DIALECT, transfer, same_engine=same_engine)
            statement = f"COPY (SELECT {selected} FROM {table} WHERE xmin = {writer}) TO STDOUT"
            blocks = copied_lines(connection, statement.encode())
            yield blocks if same_engine else map(in_tab_form, blocks)

    def _writer(self, connection: Any, name: TableName, columns: Sequence[str]) -> str:
        """SQL for the transaction that wrote all rows again. Every row that is not of it came later, by the log."""
        table = _DIALECT.table(name)
        found = connection.execute(_WRITER, [table, list(columns)]).fetchone()
        if found is not None:
            writer = f"{quoting.text(str(found[0]))}::xid"
            older = f"SELECT EXISTS (SELECT FROM {table} WHERE age(xmin) > age({writer}))"
            if connection.execute(older).fetchone() == (False,):
                return writer
        raise UnsupportedError(f"{name}: it is unknown which of its rows were written again with their new types")

    def accept(self, table: TableName, change: Retyped) -> None:
        with translated(self.url, OF_SLOTS), connect(self.url, "tieout mover") as connection:
            publication.accept(connection, self.publication, table, change.state)

    def note_added(self, table: TableName, columns: Sequence[str]) -> None:
        with translated(self.url, OF_SLOTS), connect(self.url, "tieout mover") as connection:
            publication.note_added(connection, self.publication, table, columns)
