"""amcheck, PostgreSQL's own checker: only those of its functions that do not block writers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import DAMAGE, first_line, translated
from tieout.connectors.protocols.paths import EngineCheck, EngineFinding
from tieout.model.tables import TableName

_NAME = "amcheck"
_ABSENT = "amcheck is not installed: CREATE EXTENSION amcheck, as a superuser"
_DIALECT = PostgresDialect()
_SCHEMA = """
SELECT n.nspname, current_setting('server_version_num')::int >= 140000
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'amcheck'"""
_INDEXES = """
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
WHERE i.indrelid = %s::regclass AND m.amname = 'btree' AND i.indisready AND i.indisvalid ORDER BY c.relname"""
_HEAP = """
SELECT blkno, offnum, attnum, msg,
  (SELECT attname FROM pg_attribute WHERE attrelid = {table} AND pg_attribute.attnum = found.attnum + 1)
FROM {schema}.verify_heapam({table}, check_toast => true) AS found"""


def amcheck(url: EndpointUrl, table: TableName, seconds: float) -> EngineCheck:
    """Checks the heap with its TOAST table, then each B-tree, including whether every row has an entry."""
    settings = {"statement_timeout": f"{max(1, round(seconds * 1000))}ms"}
    with translated(url), connect(url, "tieout driver", settings) as connection:
        found = connection.execute(_SCHEMA).fetchone()
        if found is None:
            return EngineCheck(_NAME, "", unchecked=_ABSENT, absent=True)
        schema, has_heap = found
        names = [name for (name,) in connection.execute(_INDEXES, [_DIALECT.table(table)]).fetchall()]
        return _Amcheck(connection, table, _DIALECT.quote(schema)).run(names, has_heap)


class _Amcheck:
    def __init__(self, connection: Any, table: TableName, schema: str) -> None:
        self._connection = connection
        self._table = table
        self._schema = schema
        self._findings: list[EngineFinding] = []
        self._left_out: list[str] = []

    def run(self, indexes: Sequence[str], has_heap: bool) -> EngineCheck:
        if has_heap:
            table = self._literal(self._table.name)
            for block, item, _, message, column in self._run("the heap", None, _HEAP, table) or ():
                place = None if block is None else f"({block},{item or 0})"
                self._findings.append(EngineFinding(message, column=column, place=place))
        for index in indexes:
            statement = "SELECT {schema}.bt_index_check({table}, heapallindexed => true)"
            self._run(index, index, statement, self._literal(index))
        checked = [f"verify_heapam({self._table})"] if has_heap else []
        checked += [f"bt_index_check({index}, heapallindexed)" for index in indexes]
        return EngineCheck(_NAME, ", ".join(checked), tuple(self._findings), "; ".join(self._left_out) or None)

    def _run(self, what: str, index: str | None, statement: str, name: str) -> list[tuple[Any, ...]] | None:
        """An error that reports damage is a finding; an error that kept amcheck from running is not."""
        import psycopg
        from psycopg import errors

        try:
            return list(self._connection.execute(statement.format(schema=self._schema, table=name)).fetchall())
        except (errors.InsufficientPrivilege, errors.QueryCanceled, errors.LockNotAvailable) as error:
            hint = "GRANT EXECUTE on its functions" if isinstance(error, errors.InsufficientPrivilege) else "run again"
            self._left_out.append(f"{what}: {first_line(str(error), error.sqlstate)} ({hint})")
        except psycopg.Error as error:
            if self._connection.closed:
                raise
            if not (error.sqlstate or "").startswith(DAMAGE):
                self._left_out.append(f"{what}: {first_line(str(error), error.sqlstate)} (run again)")
                return None
            self._findings.append(EngineFinding(first_line(str(error), error.sqlstate), index=index))
        return None

    def _literal(self, name: str) -> str:
        return quoting.relation(TableName(self._table.schema, name))
