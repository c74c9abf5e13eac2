"""A database of a MySQL server: its catalog, its version, its position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from timeit import repeat
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.key_sampling import is_worth_it, sampled_keys
from tieout.connectors.mysql.protocol.describe import computed_type
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.mysql.snapshot import MySQLReader
from tieout.connectors.mysql.types import logical_type, order_of
from tieout.connectors.protocols.endpoint import Capabilities
from tieout.connectors.sql.keys import choose_key
from tieout.errors import AccessError, ConfigError, MissingObjectError
from tieout.model.tables import Column, Constraint, Index, Table, TableName

_TABLES = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_schema IN ({}) AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1, 2"""

_SCHEMAS = """
SELECT schema_name FROM information_schema.schemata
WHERE schema_name NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 1"""

_SIZES = """
SELECT table_schema, table_name, table_rows, avg_row_length, engine
FROM information_schema.tables WHERE table_schema IN ({0}) AND table_name IN ({1})"""

_COLUMNS = """
SELECT table_schema, table_name, column_name, data_type, column_type, numeric_precision, numeric_scale,
  character_maximum_length, datetime_precision, is_nullable, extra, column_default, character_set_name, collation_name
FROM information_schema.columns WHERE table_schema IN ({0}) AND table_name IN ({1}) ORDER BY 1, 2, ordinal_position"""

_INDEXES = """
SELECT table_schema, table_name, index_name, non_unique, column_name, sub_part
FROM information_schema.statistics WHERE table_schema IN ({0}) AND table_name IN ({1})
ORDER BY 1, 2, 3, seq_in_index"""

_FOREIGN_KEYS = """
SELECT table_schema, table_name, constraint_name, column_name, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage
WHERE referenced_table_name IS NOT NULL AND table_schema IN ({0}) AND table_name IN ({1})
ORDER BY 1, 2, 3, ordinal_position"""

_CHECKS = """
SELECT constraint_schema, table_name, constraint_name, check_clause
FROM information_schema.check_constraints WHERE constraint_schema IN ({0}) AND table_name IN ({1})"""

_Rows = dict[TableName, list[tuple[Any, ...]]]


def open_endpoint(url: EndpointUrl) -> MySQLEndpoint:
    if not url.database:
        raise ConfigError(f"{url.redacted()} does not name a database", "write it as mysql://user@host/database")
    return MySQLEndpoint(url, MySQLSession(url))


class MySQLEndpoint:
    def __init__(self, url: EndpointUrl, session: MySQLSession) -> None:
        self.url = url
        self._session = session
        self.version = str(self.all("SELECT VERSION()", [])[0][0])
        self.server_kind = ServerKind.of(self.version)
        self.capabilities = Capabilities(
            family=self.server_kind.value,
            sql_hash=True,
            raw_row_format=f"{self.server_kind} packets" if self.server_kind is not ServerKind.TIDB else None,
            activity=self.server_kind is not ServerKind.TIDB,
            writable=True,
            untested=None
            if self.server_kind is ServerKind.MARIADB
            else f"the {self.server_kind} dialect ({self.version})",
        )

    names_schema = True

    def schemas(self) -> list[str]:
        return [schema for (schema,) in self.all(_SCHEMAS, [])]

    def computed(self, table: Table, column: Column, expression: str) -> Column:
        statement = f"SELECT ({expression}\n) FROM {quoting.table(table.name)} LIMIT 0"
        with self._session.translated(), closing(self._session.run(statement, ())) as cursor:
            return Column(column.name, computed_type(cursor, column.type))

    def default_schema(self) -> str:
        return self.url.database or ""

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        wanted = list(schemas) or [self.default_schema()]
        statement = _TABLES.format(", ".join(["%s"] * len(wanted)))
        return [TableName(schema, name) for schema, name in self.all(statement, wanted)]

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        sizes = self._about(_SIZES, names)
        for name in names:
            if name not in sizes:
                raise MissingObjectError(
                    f"{self.url.redacted()}: table {name} does not exist", "check its database and name"
                )
        columns, indexes = self._about(_COLUMNS, names), self._about(_INDEXES, names)
        foreign, checks = self._about(_FOREIGN_KEYS, names), self._checks(names)
        tables = [
            self._table(name, sizes[name][0], columns[name], indexes[name], foreign[name], checks[name])
            for name in names
        ]
        return [replace(table, sampled_keys=self._sampled_keys(table)) for table in tables]

    def reader(self) -> MySQLReader:
        return MySQLReader(self.url, self.server_kind)

    @cached_property
    def round_trip(self) -> float:
        return min(repeat(lambda: self.all("SELECT 1", []), number=1, repeat=3))

    def position(self) -> str | None:
        try:
            rows = self.all("SHOW MASTER STATUS", [])
        except AccessError:
            return None
        return f"{rows[0][0]}:{rows[0][1]}" if rows else None

    def close(self) -> None:
        self._session.close()

    def explain(self, statement: str) -> dict[str, Any]:
        """The server's plan for a statement on one table."""
        (step,) = self._session.plan(statement)
        return step

    def _sampled_keys(self, table: Table) -> tuple[str, ...]:
        return sampled_keys(self._session, self.server_kind, table, self.round_trip) if is_worth_it(table) else ()

    def _checks(self, names: Sequence[TableName]) -> _Rows:
        # MySQL 8 has the table of a check elsewhere; its JSON is a type, and its checks wait for that dialect.
        return self._about(_CHECKS, names) if self.server_kind is ServerKind.MARIADB else defaultdict(list)

    def _about(self, statement: str, names: Sequence[TableName]) -> _Rows:
        found: _Rows = defaultdict(list)
        if not names:
            return found
        schemas, tables = sorted({n.schema for n in names}), sorted({n.name for n in names})
        text = statement.format(", ".join(["%s"] * len(schemas)), ", ".join(["%s"] * len(tables)))
        for schema, name, *rest in self.all(text, [*schemas, *tables]):
            found[TableName(schema, name)].append(tuple(rest))
        return found

    def all(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        if not self._session.connection.open:
            self._session = MySQLSession(self.url)  # the previous connection was lost
        return self._session.rows(statement, parameters)

    def _table(
        self,
        name: TableName,
        size: tuple[Any, ...],
        columns: list[tuple[Any, ...]],
        indexes: list[tuple[Any, ...]],
        foreign: list[tuple[Any, ...]],
        checks: list[tuple[Any, ...]],
    ) -> Table:
        json_columns = {row[0] for row in checks if row[1] == f"json_valid({quoting.name(row[0])})"}
        described = tuple(self._column(row, row[0] in json_columns) for row in columns)
        known = _indexes(indexes)
        constraints = [Constraint(row[0], "check", (), row[1]) for row in checks]
        constraints += [Constraint(r[0], "foreign key", (r[1],), f"references {r[2]}({r[3]})") for r in foreign]
        rows, row_bytes, engine = size
        return Table(name, described, choose_key(described, known), known, tuple(constraints), rows, row_bytes, engine)

    def _column(self, row: tuple[Any, ...], is_json: bool) -> Column:
        name, base, full, precision, scale, length, fraction, nullable, extra, default, charset, collation = row
        size = fraction if fraction is not None else length
        kind = logical_type(base, full, _int(precision), _int(scale), _int(size), is_json=is_json)
        generated = "GENERATED" in extra.upper() and "DEFAULT_GENERATED" not in extra.upper()
        release = ".".join(self.version.split(".")[:2])
        order = order_of(kind, f"{self.server_kind} {release}", collation)
        return Column(name, kind, nullable == "YES", generated, default, collation, charset, order)


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


def _indexes(rows: list[tuple[Any, ...]]) -> tuple[Index, ...]:
    """Indexes on whole columns: an index on a prefix or an expression does not identify rows."""
    grouped: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for index, *rest in rows:
        grouped[index].append(tuple(rest))
    return tuple(
        Index(name, tuple(part[1] for part in parts), not parts[0][0], name == "PRIMARY")
        for name, parts in grouped.items()
        if all(part[1] is not None and part[2] is None for part in parts)
    )
