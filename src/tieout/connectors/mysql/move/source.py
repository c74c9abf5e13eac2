"""A MySQL server as a source. How long it keeps its log is a setting of the server, the same for all readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog import BinlogLog
from tieout.connectors.mysql.binlog.continuity import proven
from tieout.connectors.mysql.binlog.ddl_tokens import NotCheckable, words_of
from tieout.connectors.mysql.binlog.dump import NotThere
from tieout.connectors.mysql.binlog.server import global_variables
from tieout.connectors.mysql.move.chunks import WATERMARK_TABLE, MySQLChunkSource, drop_watermark
from tieout.connectors.mysql.move.ddl_same_engine import own_structure
from tieout.connectors.mysql.move.loader import TRANSACTIONAL
from tieout.connectors.mysql.move.preflight import source_problems
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.protocols.finish import Catalog
from tieout.connectors.protocols.move import TypeChanges
from tieout.connectors.sql.ddl import Reference, Structure, Wiring
from tieout.connectors.sql.selection import Selection
from tieout.errors import UnsupportedError
from tieout.model.moves import Consistency
from tieout.model.positions import Position
from tieout.model.preflight import Problem, Retention, Severity
from tieout.model.tables import Column, Table, TableName

_NO_ROWS = {"RESTRICT", "NO ACTION"}


def open_source(url: EndpointUrl) -> MySQLSource:
    with closing(MySQLSession(url)) as session:
        return MySQLSource(url, ServerKind.of(str(session.rows("SELECT VERSION()")[0][0])))


@dataclass(frozen=True)
class MySQLSource:
    keeps_position: ClassVar[bool] = False
    logs_generated_columns: ClassVar[bool] = True
    level: ClassVar[Consistency] = Consistency.TRANSACTION
    type_changes: ClassVar[TypeChanges] = TypeChanges.LOGGED

    url: EndpointUrl
    server_kind: ServerKind

    def chunk_source(self) -> MySQLChunkSource:
        return MySQLChunkSource(self.url, self.server_kind, self._watermarks)

    @property
    def _watermarks(self) -> bool:
        return self.server_kind is not ServerKind.MARIADB

    def structure(self, table: Table, selection: Selection | None = None) -> Structure:
        key = next((index.name for index in table.indexes if index.unique and index.columns == table.key), None)
        with closing(MySQLSession(self.url)) as session:
            ((_, shown),) = session.rows(f"SHOW CREATE TABLE {session.table(table.name)}")
        return own_structure(str(shown), table.name, key, selection)

    def wiring(self, table: Table) -> Wiring:
        with closing(MySQLSession(self.url)) as session:
            return wiring_of(session, table.name)

    def added_column_values(
        self, table: Table, columns: Sequence[Column], logged: Mapping[str, str | None] | None
    ) -> dict[str, str | None]:
        return added_defaults(table, columns, logged)

    def problems(self, task: str, tables: Sequence[Table]) -> list[Problem]:
        found = source_problems(self.url, self.server_kind, tables, watermarks=self._watermarks)
        reasons = ((table, self.refuses(table)) for table in tables)
        fix = "change what it names, or leave the table out"
        return found + [
            Problem(Severity.PREVENTS, reason, fix, table=str(table.name)) for table, reason in reasons if reason
        ]

    def retention(self, task: str) -> Retention:
        with closing(MySQLSession(self.url)) as session:
            left = f"the table {WATERMARK_TABLE}" if self._watermarks else None
            return retention_of(global_variables(session, _RETENTION), left)

    def type_catalog(self, task: str) -> None:
        """The log itself reports changed types, or there are none."""

    def collation_of(self, table: Table) -> str | None:
        with closing(MySQLSession(self.url)) as session:
            found = session.rows(_COLLATION, [table.name.schema, table.name.name])
        return str(found[0][0]) if found else None

    def refuses(self, table: Table) -> str | None:
        if table.engine not in TRANSACTIONAL:
            return f"its storage engine is {table.engine}, which has no snapshots: ALTER TABLE … ENGINE = InnoDB"
        if self._watermarks and not table.key:
            # The mover applies changes between two watermarks again: without a key, rows would be duplicated.
            return "it has no key, and this server does not report the position of a snapshot: give it a key"
        for reference in self.wiring(table).references:
            if {reference.on_delete.upper(), reference.on_update.upper()} - _NO_ROWS:
                # InnoDB changes the rows of the child itself, below the log.
                return f"the binary log does not have what its foreign key {reference.name} changes in it"
        return None

    def whole_rows(self, table: Table) -> str | None:
        return None

    def begin_log(self, task: str, tables: Sequence[TableName]) -> Position:
        # Not the end of the log: no chunk has what is in the log already, and not yet visible.
        with self.chunk_source().reading() as reader:
            begin = reader.held.position
        with suppress(NotThere):
            return proven(self.url, begin)
        return begin

    def add_tables(self, task: str, tables: Sequence[TableName]) -> None:
        """Does nothing: the log has the changes of all tables."""

    def hand_over(self, joining: str, task: str, tables: Sequence[TableName]) -> None:
        """Does nothing: the log says itself how a table changed."""

    def log(self, task: str) -> BinlogLog:
        return BinlogLog(self.url)

    def catalog(self) -> Catalog:
        from tieout.connectors.mysql.move.finish import MySQLFinish  # which needs this module

        return MySQLFinish(self.url)

    def drop_task(self, task: str) -> None:
        if self._watermarks:
            with closing(MySQLSession(self.url)) as session:
                drop_watermark(session)


_COLLATION = "SELECT table_collation FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"

_NUMBERS = """
SELECT c.column_name, t.auto_increment FROM information_schema.columns c
JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = %s AND c.table_name = %s AND c.extra LIKE '%%auto_increment%%'"""

_REFERENCES = """
SELECT k.constraint_name, k.column_name, k.referenced_table_schema, k.referenced_table_name, k.referenced_column_name,
  r.delete_rule, r.update_rule
FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r
  ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name
  AND r.table_name = k.table_name
WHERE k.table_schema = %s AND k.table_name = %s AND k.referenced_table_name IS NOT NULL
ORDER BY k.constraint_name, k.ordinal_position"""


def wiring_of(session: MySQLSession, table: TableName) -> Wiring:
    """The numbered columns and the foreign keys of a table."""
    wanted = [table.schema, table.name]
    numbers = {column: int(following or 1) for column, following in session.rows(_NUMBERS, wanted)}
    grouped: dict[str, list[tuple[Any, ...]]] = {}
    for name, *rest in session.rows(_REFERENCES, wanted):
        grouped.setdefault(name, []).append(tuple(rest))
    return Wiring(numbers, tuple(_reference(name, rows) for name, rows in grouped.items()))


def _reference(name: str, rows: list[tuple[Any, ...]]) -> Reference:
    _, schema, parent, _, on_delete, on_update = rows[0]
    columns, parent_columns = tuple(row[0] for row in rows), tuple(row[3] for row in rows)
    return Reference(name, columns, TableName(schema, parent), parent_columns, on_delete, on_update)


# Servers that lack the seconds have the days; MariaDB 11.4 and later have the size.
_RETENTION = ("binlog_expire_logs_seconds", "expire_logs_days", "max_binlog_total_size")

_DAY = 24 * 3600


def retention_of(settings: Mapping[str, str], left: str | None) -> Retention:
    """How long the server keeps its log, from those of its settings that it has."""
    name = next((name for name in _RETENTION[:2] if name in settings), _RETENTION[0])
    seconds = float(settings.get(name) or 0) * (_DAY if name == "expire_logs_days" else 1)
    most = float(settings.get("max_binlog_total_size") or 0)
    limits = [f"for {_time(seconds)} ({name})"] if seconds else []
    limits += [f"for {most / (1 << 20):,.0f} MB (max_binlog_total_size)"] if most else []
    if not limits:
        return Retention(left, None, f"the server keeps its log until it is purged ({name} = 0)")
    limit = " and ".join(limits)
    warning = None
    if most or seconds < _DAY:
        wanted = 7 if name == "expire_logs_days" else 7 * _DAY
        fix = f"SET GLOBAL {name} = {wanted}" + (", max_binlog_total_size = 0" if most else "")
        message = f"the log is kept {limit}"
        warning = Problem(Severity.NOTE, message, f"{fix}: a mover that pauses for longer has to start over")
    return Retention(left, None, f"the server keeps its log {limit}", seconds or None, warning)


def _time(seconds: float) -> str:
    return f"{seconds / _DAY:.3g} days" if seconds >= 2 * _DAY else f"{seconds / 3600:.3g} hours"


def added_defaults(
    table: Table, columns: Sequence[Column], logged: Mapping[str, str | None] | None
) -> dict[str, str | None]:
    """What existing rows got in added columns: the catalog's defaults, if the statement that added them agrees."""
    return {column.name: _added_default(table, column, logged) for column in columns}


def _added_default(table: Table, column: Column, logged: Mapping[str, str | None] | None) -> str | None:
    name = f"{table.name}: its new column {column.name}"
    if logged is None or column.name not in logged:
        raise UnsupportedError(
            f"{name} was not added by a statement in the log: the values of existing rows are unknown"
        )
    default = logged[column.name]
    if default is not None and default.startswith("("):
        raise UnsupportedError(f"{name} has a default that each server computes itself")
    if not _is_same(default, _plain(column.default)):
        raise UnsupportedError(f"{name} has another default by now than existing rows got")
    return None if default is None else column.default


def _plain(default: str | None) -> str | None:
    """A default of the catalog without its quotes; MariaDB writes them, MySQL does not."""
    if default is None or default.upper() == "NULL":
        return None
    if not default.startswith("'"):
        return default
    try:
        return words_of(default)[0].text
    except NotCheckable:
        return default


def _is_same(default: str | None, known: str | None) -> bool:
    if default == known or default is None or known is None:
        return default == known
    try:
        return Decimal(default) == Decimal(known)
    except InvalidOperation:
        return False
